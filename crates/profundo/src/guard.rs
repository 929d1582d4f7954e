//! A session that ends when its guard drops: at the end of the scope, by `return`, `?` or panic.

use profundo_capture::Mode;

use crate::error::Result;

/// A running session.
///
/// ```
/// # fn main() -> profundo::Result<()> {
/// let session = profundo::Session::cpu()?;
/// // … what is profiled …
/// drop(session);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "the session ends when the guard drops"]
pub struct Session {
    number: u64,
}

impl Session {
    /// Starts sampling CPU time.
    pub fn cpu() -> Result<Self> {
        let number = profundo_capture::start(Mode::Cpu)?;
        Ok(Self { number })
    }

    /// Starts sampling elapsed time.
    pub fn walltime() -> Result<Self> {
        let number = profundo_capture::start(Mode::Wall)?;
        Ok(Self { number })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // If `stop` was called meanwhile, the present session is not ours.
        profundo_capture::stop_session(self.number);
    }
}
