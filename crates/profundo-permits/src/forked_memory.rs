//! Memory that the kernel empties in a forked child. All that the agent has is such memory: a child
//! that inherited its parent's state would write into its parent's recording.

use std::io;
use std::ptr;

use super::gap::{Finding, Gap, Verdict};

/// The gap where programs cannot be recorded from inside; `None` if they can.
pub fn without() -> Option<Gap> {
    of(try_it())
}

fn of(tried: io::Result<()>) -> Option<Gap> {
    let error = tried.err()?;
    Some(Gap::advice(
        format!(
            "this kernel cannot empty memory in a forked child (MADV_WIPEONFORK: {})",
            super::gap::error_text(&error)
        ),
        "Linux can since 4.14; gVisor cannot",
    ))
}

/// What `doctor` says of it, if there is something to say.
pub(super) fn check() -> Option<Finding> {
    let gap = without()?;
    let gap = Gap {
        why: format!("nothing can be recorded from inside: {}", gap.why),
        ..gap
    };
    Some(Finding::gap("agent", Verdict::Fails, gap))
}

/// Asks for a page of such memory.
fn try_it() -> io::Result<()> {
    const PAGE: usize = 4096;
    // SAFETY: a page of our own, which nothing else knows, is mapped, advised and unmapped.
    unsafe {
        let page = libc::mmap(
            ptr::null_mut(),
            PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let tried = match libc::madvise(page, PAGE, libc::MADV_WIPEONFORK) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        };
        libc::munmap(page, PAGE);
        tried
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_it_is_named() {
        assert_eq!(without(), None);
        let gap = of(Err(io::Error::from_raw_os_error(libc::EINVAL))).unwrap();
        let text = gap.to_string();
        assert!(text.contains("MADV_WIPEONFORK: invalid argument"), "{text}");
        assert!(text.contains("gVisor"), "{text}");
    }
}
