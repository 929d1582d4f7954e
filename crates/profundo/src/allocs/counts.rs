//! Counts of allocations without a recording: for tests, and where only a number is wanted.

use profundo_capture::heap;

use crate::error::Result;

/// The allocations of a piece of code: see [`here`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counted<T> {
    /// The code's return value.
    pub value: T,
    /// The number of allocations; a resized block counts again.
    pub count: u64,
    /// The allocated bytes.
    pub bytes: u64,
    /// The number of freed blocks.
    pub freed: u64,
    /// Allocated less freed bytes: negative where the code freed blocks that were there before.
    pub live: i64,
    /// The peak of `live` while the code ran.
    pub peak: u64,
}

/// Runs a piece of code and counts the allocations of the calling thread meanwhile; those of other
/// threads do not count.
///
/// ```
/// #[global_allocator]
/// static ALLOC: profundo::Alloc = profundo::Alloc::system();
///
/// # fn main() -> profundo::Result<()> {
/// let mut words = Vec::with_capacity(10);
/// let pushed = profundo::allocs::here(|| words.extend(1..=10))?;
/// assert_eq!(pushed.count, 0, "there was room");
/// # Ok(())
/// # }
/// ```
///
/// Calls may be nested. `Err` says that [`Alloc`](crate::Alloc) is not the program's allocator; the
/// code has not run then. Beyond 65 535 living threads, the last ones share one count.
pub fn here<T>(code: impl FnOnce() -> T) -> Result<Counted<T>> {
    let counting = heap::begin_here()?;
    let value = code();
    let (counted, peak) = counting.counted();
    Ok(Counted {
        value,
        count: counted.count,
        bytes: counted.bytes,
        freed: counted.freed,
        live: counted.live,
        peak,
    })
}

/// The number of allocations of the process since the first request for this, [`bytes`] or
/// [`live`].
///
/// Counting begins with the first request and stays on, at about three nanoseconds per block.
/// [`Alloc::counting`](crate::Alloc::counting) counts from the program's first allocation on.
/// Allocations of this library are not counted.
///
/// ```
/// # #[global_allocator]
/// # static ALLOC: profundo::Alloc = profundo::Alloc::system();
/// # fn main() -> profundo::Result<()> {
/// let before = profundo::allocs::count()?;
/// let boxed = Box::new(5);
/// assert!(profundo::allocs::count()? > before);
/// # drop(boxed);
/// # Ok(())
/// # }
/// ```
pub fn count() -> Result<u64> {
    Ok(heap::counted()?.count)
}

/// The bytes that the process has allocated since counting began.
pub fn bytes() -> Result<u64> {
    Ok(heap::counted()?.bytes)
}

/// The live bytes of the process: allocated less freed since counting began. Negative where more
/// was freed of what was there before.
pub fn live() -> Result<i64> {
    Ok(heap::counted()?.live)
}

/// The most that [`live`] was since the first request for the peak, or since [`reset_peak`]. It is
/// exact across all threads, and so costs more than counting: ten nanoseconds for each block, and
/// more where many threads allocate at the same instant.
pub fn peak() -> Result<i64> {
    Ok(heap::peak()?)
}

/// Restarts the peak from the present live bytes.
pub fn reset_peak() -> Result<()> {
    Ok(heap::reset_peak()?)
}

/// Whether [`Alloc`](crate::Alloc) is the program's allocator.
pub fn is_installed() -> bool {
    heap::is_installed()
}
