//! One session at a time: who runs one holds the lock, and finds the sampler as it is at the
//! start of a program. Tests of CPU time run on every engine that this machine permits.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use profundo::{Delivery, EngineChoice, Session, Settings, clear, settings, stop};

static SESSIONS: Mutex<()> = Mutex::new(());

/// The settings that a program starts with.
pub fn defaults() -> Settings {
    settings()
        .words(10_000_000)
        .delay_seconds(0.001)
        .ring(false)
        .engine(EngineChoice::Auto)
        .delivery(Delivery::Auto)
}

/// Waits until no other test has a session; the buffer is empty then.
pub fn alone() -> MutexGuard<'static, ()> {
    // A test that failed leaves the lock poisoned, and perhaps a session running.
    let guard = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    stop();
    defaults().apply().unwrap();
    guard
}

/// Runs a test on each engine, given the settings that choose it. The best one for perf events
/// depends on what traces us, so both ways of delivery are engines here.
pub fn on_each_engine(test: impl Fn(Settings)) {
    let engines = [
        (EngineChoice::PerfSignal, Delivery::Trap),
        (EngineChoice::PerfSignal, Delivery::Urgent),
        (EngineChoice::CpuTimer, Delivery::Auto),
    ];
    for (engine, delivery) in engines {
        let _alone = alone();
        let chosen = defaults().engine(engine).delivery(delivery);
        chosen.apply().unwrap();
        match Session::cpu() {
            Ok(session) => {
                drop(session);
                clear();
                test(chosen);
            }
            Err(error) => skip(&format!("{engine:?} with {delivery:?}: {error}")),
        }
    }
}

/// Says that something could not be tested here.
pub fn skip(why: &str) {
    let line = format!("skipped: {why}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("PROFUNDO_SKIP_FILE") {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
}
