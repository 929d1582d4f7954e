//! Elapsed time: threads and tasks are seen where they wait.

use std::future::Future;
use std::hint::black_box;
use std::io::{Read, Write};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use profundo::model::State;
use profundo::{TaskExt, clear, load, profile_walltime, report, retrieve, save};
use profundo_testing::Folder;

use crate::alone::alone;
use crate::blocks::{assert_mostly, blocks, mine};
use crate::work::busy;

const TASKS: usize = 100;
const WHILE: Duration = Duration::from_millis(500);

#[test]
fn a_busy_loop_is_seen_too() {
    let _alone = alone();
    profile_walltime!(busy(300)).unwrap();
    let (data, names) = retrieve().unwrap();
    let mine = mine(&data);
    assert_mostly("work::busy", 3, &mine, &names);
    assert!(blocks(&data.words()).iter().all(|block| block.state == 3));
    let folder = Folder::new("wall");
    let path = folder.join("wall.profundo");
    save(&path, &data, &names).unwrap();
    let loaded = load(&path);
    assert_eq!(loaded.unwrap().0.words(), data.words());
}

#[inline(never)]
async fn waits_for_the_gate(mut gate: tokio::sync::watch::Receiver<bool>) {
    let _ = gate.changed().await;
}

#[test]
fn a_hundred_parked_tasks_are_seen_where_they_wait() {
    let _alone = alone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    profile_walltime!(runtime.block_on(async {
        let (open, gate) = tokio::sync::watch::channel(false);
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| waits_for_the_gate(gate.clone()).profiled("waits"))
            .map(tokio::spawn)
            .collect();
        tokio::time::sleep(WHILE).await;
        open.send(true).unwrap();
        for task in tasks {
            task.await.unwrap();
        }
    }))
    .unwrap();
    let (data, names) = retrieve().unwrap();
    let all = blocks(&data.words());
    assert!(all.iter().all(|block| block.state == 3));
    let parked: Vec<_> = all
        .iter()
        .filter(|block| block.thread == 32768)
        .cloned()
        .collect();
    // At least 100 of slightly more samples.
    assert!(
        parked.len() * 10 > all.len() * 7,
        "{} of {}",
        parked.len(),
        all.len()
    );
    // The channel's inner future. Our own function has been inlined, and a build with line tables
    // alone calls it `{async_fn#0}`.
    assert_mostly("poll_notified", 20, &parked, &names);
    let distinct: std::collections::HashSet<u64> =
        parked.iter().map(|sample| sample.task).collect();
    assert!(distinct.len() > 15, "{} of 100 were picked", distinct.len());
    let text = report().to_text().unwrap();
    assert!(!text.contains("Utilization"), "{text}");
}

/// Waits at one place, and then at another.
async fn moves_on(
    mut first: tokio::sync::mpsc::Receiver<()>,
    second: tokio::sync::oneshot::Receiver<()>,
) {
    let _ = first.recv().await;
    let _ = second.await;
}

#[test]
fn a_task_that_moved_on_between_two_sessions_is_not_shown_where_it_was() {
    let _alone = alone();
    let (begin, first) = tokio::sync::mpsc::channel(1);
    let (end, second) = tokio::sync::oneshot::channel();
    let mut task = Box::pin(moves_on(first, second).profiled("moves on"));
    let id = task.id();
    let mut poll = || {
        let mut context = Context::from_waker(Waker::noop());
        assert!(task.as_mut().poll(&mut context).is_pending());
    };
    let of_task = || {
        let (data, names) = retrieve().unwrap();
        let text = report().of(&data, &names).tasks(id).c(true).width(300);
        text.to_text().unwrap()
    };
    profile_walltime!({
        poll();
        thread::sleep(WHILE);
    })
    .unwrap();
    let parked = of_task();
    assert!(
        parked.contains("mpsc") && !parked.contains("[parked"),
        "{parked}"
    );
    // The receiver does not poll now.
    begin.try_send(()).unwrap();
    poll();
    clear();
    profile_walltime!(thread::sleep(WHILE)).unwrap();
    let unknown = of_task();
    assert!(unknown.contains("[parked before the session]"), "{unknown}");
    assert!(!unknown.contains("mpsc"), "{unknown}");
    drop(end);
}

// The wait of each of these is not its last action, or the compiler would make it a tail call.

#[inline(never)]
fn receives(channel: &mpsc::Receiver<()>) -> bool {
    black_box(channel.recv()).is_ok()
}

#[inline(never)]
fn locks(lock: &Mutex<()>) -> bool {
    black_box(lock.lock()).is_ok()
}

#[inline(never)]
fn reads(mut pipe: std::io::PipeReader) -> bool {
    black_box(pipe.read(&mut [0])).is_ok()
}

#[inline(never)]
fn waits(condition: &(Mutex<bool>, Condvar)) -> bool {
    let mut done = condition.0.lock().unwrap();
    while !*done {
        done = black_box(condition.1.wait(done)).unwrap();
    }
    *done
}

#[test]
fn blocked_threads_are_seen_where_they_block() {
    let _alone = alone();
    let spawn = |name: &str, body: Box<dyn FnOnce() -> bool + Send>| {
        let thread = thread::Builder::new().name(name.into());
        thread.spawn(body).unwrap()
    };
    let (sender, receiver) = mpsc::channel();
    let lock = Arc::new(Mutex::new(()));
    let (reader, mut writer) = std::io::pipe().unwrap();
    let condition = Arc::new((Mutex::new(false), Condvar::new()));
    let (its_lock, its_condition) = (lock.clone(), condition.clone());
    profile_walltime!({
        let held = lock.lock();
        let threads = [
            spawn("receives", Box::new(move || receives(&receiver))),
            spawn("locks", Box::new(move || locks(&its_lock))),
            spawn("reads", Box::new(move || reads(reader))),
            spawn("waits", Box::new(move || waits(&its_condition))),
        ];
        thread::sleep(WHILE);
        sender.send(()).unwrap();
        drop(held);
        writer.write_all(&[1]).unwrap();
        *condition.0.lock().unwrap() = true;
        condition.1.notify_all();
        for thread in threads {
            assert!(thread.join().unwrap());
        }
    })
    .unwrap();
    let (data, names) = retrieve().unwrap();
    let profile = data.profile();
    for name in ["receives", "locks", "reads", "waits"] {
        let mut threads = profile.threads.iter();
        let (id, thread) = threads
            .find(|(_, thread)| profile.strings.get(thread.name) == name)
            .unwrap();
        let mut its = blocks(&data.words());
        its.retain(|block| block.thread == thread.number);
        assert!(its.iter().all(|block| block.state == 3));
        assert_mostly(&format!("walltime::{name}"), 3, &its, &names);
        let mut samples = profile.samples.iter().filter(|sample| sample.thread == id);
        assert!(samples.any(|sample| sample.state == State::WallWaiting));
    }
}
