//! Start, stop, clear: what is recorded, and for how long.

use profundo_capture::heap::{self, Rule, Settings};

use crate::error::Result;

/// Which allocations are recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// One about each so many bytes, at random. 0 is all of them.
    Bytes(u64),
    /// Each with this probability, whatever its size: Julia's `sample_rate`. 1 and above are all of them,
    /// 0 and below none.
    Events(f64),
}

impl Default for Rate {
    /// One about each 512 KiB.
    fn default() -> Self {
        Self::Bytes(512 << 10)
    }
}

/// A `sample_rate`.
impl From<f64> for Rate {
    fn from(rate: f64) -> Self {
        Self::Events(rate)
    }
}

impl From<Rate> for Rule {
    fn from(rate: Rate) -> Self {
        match rate {
            Rate::Bytes(mean) => Self::Bytes(mean),
            Rate::Events(rate) => Self::Events(rate),
        }
    }
}

/// A recording that ends when it drops: at the end of the scope, by `return`, `?` or panic.
#[derive(Debug)]
#[must_use = "the recording ends when the guard drops"]
pub struct Recording {
    number: u64,
}

impl Recording {
    /// Starts it, unless allocations are being recorded already.
    pub fn start(rate: impl Into<Rate>) -> Result<Self> {
        let number = heap::try_start(rate.into().into())?;
        Ok(Self { number })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // If `stop` was called meanwhile, what is recorded now is not ours.
        heap::stop_session(self.number);
    }
}

/// Starts recording, until [`stop`]. Where allocations are recorded already, the rate is changed.
///
/// ```
/// # #[global_allocator]
/// # static ALLOC: profundo::Alloc = profundo::Alloc::system();
/// # fn main() -> profundo::Result<()> {
/// use profundo::allocs;
///
/// allocs::start(0.1)?; // or allocs::Rate::default()
/// // …
/// allocs::stop();
/// # Ok(())
/// # }
/// ```
pub fn start(rate: impl Into<Rate>) -> Result<()> {
    heap::start(rate.into().into())?;
    Ok(())
}

/// Ends the recording, if there is one, and waits for those who are at it. What was recorded stays; what
/// is freed from now on is not noted.
pub fn stop() {
    heap::stop();
}

/// Forgets what was recorded. Works while allocations are recorded: that goes on.
pub fn clear() {
    heap::clear();
}

/// Makes room for so many allocations (4 194 304 of them if nothing is said), and forgets what was
/// recorded. What finds no room is counted, and reports say so. It takes memory as they come, 48 bytes
/// each and a little for each stack.
pub fn init(allocations: u64) -> Result<()> {
    Ok(heap::init(Settings { allocations })?)
}

/// How many allocations there is room for.
pub fn capacity() -> u64 {
    heap::settings().allocations
}

/// How many were recorded and not cleared.
pub fn len() -> u64 {
    heap::len()
}

/// Whether allocations are being recorded.
pub fn is_running() -> bool {
    heap::is_recording()
}
