//! Settings, start and stop: Julia's `init`, `clear`, `start_timer`, `stop_timer`, `len_data` …

use std::time::Duration;

use profundo_capture::{Config, Mode};
pub use profundo_capture::{Delivery, EngineChoice};

use crate::error::{Error, Result};

/// The sampler's settings. Change some and [`apply`](Self::apply) them.
///
/// ```
/// # fn main() -> profundo::Result<()> {
/// profundo::settings().words(1_000_000).delay_seconds(0.0005).ring(true).apply()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use = "settings do nothing until they are applied"]
pub struct Settings {
    config: Config,
    delay: f64,
}

impl Settings {
    /// The buffer's size in words: a sample takes its depth plus six.
    pub fn words(mut self, n: u64) -> Self {
        self.config.words = n;
        self
    }

    /// The time between two samples of a busy thread.
    pub fn delay(self, delay: Duration) -> Self {
        self.delay_seconds(delay.as_secs_f64())
    }

    /// As [`delay`](Self::delay), in seconds as in Julia.
    pub fn delay_seconds(mut self, delay: f64) -> Self {
        self.delay = delay;
        self
    }

    /// Keeps the newest samples when the buffer is full, instead of stopping. A ring drops some
    /// thousand words at a time, and a small one is enlarged.
    pub fn ring(mut self, ring: bool) -> Self {
        self.config.ring = ring;
        self
    }

    /// The engine that samples; by default the best one permitted.
    pub fn engine(mut self, engine: EngineChoice) -> Self {
        self.config.engine = engine;
        self
    }

    /// The way in which perf events reach the threads.
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.config.delivery = delivery;
        self
    }

    /// The size in words and the delay in seconds: Julia's `init()`.
    pub fn as_julia(&self) -> (u64, f64) {
        (self.config.words, self.delay)
    }

    /// Whether the newest samples are kept.
    pub fn is_ring(&self) -> bool {
        self.config.ring
    }

    /// Applies the settings and empties the buffer.
    pub fn apply(self) -> Result<()> {
        let delay = Duration::try_from_secs_f64(self.delay)
            .map_err(|_| Error::DelayNotANumber(self.delay))?;
        // Whole nanoseconds, as Julia rounds.
        Ok(profundo_capture::init(Config {
            delay,
            ..self.config
        })?)
    }
}

/// The present settings.
pub fn settings() -> Settings {
    let (config, _, _) = profundo_capture::settings();
    Settings {
        config,
        delay: config.delay.as_secs_f64(),
    }
}

/// Sets the buffer's size in words and the delay between samples in seconds, and empties the
/// buffer. See also [`init!`](crate::init!), where either may be left out.
pub fn init(n: u64, delay: f64) -> Result<()> {
    settings().words(n).delay_seconds(delay).apply()
}

/// Clears all samples. The buffer keeps its size.
pub fn clear() {
    profundo_capture::clear();
}

/// Starts sampling the CPU time of all threads, until [`stop`].
///
/// [`profile!`](crate::profile!) does this around an expression.
pub fn start() -> Result<()> {
    profundo_capture::start(Mode::Cpu)?;
    Ok(())
}

/// Starts sampling threads and tasks by elapsed time, until [`stop`].
pub fn start_walltime() -> Result<()> {
    profundo_capture::start(Mode::Wall)?;
    Ok(())
}

/// Ends the session that is running, if one is. Its samples stay in the buffer.
///
/// A thread that blocks its signals and is about to `exec` another program must call this itself
/// before: a signal of ours may be pending for it and would kill the new program. `stop` withdraws
/// it. Without blocked signals, and for children started by `std::process::Command`, nothing need
/// be done.
pub fn stop() {
    profundo_capture::stop();
}

/// Whether a session is running. A session whose buffer filled up still is, though it takes no
/// more samples.
pub fn is_running() -> bool {
    profundo_capture::is_running()
}

/// The number of used words of the buffer.
pub fn len() -> u64 {
    profundo_capture::settings().1
}

/// The number of words of the buffer.
pub fn capacity() -> u64 {
    profundo_capture::settings().0.words
}

/// Whether the buffer is full, so that sampling stopped. Never true in ring mode.
pub fn is_full() -> bool {
    profundo_capture::settings().2
}
