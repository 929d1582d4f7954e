//! The copy of the process is invisible to the program, and only one exists at a time.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use profundo::{Error, heap};

use crate::{folder, turn};

static ENDED: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_: libc::c_int) {
    ENDED.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn the_program_is_notified_of_no_child() {
    let _turn = turn();
    let folder = folder();
    // SAFETY: the handler adds to an atomic.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as *const () as usize;
        libc::sigaction(libc::SIGCHLD, &action, std::ptr::null_mut());
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let mut seen = 0;
            while !done.load(Ordering::Relaxed) {
                // SAFETY: no status is wanted.
                let found = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
                seen += u32::from(found >= 0);
                std::thread::yield_now();
            }
            seen
        });
        for _ in 0..5 {
            heap::options()
                .to(folder.join("x.heapsnapshot"))
                .take()
                .unwrap();
        }
        done.store(true, Ordering::Relaxed);
        assert_eq!(waiter.join().unwrap(), 0, "there is no child to wait for");
    });
    assert_eq!(ENDED.load(Ordering::Relaxed), 0);
    let own = std::process::id().to_string();
    let task = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let path = entry.ok()?.path().join("stat");
        let stat = std::fs::read_to_string(path).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        (rest.split_whitespace().nth(1)? == own).then_some(stat)
    });
    assert_eq!(task.collect::<Vec<_>>(), [""; 0], "none is left");
}

#[test]
fn two_at_once_are_one_and_a_refusal() {
    let _turn = turn();
    let folder = folder();
    let both = Barrier::new(2);
    let mut refused = 0;
    for _ in 0..5 {
        let take = |name| {
            both.wait();
            heap::options().to(folder.join(name)).take()
        };
        let outcomes = std::thread::scope(|scope| {
            let other = scope.spawn(|| take("a.heapsnapshot"));
            [take("b.heapsnapshot"), other.join().unwrap()]
        });
        for outcome in &outcomes {
            match outcome {
                Ok(_) => {}
                Err(Error::Capture(error)) => {
                    assert!(error.to_string().contains("already being taken"), "{error}");
                    refused += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert!(outcomes.iter().any(Result::is_ok));
    }
    assert!(
        folder
            .names()
            .iter()
            .all(|name| name.ends_with(".heapsnapshot"))
    );
    // Collisions are random, so their number is not checked.
    assert!(refused <= 5);
}

#[test]
fn a_forked_child_takes_its_own() {
    let _turn = turn();
    let folder = folder();
    let path = folder.join("child.heapsnapshot");
    heap::options()
        .to(folder.join("parent.heapsnapshot"))
        .take()
        .unwrap();
    // SAFETY: the child does what the test does and leaves by `_exit`. The other threads of the
    // tests wait for their turn.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            let taken = heap::options().to(&path).take();
            libc::_exit(if taken.is_ok() { 7 } else { 8 });
        }
        let mut status = 0;
        libc::waitpid(pid, &mut status, 0);
        assert!(libc::WIFEXITED(status));
        assert_eq!(libc::WEXITSTATUS(status), 7);
    }
    assert!(crate::graph::Graph::read(&path).nodes.len() > 10);
}
