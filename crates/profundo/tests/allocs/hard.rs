//! Hard cases for an allocator: threads that end, forks, all at once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use profundo::allocs;

use crate::{Stop, alone, my_number};

/// Allocates and frees until `stop` is set; returns the number of rounds.
fn churn(stop: &AtomicBool) -> usize {
    let mut turns = 0;
    let mut kept: Vec<String> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        kept.push(format!("{turns:>20}"));
        if kept.len() > 50 {
            kept.swap_remove(turns % 50);
        }
        turns += 1;
    }
    turns
}

#[test]
fn threads_that_allocate_while_they_end() {
    struct Talkative(usize);
    impl Drop for Talkative {
        fn drop(&mut self) {
            drop(black_box(vec![1_u16; self.0]));
        }
    }
    thread_local! {
        static LAST: RefCell<Talkative> = const { RefCell::new(Talkative(0)) };
    }
    let _alone = alone();
    allocs::profile!(sample_rate = 1.0, {
        for _ in 0..50 {
            thread::spawn(|| LAST.with(|last| last.borrow_mut().0 = 333))
                .join()
                .unwrap();
        }
    })
    .unwrap();
    let results = allocs::fetch().unwrap();
    let last = results
        .iter()
        .filter(|alloc| alloc.size() == 666 && alloc.freed().is_some());
    assert_eq!(last.count(), 50);
}

#[test]
fn recordings_come_and_go_while_others_allocate() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| churn(&stop))).collect();
        let going = Stop(&stop);
        for round in 0..60 {
            match round % 3 {
                0 => allocs::start(0.5).unwrap(),
                1 => allocs::start(allocs::Rate::Bytes(100)).unwrap(),
                _ => allocs::start(1.0).unwrap(),
            }
            // Others allocate meanwhile.
            thread::sleep(Duration::from_millis(1));
            if round % 4 == 0 {
                allocs::clear();
            }
            if round % 7 == 0 {
                allocs::fetch().unwrap();
            }
            if round % 2 == 0 {
                allocs::stop();
            }
        }
        allocs::stop();
        let len = allocs::len();
        // Nothing may come any more, so there is nothing to wait for but time.
        thread::sleep(Duration::from_millis(5));
        assert_eq!(allocs::len(), len, "who was at it has been waited for");
        drop(going);
        for thread in threads {
            assert!(thread.join().unwrap() > 0);
        }
    });
    let results = allocs::fetch().unwrap();
    for alloc in &results {
        assert!(alloc.size() > 0 && !alloc.stacktrace().is_empty());
    }
}

#[test]
fn a_fork_in_the_middle() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| churn(&stop));
        }
        let _stop = Stop(&stop);
        allocs::start(1.0).unwrap();
        for _ in 0..20 {
            // SAFETY: the child allocates, which the system's allocator allows, and leaves at once.
            match unsafe { libc::fork() } {
                0 => {
                    let is_recording = allocs::is_running();
                    let text = (0..1000)
                        .map(|i| i.to_string())
                        .collect::<Vec<_>>()
                        .join(",");
                    let fine = !is_recording && text.len() > 1000;
                    // SAFETY: none of the parent's exit code runs.
                    unsafe { libc::_exit(if fine { 0 } else { 1 }) };
                }
                child => {
                    assert!(child > 0);
                    assert_eq!(exit_code(child), Some(0));
                }
            }
        }
        assert!(allocs::is_running(), "the parent goes on");
        allocs::stop();
    });
    // A child may record by itself.
    let before = allocs::len();
    // SAFETY: as above; no other thread is in the middle of anything.
    match unsafe { libc::fork() } {
        0 => {
            allocs::clear();
            let fine = allocs::profile!(sample_rate = 1.0, black_box(vec![1_u8; 777])).is_ok();
            let results = allocs::fetch().unwrap();
            let found = results.iter().any(|alloc| alloc.size() == 777);
            // SAFETY: as above.
            unsafe { libc::_exit(if fine && found { 0 } else { 1 }) };
        }
        child => assert_eq!(exit_code(child), Some(0)),
    }
    assert_eq!(allocs::len(), before, "the child's are its own");
}

/// Waits for a child; `None` if it was killed, or hung and had to be.
fn exit_code(child: i32) -> Option<i32> {
    let mut status = 0;
    for _ in 0..3000 {
        // SAFETY: `status` is ours to write.
        let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        if ended == child {
            return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        }
        thread::sleep(Duration::from_millis(10));
    }
    // SAFETY: the child is ours, and not waited for yet.
    unsafe { libc::kill(child, libc::SIGKILL) };
    None
}

#[test]
fn time_and_allocations_at_once() {
    let _alone = alone();
    let me = my_number();
    profundo::settings()
        .words(1_000_000)
        .delay_seconds(0.001)
        .apply()
        .unwrap();
    let mut blocks = 0;
    let profiled = profundo::profile!(
        allocs::profile!(sample_rate = 1.0, {
            // Until both have samples; each turn takes microseconds.
            while profundo::len() < 300 && blocks < 300_000 {
                blocks += 1;
                drop(black_box(Box::new([blocks; 5])));
            }
        })
        .unwrap()
    );
    match profiled {
        Ok(()) => assert!(!profundo::fetch().unwrap().is_empty()),
        // This machine may not permit it; allocations are recorded in any case.
        Err(_) => allocs::profile!(sample_rate = 1.0, {
            blocks = 1;
            drop(black_box(Box::new([blocks; 5])));
        })
        .unwrap(),
    }
    let results = allocs::fetch().unwrap();
    let boxes = results
        .iter()
        .filter(|alloc| alloc.thread() == me && alloc.size() == 20);
    assert_eq!(boxes.count(), blocks as usize);
}

#[test]
fn a_wrapped_task_is_recorded() {
    use profundo::TaskExt;
    let _alone = alone();
    let future = async { drop(black_box(vec![0_u8; 1357])) }.profiled("allocates");
    let id = future.id();
    let mut future = Box::pin(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    allocs::profile!(sample_rate = 1.0, {
        use std::future::Future;
        assert!(future.as_mut().poll(&mut context).is_ready());
        drop(black_box(vec![0_u8; 1358]));
    })
    .unwrap();
    let results = allocs::fetch().unwrap();
    let tasks: HashMap<u64, u64> = results
        .iter()
        .map(|alloc| (alloc.size(), alloc.task()))
        .collect();
    assert_eq!(tasks[&1357], id);
    assert_ne!(tasks[&1358], id);
    assert_ne!(tasks[&1358], 0);
}
