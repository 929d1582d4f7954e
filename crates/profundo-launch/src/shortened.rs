//! Files that another process shortens while they are mapped: a ring that the program under test
//! truncates, a library that is installed anew. A page beyond the end raises SIGBUS, which would
//! end the command. A page of zeros is put in its place, and readers find damage that they know.

use std::mem::{MaybeUninit, zeroed};
use std::ptr;

/// The kernel's code for a page that no longer exists: beyond the end of its file.
const BUS_ADRERR: i32 = 2;
/// No page is smaller, and a mapping begins at a multiple of any page's size.
const LEAST_PAGE: usize = 4096;

/// Replaces vanished pages from now on, unless the command was started with the signal ignored.
pub fn outlive_shortened_files() {
    // SAFETY: zeroed structures are valid ones to be filled in; the handler is of the kind that
    // the flag says, and calls nothing but the kernel.
    unsafe {
        let mut before = MaybeUninit::<libc::sigaction>::uninit();
        if libc::sigaction(libc::SIGBUS, ptr::null(), before.as_mut_ptr()) != 0 {
            return;
        }
        // Rust's own handler of overflowing stacks takes this signal, too, and calls nothing
        // before. A program that is executed does not inherit handlers, but what is ignored.
        if before.assume_init().sa_sigaction == libc::SIG_IGN {
            return;
        }
        let mut action: libc::sigaction = zeroed();
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = replace;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGBUS, &action, ptr::null_mut());
    }
}

/// The handler: zeros in place of the page. If that is refused, the signal ends the process when
/// the access is repeated.
extern "C" fn replace(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes its own structure. The page was mapped from a file that has become
    // shorter, so nothing is lost by another mapping in its place.
    unsafe {
        let is_gone = (*info).si_code == BUS_ADRERR;
        let page = ((*info).si_addr() as usize) & !(page_size() - 1);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let place = ptr::without_provenance_mut(page);
        let is_put =
            is_gone && libc::mmap(place, page_size(), protection, flags, -1, 0) != libc::MAP_FAILED;
        if !is_put {
            super::inherited::dispose(signal, false);
        }
    }
}

fn page_size() -> usize {
    // SAFETY: asks for a number, which the C library knows.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(LEAST_PAGE).max(LEAST_PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_page_that_has_gone_reads_as_zeros() {
        outlive_shortened_files();
        let folder = profundo_testing::Folder::new("shortened");
        let path = folder.write("file", vec![7_u8; 3 * page_size()]);
        let file = File::options().read(true).write(true).open(path).unwrap();
        // SAFETY: a new mapping of a file that is as long, read and written within its bounds.
        unsafe {
            let start = libc::mmap(
                ptr::null_mut(),
                3 * page_size(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            );
            assert_ne!(start, libc::MAP_FAILED);
            let second = start.cast::<u8>().add(page_size());
            assert_eq!(second.read_volatile(), 7);
            file.set_len(page_size() as u64).unwrap();
            assert_eq!(second.read_volatile(), 0);
            second.write_volatile(9);
            assert_eq!(second.read_volatile(), 9);
            assert_eq!(start.cast::<u8>().read_volatile(), 7);
            libc::munmap(start, 3 * page_size());
        }
    }
}
