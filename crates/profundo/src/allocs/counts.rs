//! How much is allocated, without recording it: for tests, and for those who only want a number.

use profundo_capture::heap;

use crate::error::Result;

/// What a piece of code has allocated: see [`here`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counted<T> {
    /// What the code returned.
    pub value: T,
    /// How often it allocated; a block that is resized counts again.
    pub count: u64,
    /// How many bytes, all in all.
    pub bytes: u64,
    /// How many blocks it freed.
    pub freed: u64,
    /// Bytes allocated less bytes freed: what it left behind, or freed of what was there before.
    pub live: i64,
    /// The most that it had at a time, beyond what was there before.
    pub peak: u64,
}

/// Runs a piece of code and counts what the calling thread allocates meanwhile; other threads do not
/// disturb it.
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
/// It may be nested. `Err` says that [`Alloc`](crate::Alloc) is not the program's allocator; the code
/// has not run then. Beyond 65 535 living threads, those that came last are counted together.
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

/// How often the process has allocated since somebody asked first, for this, [`bytes`] or [`live`].
///
/// Counting begins with the first question, and stays: some three nanoseconds for each block from then on.
/// Who wants it from the first allocation on says so by [`Alloc::counting`](crate::Alloc::counting).
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

/// How many bytes the process has allocated since somebody asked first.
pub fn bytes() -> Result<u64> {
    Ok(heap::counted()?.bytes)
}

/// How many bytes the process has: those allocated less those freed since somebody asked first, which is
/// below 0 where more was freed of what was there before.
pub fn live() -> Result<i64> {
    Ok(heap::counted()?.live)
}

/// The most that [`live`] was since somebody asked for the peak first, or since [`reset_peak`]. It is exact
/// across all threads, and so costs more than counting: ten nanoseconds for each block, and more where
/// many threads allocate at the same instant.
pub fn peak() -> Result<i64> {
    Ok(heap::peak()?)
}

/// Begins to look for the peak anew, from what is there now.
pub fn reset_peak() -> Result<()> {
    Ok(heap::reset_peak()?)
}

/// Whether [`Alloc`](crate::Alloc) is the program's allocator.
pub fn is_installed() -> bool {
    heap::is_installed()
}
