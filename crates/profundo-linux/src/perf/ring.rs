//! The ring buffer that the kernel writes an event's records to.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::perf_event_mmap_page;

const PAGE: usize = 4096;

/// The ring of one CPU.
#[derive(Debug)]
pub struct PerfRing {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is plain memory, read by one thread at a time.
unsafe impl Send for PerfRing {}
// SAFETY: as above; other threads hold it only to keep it.
unsafe impl Sync for PerfRing {}

impl PerfRing {
    /// Maps a ring of `pages` pages, a power of two; fewer if the limit of locked memory asks
    /// for it.
    pub fn map(event: &OwnedFd, pages: usize) -> io::Result<Self> {
        const LEAST: usize = 4;
        let mut pages = pages;
        loop {
            let bytes = (1 + pages) * PAGE;
            // SAFETY: a new mapping overlaps nothing.
            let start = unsafe {
                libc::mmap(
                    ptr::null_mut(),
                    bytes,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_SHARED,
                    event.as_raw_fd(),
                    0,
                )
            };
            if start != libc::MAP_FAILED {
                let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
                return Ok(Self {
                    start,
                    bytes: pages * PAGE,
                });
            }
            let error = io::Error::last_os_error();
            if pages <= LEAST {
                return Err(error);
            }
            pages /= 2;
        }
    }

    fn head(&self) -> u64 {
        let page = self.start.cast::<perf_event_mmap_page>().as_ptr();
        // SAFETY: the first page of the mapping is the kernel's; the field is aligned.
        let head = unsafe { AtomicU64::from_ptr(&raw mut (*page).data_head) };
        // Acquire: the records are there before the head says so.
        head.load(Ordering::Acquire)
    }

    fn tail(&self) -> &AtomicU64 {
        let page = self.start.cast::<perf_event_mmap_page>().as_ptr();
        // SAFETY: as above; only we write this field.
        unsafe { AtomicU64::from_ptr(&raw mut (*page).data_tail) }
    }

    fn copy(&self, position: u64, out: &mut [u8]) {
        let at = (position % self.bytes as u64) as usize;
        let first = out.len().min(self.bytes - at);
        let (low, high) = out.split_at_mut(first);
        // SAFETY: the data pages follow the first one, and both parts lie in them.
        unsafe {
            let data = self.start.as_ptr().add(PAGE);
            ptr::copy_nonoverlapping(data.add(at), low.as_mut_ptr(), low.len());
            ptr::copy_nonoverlapping(data, high.as_mut_ptr(), high.len().min(self.bytes));
        }
    }

    /// Hands each record written since the last call to `f`: its kind, `misc` and body.
    pub fn read(&self, mut f: impl FnMut(u32, u16, &[u8])) {
        let head = self.head();
        let mut tail = self.tail().load(Ordering::Relaxed);
        let mut body = Vec::new();
        while tail < head {
            let mut start = [0; 8];
            self.copy(tail, &mut start);
            let [a, b, c, d, e, g, h, i] = start;
            let kind = u32::from_le_bytes([a, b, c, d]);
            let misc = u16::from_le_bytes([e, g]);
            let size = u16::from_le_bytes([h, i]);
            if size < 8 || tail + u64::from(size) > head {
                tail = head;
                break;
            }
            body.resize(usize::from(size) - 8, 0);
            self.copy(tail + 8, &mut body);
            f(kind, misc, &body);
            tail += u64::from(size);
        }
        // Release: we have read before the kernel writes there again.
        self.tail().store(tail, Ordering::Release);
    }
}

impl Drop for PerfRing {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `map`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), PAGE + self.bytes) };
    }
}
