//! Writing to the words of loaded files, which lie in pages that are read-only, or are just about
//! to become so.
//!
//! Another thread may be in the middle of loading a file. The loader fills in the words of its
//! tables, and then makes the pages read-only. Such a page is never protected by us, because the
//! loader still writes to it, and it is not written to by a plain store, because it may become
//! read-only at that very moment: the kernel stores the word, and says if it cannot.

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use profundo_probe::sys;

use crate::symbols::Object;

const PAGE: usize = 4096;

/// The right to write to a page that was looked at last, and to the pages of a file that are
/// read-only else.
#[derive(Default)]
pub struct Opened {
    /// The read-only pages of the file, which we have made writable for a moment.
    pages: Option<(usize, usize)>,
    /// The page that was looked at last, and the right to write to it.
    last: Option<(usize, Right)>,
}

/// The right to write to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    /// It can be written to, and stays so.
    Lasting,
    /// The loader may take it away at any moment.
    Passing,
    /// It cannot be written to.
    None,
}

impl Opened {
    /// Changes a word of a file, if it still is `before`. `false`: it is not.
    pub fn exchange(
        &mut self,
        object: &Object,
        address: usize,
        before: usize,
        after: usize,
    ) -> bool {
        match self.right(object, address) {
            Right::None => false,
            Right::Lasting => exchange(address, before, after),
            Right::Passing if load(address) != before => false,
            Right::Passing => {
                store::store_checked(address, after)
                    || self.open(object.read_only) && exchange(address, before, after)
            }
        }
    }

    /// Makes the pages that were opened read-only again.
    pub fn close(&mut self) {
        if let Some(pages) = self.pages.take() {
            protect(pages, libc::PROT_READ);
        }
        self.last = None;
    }

    fn right(&mut self, object: &Object, address: usize) -> Right {
        let page = address & !(PAGE - 1);
        if let Some((_, right)) = self.last.filter(|&(last, _)| last == page) {
            return right;
        }
        let is_inside = |pages: Option<(usize, usize)>| {
            pages.is_some_and(|(start, end)| (start..end).contains(&address))
        };
        let is_read_only = is_inside(object.read_only);
        let right = match is_writable(address) {
            true if is_read_only && !is_inside(self.pages) => Right::Passing,
            true => Right::Lasting,
            // Pages that neither the loader nor we have made read-only are another tool's.
            false if is_read_only && self.open(object.read_only) => Right::Lasting,
            false => Right::None,
        };
        self.last = Some((page, right));
        right
    }

    /// Makes the read-only pages of a file writable. They are not written to by the loader any
    /// more.
    fn open(&mut self, pages: Option<(usize, usize)>) -> bool {
        let Some(pages) = pages else { return false };
        let is_open = protect(pages, libc::PROT_READ | libc::PROT_WRITE);
        if is_open {
            self.pages = Some(pages);
            self.last = None;
        }
        is_open
    }
}

fn word(address: usize) -> &'static AtomicUsize {
    // SAFETY: an aligned word of a loaded file, which the loader has written.
    unsafe { AtomicUsize::from_ptr(address as *mut usize) }
}

/// The present value of a word.
pub fn load(address: usize) -> usize {
    word(address).load(Ordering::Relaxed)
}

fn exchange(address: usize, before: usize, after: usize) -> bool {
    // Another tool may put its own there at this instant.
    let order = (Ordering::AcqRel, Ordering::Relaxed);
    let exchanged = word(address).compare_exchange(before, after, order.0, order.1);
    exchanged.is_ok()
}

fn protect((start, end): (usize, usize), protection: i32) -> bool {
    let length = end.saturating_sub(start);
    // SAFETY: pages of data of a loaded file; only the right to write to them changes.
    unsafe {
        sys::call(
            libc::SYS_mprotect,
            [start, length, protection as usize, 0, 0, 0],
        ) == 0
    }
}

#[cfg_attr(target_arch = "aarch64", path = "pages/aarch64.rs")]
#[cfg_attr(target_arch = "x86_64", path = "pages/x86_64.rs")]
mod store;

/// True if a word may be written to. Its contents do not change: the kernel sets none of the bits
/// of its first half, in one step, as a part of a call that wakes no thread.
fn is_writable(address: usize) -> bool {
    /// Sets bits of the second word, and compares it afterwards; both with 0.
    const SET_BITS: usize = 2 << 28;
    static NOBODY_WAITS: AtomicU32 = AtomicU32::new(0);
    let first = NOBODY_WAITS.as_ptr() as usize;
    let how = (libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: the kernel checks both addresses.
    unsafe { sys::call(libc::SYS_futex, [first, how, 0, 0, address, SET_BITS]) >= 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ptr;

    /// A page of ours, filled with words.
    fn page(protection: i32) -> usize {
        // SAFETY: new memory.
        let place = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let all = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(ptr::null_mut(), PAGE, all, flags, -1, 0)
        };
        assert_ne!(place, libc::MAP_FAILED);
        word(place as usize).store(7, Ordering::Relaxed);
        assert!(protect((place as usize, place as usize + PAGE), protection));
        place as usize
    }

    #[test]
    fn the_kernel_says_what_can_be_written_to() {
        let (open, closed) = (
            page(libc::PROT_READ | libc::PROT_WRITE),
            page(libc::PROT_READ),
        );
        assert!(is_writable(open) && !is_writable(closed) && !is_writable(4096));
        assert_eq!((load(open), load(closed)), (7, 7));
    }

    #[test]
    fn the_kernel_stores_a_word_or_refuses() {
        let (open, closed) = (
            page(libc::PROT_READ | libc::PROT_WRITE),
            page(libc::PROT_READ),
        );
        let value = store::store_checked as *const () as usize;
        assert!(store::store_checked(open, value));
        assert!(!store::store_checked(closed, value));
        assert_eq!((load(open), load(closed)), (value, 7));
        assert_eq!(load(open + 8), 0);
    }
}
