//! The kernel's list of tracepoints (tracefs), for the numbers by which perf events ask for them.
//!
//! It is read where it is mounted. Elsewhere root mounts it for this process alone: the mount has
//! no place in the tree of files and goes with its descriptor.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The usual places of the list.
pub const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The number of a tracepoint, such as `raw_syscalls/sys_exit`.
pub fn number_of(tracepoint: &str) -> io::Result<u64> {
    let path = format!("events/{tracepoint}/id");
    let mut refused = None;
    for place in PLACES {
        match std::fs::read_to_string(format!("{place}/{path}")) {
            Ok(text) => return parse(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => drop(refused.get_or_insert(error)),
        }
    }
    match refused {
        Some(error) => Err(error),
        None => parse(&read_in_own_mount(&path)?),
    }
}

fn parse(text: &str) -> io::Result<u64> {
    text.trim().parse().map_err(io::Error::other)
}

/// Reads a file of a mount of our own.
fn read_in_own_mount(path: &str) -> io::Result<String> {
    const CREATE: usize = 6;
    let path = std::ffi::CString::new(path)?;
    // SAFETY: the name is a constant that ends with a zero.
    let context = unsafe { libc::syscall(libc::SYS_fsopen, c"tracefs".as_ptr(), 1) };
    let context = owned(context)?;
    let no_text = std::ptr::null::<u8>();
    // SAFETY: this request takes no texts.
    let created = unsafe {
        let fd = context.as_raw_fd();
        libc::syscall(libc::SYS_fsconfig, fd, CREATE, no_text, no_text, 0)
    };
    if created < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a call without pointers.
    let mount = unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), 1, 0) };
    let mount = owned(mount)?;
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero.
    let file = unsafe { libc::openat(mount.as_raw_fd(), path.as_ptr(), flags) };
    let mut text = String::new();
    File::from(owned(file.into())?).read_to_string(&mut text)?;
    Ok(text)
}

/// The descriptor that a call has returned.
fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(result as i32) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tracepoint_has_a_number() {
        match number_of("raw_syscalls/sys_exit") {
            Ok(number) => assert!(number > 0),
            Err(error) => return profundo_testing::skip(&format!("no tracepoints: {error}")),
        }
        let unknown = number_of("raw_syscalls/no_such_event").unwrap_err();
        assert_eq!(unknown.kind(), io::ErrorKind::NotFound);
    }
}
