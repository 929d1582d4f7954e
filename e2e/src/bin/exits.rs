//! Ways to end while a session runs. Each ends as it would without one: the tests run it both
//! ways and compare. Without a session: `exits <way> plainly`.

use std::io::Write;
use std::thread;

use profundo_e2e::{argument, storm_on, sys, work};

fn main() {
    let way = argument(1).expect("how to end");
    if argument(2).as_deref() != Some("plainly") {
        let engine = argument(2).unwrap_or_else(|| "auto".into());
        storm_on(&engine).apply().unwrap();
        profundo::start().unwrap();
    }
    for _ in 0..2 {
        thread::spawn(|| {
            loop {
                work::spin(10_000);
            }
        });
    }
    work::busy(30);
    sys::print_line("about to end");
    match way.as_str() {
        "return" => {}
        "exit" => std::process::exit(9),
        // SAFETY: ends the process at once.
        "_exit" => unsafe { libc::_exit(11) },
        "panic" => panic!("a panic of main"),
        "abort" => std::process::abort(),
        // SAFETY: the signal has its default action.
        "trap" => unsafe {
            libc::raise(libc::SIGTRAP);
        },
        "breakpoint" => breakpoint(),
        // SAFETY: the signal has its default action.
        "term" => unsafe {
            libc::kill(libc::getpid(), libc::SIGTERM);
            libc::pause();
        },
        "thread" => {
            // The main thread is gone; the process lives on until another one ends it.
            thread::spawn(|| {
                work::busy(100);
                std::process::exit(13);
            });
            // SAFETY: the main thread has nothing that must be dropped.
            unsafe { libc::pthread_exit(std::ptr::null_mut()) };
        }
        "wait" => loop {
            work::busy(10);
        },
        other => panic!("cannot end by {other:?}"),
    }
    let _ = std::io::stdout().flush();
}

fn breakpoint() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a breakpoint without a handler, which is the point.
    unsafe {
        std::arch::asm!("int3");
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("brk #0");
    }
}
