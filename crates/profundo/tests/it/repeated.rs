//! Failures that only a second or a later run shows: sessions after sessions, threads after
//! threads, and buffers that were full.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use profundo::{
    Data, Session, clear, fetch, is_full, is_running, len, profile, profile_walltime, settings,
    start, stop,
};

use crate::alone::alone;
use crate::work::busy;

/// The milliseconds that the samples of threads with this name stand for.
fn milliseconds_of(data: &Data, name: &str) -> u64 {
    let profile = data.profile();
    let nanoseconds = profile
        .samples
        .iter()
        .filter(|sample| {
            let thread = profile.threads.get(sample.thread);
            profile.strings.get(thread.name) == name
        })
        .map(|sample| sample.weight.0)
        .sum::<u64>();
    nanoseconds / 1_000_000
}

#[test]
fn a_thread_of_the_first_session_is_sampled_in_the_second() {
    let _alone = alone();
    let (send, receive) = mpsc::channel::<u64>();
    let (done, wait) = mpsc::channel();
    // A thread that starts within a session inherits its clock.
    let pool = profile!(
        thread::Builder::new()
            .name("pool".into())
            .spawn(move || {
                for milliseconds in receive {
                    done.send(busy(milliseconds)).unwrap();
                }
            })
            .unwrap()
    )
    .unwrap();
    for _ in 0..2 {
        clear();
        profile!({
            send.send(150).unwrap();
            wait.recv().unwrap();
        })
        .unwrap();
        let time = milliseconds_of(&fetch().unwrap(), "pool");
        assert!(time >= 100, "{time} ms");
    }
    drop(send);
    pool.join().unwrap();
}

#[test]
fn threads_that_come_and_go_do_not_use_up_the_buffer() {
    let _alone = alone();
    settings().words(100_000).apply().unwrap();
    profile!(for _ in 0..1500 {
        thread::spawn(|| busy(1)).join().unwrap();
    })
    .unwrap();
    assert!(!is_full(), "{} words are full", len());
    assert_eq!(fetch().unwrap().profile().meta.loss.buffer_full, 0);
}

#[test]
fn many_threads_share_a_small_ring() {
    let _alone = alone();
    settings().words(20_000).ring(true).apply().unwrap();
    profile!({
        let work = |_| thread::spawn(|| busy(20));
        let threads: Vec<_> = (0..16).map(work).collect();
        for thread in threads {
            thread.join().unwrap();
        }
    })
    .unwrap();
    let data = fetch().unwrap();
    assert!(data.len() >= 150, "{} samples", data.len());
    assert_eq!(data.profile().meta.loss.overwritten, 0);
}

#[test]
fn a_session_that_was_full_goes_on_after_clear() {
    let _alone = alone();
    settings().words(2_000).apply().unwrap();
    let session = Session::cpu().unwrap();
    while !is_full() {
        busy(20);
    }
    // The clocks are stopped a moment later.
    thread::sleep(Duration::from_millis(50));
    clear();
    assert!(is_running() && !is_full());
    busy(50);
    assert!(len() > 0);
    drop(session);
}

#[test]
fn a_guard_ends_its_own_session_only() {
    let _alone = alone();
    let first = Session::cpu().unwrap();
    stop();
    start().unwrap();
    drop(first);
    assert!(is_running());
    stop();
    assert!(!is_running());
}

#[test]
fn wall_time_is_shared_fairly_between_busy_and_sleeping() {
    let _alone = alone();
    const LENGTH: Duration = Duration::from_millis(600);
    profile_walltime!({
        let sleeper = thread::Builder::new()
            .name("sleeper".into())
            .spawn(|| thread::sleep(LENGTH))
            .unwrap();
        let worker = thread::Builder::new()
            .name("worker".into())
            .spawn(|| busy(LENGTH.as_millis() as u64))
            .unwrap();
        sleeper.join().unwrap();
        worker.join().unwrap();
    })
    .unwrap();
    let data = fetch().unwrap();
    let (asleep, awake) = (
        milliseconds_of(&data, "sleeper"),
        milliseconds_of(&data, "worker"),
    );
    // Each of three threads is picked a third of the time, give or take what chance does; the
    // worker may live longer on a busy machine.
    assert!(asleep >= 50 && awake >= 50, "{asleep} ms and {awake} ms");
    assert!(asleep <= 350, "{asleep} ms of a third of 600");
}
