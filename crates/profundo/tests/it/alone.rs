//! One session at a time: a test that runs one holds the lock, and has the sampler as at the start
//! of a program. Tests of CPU time run on every engine that this machine permits.

use std::sync::{Mutex, MutexGuard, PoisonError};

use profundo::{Delivery, EngineChoice, Session, Settings, clear, settings, stop};
use profundo_testing::skip;

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
    // A failed test leaves the lock poisoned, and perhaps a session running.
    let guard = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    stop();
    defaults().apply().unwrap();
    guard
}

/// Runs a test on each engine, given the settings that choose it. The best delivery of perf events
/// depends on a tracer, so both ways are tested as engines.
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
