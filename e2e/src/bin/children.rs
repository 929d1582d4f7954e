//! Children of a program that is being sampled: forked, forked and replaced, spawned, and the
//! program itself replaced by another.
//!
//! `children fork|spawn|exec|exec-blocked|exec-after-stop`

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::Instant;

use profundo_e2e::{argument, seconds, shape, storm_on, sys, work};

fn main() {
    let what = argument(1).expect("what to do");
    if what == "unblock" {
        return unblock();
    }
    let engine = argument(2).unwrap_or_else(|| "auto".into());
    storm_on(&engine).apply().unwrap();
    match what.as_str() {
        "fork" => fork(),
        "spawn" => spawn(),
        "exec" => exec(Blocked::No),
        "exec-blocked" => exec(Blocked::AndWorking),
        "exec-after-stop" => exec(Blocked::AndStopped),
        other => panic!("cannot do {other:?}"),
    }
}

fn fork() {
    profundo::start().unwrap();
    work::busy(50);
    for round in 0..10 {
        // Other threads are inside the library and inside malloc while we fork.
        let done = std::sync::atomic::AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    drop(profundo::fetch().unwrap());
                    drop(std::hint::black_box(vec![0_u8; 10_000]));
                }
            });
            // From a thread, and from the main thread.
            let code = if round % 2 == 0 {
                fork_once()
            } else {
                scope.spawn(fork_once).join().unwrap()
            };
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(code, 7);
        });
    }
    assert!(profundo::is_running());
    let middle = shape::of(&profundo::fetch().unwrap()).weight;
    work::busy(100);
    profundo::stop();
    let data = profundo::fetch().unwrap();
    let after = shape::check(&data, 0.999).weight;
    assert!(
        after > middle + 0.05,
        "the parent goes on: {middle} {after}"
    );
    sys::print_line("the parent is well");
}

/// Forks a child that profiles itself; returns its exit code.
fn fork_once() -> i32 {
    // SAFETY: the child uses this library and malloc, which glibc keeps usable.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        let code = std::panic::catch_unwind(child).map_or(101, |()| 7);
        // SAFETY: ends the process at once, without the parent's destructors.
        unsafe { libc::_exit(code) };
    }
    sys::wait_for(pid)
}

fn child() {
    assert!(!profundo::is_running());
    work::busy(5);
    profundo::init(1_000_000, 0.0001).unwrap();
    profundo::start().unwrap();
    assert!(profundo::is_running());
    work::busy(30);
    let worker = thread::spawn(|| work::busy(30));
    worker.join().unwrap();
    profundo::stop();
    let data = profundo::fetch().unwrap();
    shape::check(&data, 0.99);
}

fn spawn() {
    profundo::start().unwrap();
    let end = Instant::now() + seconds(1.0);
    let busy = thread::spawn(move || {
        while Instant::now() < end {
            work::spin(10_000);
        }
    });
    let mut rounds = 0;
    while Instant::now() < end || rounds == 0 {
        rounds += 1;
        let code = Command::new("sh").args(["-c", "exit 3"]).status().unwrap();
        assert_eq!(code.code(), Some(3), "{code}");
        let output = Command::new("echo").arg("a child").output().unwrap();
        assert_eq!(output.stdout, b"a child\n");
        // With something to do before the exec, std forks instead of using posix_spawn.
        let mut forked = Command::new("true");
        // SAFETY: the closure does arithmetic alone.
        unsafe {
            forked.pre_exec(|| {
                work::spin(100_000);
                Ok(())
            });
        }
        assert!(forked.status().unwrap().success());
    }
    busy.join().unwrap();
    profundo::stop();
    shape::check(&profundo::fetch().unwrap(), 0.999);
    sys::print_line("the children ended as they should");
}

#[derive(PartialEq)]
enum Blocked {
    No,
    AndWorking,
    AndStopped,
}

/// Becomes another program, from a thread whose signals are blocked or not.
fn exec(blocked: Blocked) {
    profundo::start().unwrap();
    work::busy(20);
    if blocked != Blocked::No {
        sys::block_all_signals();
        work::busy(5);
    }
    if blocked == Blocked::AndStopped {
        profundo::stop();
    }
    if blocked == Blocked::No {
        // With the signal mask that std gives it.
        let error = Command::new("/proc/self/exe").arg("unblock").exec();
        panic!("{error}");
    }
    // The same program, which unblocks the signals while some are pending.
    let program = c"/proc/self/exe";
    let arguments = [c"children".as_ptr(), c"unblock".as_ptr(), std::ptr::null()];
    // SAFETY: both are null-terminated, and what they point to lives on.
    unsafe { libc::execv(program.as_ptr(), arguments.as_ptr()) };
    panic!("{}", std::io::Error::last_os_error());
}

/// The new program: it lets the signals in that were blocked in the old one.
fn unblock() {
    sys::unblock_all_signals();
    sys::print_line("the new program is well");
}
