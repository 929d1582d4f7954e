//! Starts, stops and clears recordings.

use profundo_capture::heap::{self, Rule, Settings};

use crate::error::Result;

/// The rate at which allocations are recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// About one per this many bytes, at random; 0 records all.
    Bytes(u64),
    /// Each with this probability, whatever its size: Julia's `sample_rate`. 1 and above record
    /// all, 0 and below none.
    Events(f64),
}

impl Default for Rate {
    /// About one per 512 KiB.
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
    /// Starts a recording, unless allocations are being recorded already.
    pub fn start(rate: impl Into<Rate>) -> Result<Self> {
        let number = heap::try_start(rate.into().into())?;
        Ok(Self { number })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // If `stop` was called meanwhile, the present recording is not ours.
        heap::stop_session(self.number);
    }
}

/// Starts recording, until [`stop`]. During a recording, only its rate changes.
///
/// ```
/// # #[global_allocator]
/// # static ALLOC: profundo::Alloc = profundo::Alloc::system();
/// # fn main() -> profundo::Result<()> {
/// use profundo::allocs;
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

/// Ends the recording, if there is one, and waits for threads that are recording a block. The
/// records stay; later frees are not noted.
pub fn stop() {
    heap::stop();
}

/// Clears the records. A recording that is running goes on.
pub fn clear() {
    heap::clear();
}

/// Makes room for this many allocations (4 194 304 by default), and clears the records. Allocations
/// that find no room are counted, and reports state their number. Memory is used as they come: 48
/// bytes each and a little per stack.
pub fn init(allocations: u64) -> Result<()> {
    Ok(heap::init(Settings { allocations })?)
}

/// The number of allocations for which there is room.
pub fn capacity() -> u64 {
    heap::settings().allocations
}

/// The number of allocations recorded and not cleared.
pub fn len() -> u64 {
    heap::len()
}

/// Whether allocations are being recorded.
pub fn is_running() -> bool {
    heap::is_recording()
}
