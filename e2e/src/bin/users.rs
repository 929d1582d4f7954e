//! Other users of the signals, and threads that take no signal.
//!
//! `users trap-before|chain|urg|traps-die|blocked|closed [engine]`

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;

use profundo::fetch;
use profundo_e2e::{argument, shape, shape::Named, storm_on, sys, work};

static SEEN: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_: i32, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    SEEN.fetch_add(1, Ordering::Relaxed);
}

fn main() {
    let what = argument(1).expect("what to do");
    let engine = argument(2).unwrap_or_else(|| "auto".into());
    storm_on(&engine).apply().unwrap();
    match what.as_str() {
        "trap-before" => trap_before(),
        "chain" => chain_of_handlers(),
        "urg" => urg(),
        "traps-die" => traps_die(),
        "blocked" => blocked(),
        "closed" => closed(),
        other => panic!("cannot do {other:?}"),
    }
    sys::print_line("all users got their signals");
}

fn raise(signal: i32, times: u32) {
    for _ in 0..times {
        // SAFETY: each test has a handler for it.
        unsafe { libc::raise(signal) };
        work::spin(2000);
    }
}

fn trap_before() {
    sys::handle(libc::SIGTRAP, count, 0);
    let run = || {
        work::busy(50);
        raise(libc::SIGTRAP, 100);
        thread::spawn(|| work::busy(50)).join().unwrap();
    };
    // Twice, for what the first session leaves behind.
    for _ in 0..2 {
        profundo::profile!(run()).unwrap();
    }
    shape::check(&fetch().unwrap(), 0.999);
    assert_eq!(SEEN.load(Ordering::Relaxed), 200, "its own, and no other");
}

/// The program installs its handler after a first session, and passes signals on to the earlier
/// one.
fn chain_of_handlers() {
    static BEFORE: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn chain(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        SEEN.fetch_add(1, Ordering::Relaxed);
        let before = BEFORE.load(Ordering::Relaxed);
        if before > libc::SIG_IGN {
            // SAFETY: a handler of this form was installed before.
            unsafe {
                std::mem::transmute::<usize, sys::Handler>(before)(signal, info, context);
            }
        }
    }
    profundo::profile!(work::busy(30)).unwrap();
    let before = sys::handle(libc::SIGURG, chain, 0);
    BEFORE.store(before.sa_sigaction, Ordering::Relaxed);
    let run = || {
        work::busy(50);
        raise(libc::SIGURG, 50);
    };
    for _ in 0..2 {
        profundo::profile!(run()).unwrap();
    }
    shape::check(&fetch().unwrap(), 0.999);
    assert_eq!(SEEN.load(Ordering::Relaxed), 100, "each once");
}

fn urg() {
    sys::handle(libc::SIGURG, count, 0);
    let run = || {
        work::busy(50);
        raise(libc::SIGURG, 100);
        work::busy(50);
    };
    for round in 0..10 {
        // Threads are stopped in the midst of their work, with signals on the way.
        let workers: Vec<_> = (0..4).map(|_| thread::spawn(|| work::busy(30))).collect();
        if round == 0 {
            profundo::profile!(run()).unwrap();
        } else {
            profundo::profile!(work::busy(5)).unwrap();
        }
        workers.into_iter().for_each(|worker| drop(worker.join()));
    }
    shape::check(&fetch().unwrap(), 0.999);
    assert_eq!(SEEN.load(Ordering::Relaxed), 100, "its own, and no other");
}

/// Without a handler, SIGTRAP ends the program as it does without the profiler.
fn traps_die() {
    profundo::start().unwrap();
    work::busy(20);
    raise(libc::SIGTRAP, 1);
}

fn blocked() {
    let run = || {
        let deaf = thread::spawn(|| {
            sys::block_all_signals();
            work::busy(600)
        });
        work::busy(100);
        deaf.join().unwrap();
    };
    profundo::profile!(run()).unwrap();
    let data = fetch().unwrap();
    shape::check(&data, 0.0);
    let weight = Named::new(&data).weight_in("[signals blocked]");
    let line = format!(
        "{weight} s in [signals blocked], {:?}\n",
        data.profile().meta.cpu
    );
    sys::note(&line);
    // The time after the last look at the thread, a tenth of a second or two, is not known.
    assert!((0.3..0.7).contains(&weight), "{line}");
}

/// The program closes all descriptors above 2, and opens files in their place.
fn closed() {
    profundo::start().unwrap();
    work::busy(20);
    // SAFETY: nothing of the program's own is open above 2.
    unsafe { libc::close_range(3, 1000, 0) };
    let files: Vec<_> = (0..8)
        .map(|_| std::fs::File::open("/proc/self/stat").unwrap())
        .collect();
    work::busy(20);
    profundo::stop();
    for mut file in files {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut file, &mut text).expect("the file is still open");
    }
    profundo::profile!(work::busy(50)).unwrap();
    shape::check(&fetch().unwrap(), 0.99);
}
