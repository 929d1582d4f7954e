//! Anonymous memory that is reserved now and touched when it is needed.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{ptr, slice};

use crate::error::{Error, Refusal};

/// The ranges of our mappings, as far as there are places: no pointers of the program are looked
/// for there. Start and length.
static LISTED: [(AtomicU64, AtomicU64); 256] =
    [const { (AtomicU64::new(0), AtomicU64::new(0)) }; 256];

/// The ranges of our own memory.
pub(crate) fn listed() -> impl Iterator<Item = (u64, u64)> {
    LISTED.iter().filter_map(|(start, length)| {
        let start = start.load(Ordering::Acquire);
        let length = length.load(Ordering::Acquire);
        (start != 0 && length != 0).then_some((start, start + length))
    })
}

/// A private mapping, zero-filled and not yet backed by pages.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is plain memory without an owner thread.
unsafe impl Send for Mapping {}
// SAFETY: as above; all access goes through raw pointers whose users answer for it.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Reserves memory. It costs address space only until it is touched.
    pub(crate) fn reserve(bytes: usize) -> Result<Self, Error> {
        let mapping = Self::reserve_unlisted(bytes)?;
        let place = LISTED.iter().find(|(start, _)| {
            let address = mapping.start.as_ptr() as u64;
            let taken = start.compare_exchange(0, address, Ordering::AcqRel, Ordering::Relaxed);
            taken.is_ok()
        });
        if let Some((_, length)) = place {
            length.store(bytes as u64, Ordering::Release);
        }
        Ok(mapping)
    }

    /// As [`reserve`](Self::reserve), for an owner that keeps the range itself.
    pub(crate) fn reserve_unlisted(bytes: usize) -> Result<Self, Error> {
        // SAFETY: a new anonymous mapping overlaps nothing.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(Error::refused(Refusal::Memory));
        }
        // Huge pages would commit 2 MB at the first touch.
        // SAFETY: the range is ours; the advice changes no content.
        unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
        let start = NonNull::new(start.cast()).expect("mmap does not return null");
        Ok(Self { start, bytes })
    }

    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Returns the memory; the mapping stays, and is zero again. Its users must know.
    pub(crate) fn give_back(&self) {
        // SAFETY: the range is ours, and private, without a file.
        unsafe { libc::madvise(self.start.as_ptr().cast(), self.bytes, libc::MADV_DONTNEED) };
    }

    /// Turns the mapping into a slice that lives as long as the process.
    ///
    /// # Safety
    /// All-zero memory is a valid `T`, and `T` needs no drop.
    pub(crate) unsafe fn leak_as<T>(self) -> &'static [T] {
        let count = self.bytes / size_of::<T>();
        let start = self.start.as_ptr().cast::<T>();
        std::mem::forget(self);
        // SAFETY: the mapping is page-aligned, zeroed, never unmapped, and holds `count` values.
        unsafe { slice::from_raw_parts(start, count) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let address = self.start.as_ptr() as u64;
        let place = LISTED
            .iter()
            .find(|(start, _)| start.load(Ordering::Acquire) == address);
        if let Some((start, length)) = place {
            length.store(0, Ordering::Relaxed);
            start.store(0, Ordering::Release);
        }
        // SAFETY: the range was mapped by `reserve`; it is dropped when it has no user left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
