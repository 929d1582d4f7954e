//! Refusals of the kernel: perf events by a filter or for want of descriptors, all clocks or
//! threads by a filter, memory by a limit. An ordinary user, who may sample, is tried too.
//!
//! `refused nothing <engine>|filter <errno>|clocks|threads|ordinary-user|descriptors|memory`

use std::thread;

use profundo::model::Engine;
use profundo::{EngineChoice, fetch, settings};
use profundo_e2e::{argument, shape, storm_on, sys, work};

fn main() {
    match argument(1).expect("what to refuse").as_str() {
        "nothing" => {
            storm_on(&argument(2).unwrap()).apply().unwrap();
            if let Err(error) = profundo::profile!(work::busy(1)) {
                let _ =
                    std::io::Write::write_all(&mut std::io::stderr(), error.to_string().as_bytes());
                std::process::exit(1);
            }
        }
        "filter" => filter(argument(2).unwrap().parse().unwrap()),
        "clocks" => clocks(),
        "threads" => threads(),
        "ordinary-user" => ordinary_user(),
        "descriptors" => descriptors(),
        "memory" => memory(),
        other => panic!("cannot refuse {other:?}"),
    }
    sys::print_line("it went on as well as it could");
}

fn engine() -> Engine {
    fetch().unwrap().profile().meta.engine
}

fn notes() -> String {
    fetch().unwrap().profile().meta.notes.join("\n")
}

/// A filter lets perf_event_open fail with an error, as that of a container does.
fn filter(errno: u32) {
    sys::refuse(libc::SYS_perf_event_open, errno);
    let chosen = storm_on("auto").engine(EngineChoice::PerfSignal);
    chosen.apply().unwrap();
    let error = profundo::profile!(work::busy(1)).unwrap_err().to_string();
    assert!(error.contains("perf_event_open"), "{error}");
    if [libc::EPERM, libc::EACCES].contains(&(errno as i32)) {
        assert!(error.contains("perf_event_paranoid"), "{error}");
    }
    assert!(!profundo::is_running());
    chosen.engine(EngineChoice::Auto).apply().unwrap();
    let run = || {
        thread::spawn(|| work::busy(200)).join().unwrap();
    };
    profundo::profile!(run()).unwrap();
    assert_eq!(engine(), Engine::CpuTimer);
    assert!(notes().contains("perf_event_open"), "{}", notes());
    shape::check(&fetch().unwrap(), 0.99);
    profundo::clear();
    profundo::profile_walltime!(work::busy(100)).unwrap();
    shape::check(&fetch().unwrap(), 0.9);
}

/// No engine's clocks are permitted.
fn clocks() {
    for call in [libc::SYS_perf_event_open, libc::SYS_timer_create] {
        sys::refuse(call, libc::EPERM as u32);
    }
    let mut has_run = false;
    let error = profundo::profile!(has_run = true).unwrap_err().to_string();
    assert!(error.contains("timer_create"), "{error}");
    assert!(error.contains("seccomp profile"), "{error}");
    assert!(!has_run && !profundo::is_running());
}

/// No more threads are permitted: the library's helper is one too many.
fn threads() {
    for call in [libc::SYS_clone3, libc::SYS_clone] {
        sys::refuse(call, libc::EAGAIN as u32);
    }
    let error = profundo::start().unwrap_err().to_string();
    assert!(error.contains("a helper thread"), "{error}");
    assert!(error.contains("ulimit -u"), "{error}");
    assert!(!profundo::is_running());
}

/// An ordinary user, where the kernel's default setting permits sampling oneself.
fn ordinary_user() {
    const NOBODY: u32 = 65534;
    // SAFETY: plain calls; the process is single-threaded.
    let done = unsafe { libc::setgid(NOBODY) == 0 && libc::setuid(NOBODY) == 0 };
    if !done {
        return sys::note("skipped: only root can become another user");
    }
    storm_on("auto").apply().unwrap();
    profundo::profile!(work::busy(100)).unwrap();
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let paranoid: i32 = paranoid.map_or(4, |text| text.trim().parse().unwrap());
    let expected = if paranoid <= 2 {
        Engine::PerfSignal
    } else {
        Engine::CpuTimer
    };
    assert_eq!(engine(), expected, "{}", notes());
    shape::check(&fetch().unwrap(), 0.99);
    profundo::profile_walltime!(work::busy(100)).unwrap();
}

/// More threads than descriptors.
fn descriptors() {
    sys::limit(libc::RLIMIT_NOFILE, 60);
    let barrier = std::sync::Barrier::new(101);
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                barrier.wait();
                barrier.wait();
                work::busy(3);
            });
        }
        barrier.wait();
        let before = sys::open_descriptors();
        let chosen = storm_on("auto").engine(EngineChoice::PerfSignal);
        chosen.apply().unwrap();
        let error = profundo::start().unwrap_err().to_string();
        assert!(error.contains("ulimit -n"), "{error}");
        assert_eq!(sys::open_descriptors(), before);
        chosen.engine(EngineChoice::Auto).apply().unwrap();
        profundo::start().unwrap();
        // The program goes on opening files.
        assert!(std::fs::read("/proc/self/stat").is_ok());
        barrier.wait();
        work::busy(100);
    });
    profundo::stop();
    assert_eq!(engine(), Engine::CpuTimer);
    assert!(notes().contains("ulimit -n"), "{}", notes());
    shape::check(&fetch().unwrap(), 0.99);
}

/// Too little address space for a buffer, and for its bookkeeping.
fn memory() {
    let used = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = used.split(' ').next().unwrap().parse().unwrap();
    sys::limit(libc::RLIMIT_AS, pages * 4096 + (200 << 20));
    for words in [1 << 40, 1 << 36, 100_000_000, 30_000_000] {
        let error = settings().words(words).apply().unwrap_err().to_string();
        assert!(error.contains("fewer words"), "{error}");
        assert!(error.contains("ulimit -v"), "{error}");
    }
    settings().words(1_000_000).apply().unwrap();
    profundo::profile!(work::busy(100)).unwrap();
    shape::check(&fetch().unwrap(), 0.9);
}
