//! The common parts of the target programs: work to be sampled, settings by name, and the shape
//! that every profile must have. A target checks its own profile and exits with 101 if that is
//! wrong. The tests compare exit codes, signals and output.

pub mod shape;
pub mod sys;
pub mod work;

use std::time::Duration;

use profundo::{Delivery, EngineChoice, Settings, settings};

/// A delay of 100 µs: ten thousand samples a second of CPU time.
pub const STORM: Duration = Duration::from_micros(100);

/// Room for the samples of every target.
pub const WORDS: u64 = 20_000_000;

/// The settings of a storm on the engine of this name.
///
/// # Panics
/// If there is no such engine.
pub fn storm_on(engine: &str) -> Settings {
    let storm = settings().words(WORDS).delay(STORM);
    match engine {
        "auto" => storm,
        "trap" => storm
            .engine(EngineChoice::PerfSignal)
            .delivery(Delivery::Trap),
        "urgent" => storm
            .engine(EngineChoice::PerfSignal)
            .delivery(Delivery::Urgent),
        "timer" => storm.engine(EngineChoice::CpuTimer),
        other => panic!("there is no engine {other:?}"),
    }
}

/// The argument at a position; the first is 1.
pub fn argument(position: usize) -> Option<String> {
    std::env::args().nth(position)
}

/// The duration of a storm: the usual one, or `PROFUNDO_E2E_SECONDS` in a soak by hand.
pub fn seconds(usual: f64) -> Duration {
    let wanted = std::env::var("PROFUNDO_E2E_SECONDS").ok();
    Duration::from_secs_f64(wanted.and_then(|text| text.parse().ok()).unwrap_or(usual))
}
