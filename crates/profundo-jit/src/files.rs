//! The files that a process has left for us, opened with care: they lie in public directories,
//! under names that are easy to guess.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Bytes that are read by offset.
pub trait Bytes {
    /// Reads from an offset; returns the number of bytes read.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> usize;

    /// True if there are at least `end` bytes.
    fn reaches(&self, end: u64) -> bool;
}

impl Bytes for File {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> usize {
        let mut read = 0;
        while let Some(rest) = out.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match FileExt::read_at(self, rest, offset + read as u64) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        read
    }

    fn reaches(&self, end: u64) -> bool {
        self.metadata().is_ok_and(|data| data.len() >= end)
    }
}

impl Bytes for [u8] {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> usize {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = self.get(from..).unwrap_or_default();
        let count = bytes.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..count), bytes.get(..count)) {
            to.copy_from_slice(from);
        }
        count
    }

    fn reaches(&self, end: u64) -> bool {
        self.len() as u64 >= end
    }
}

/// Our path to a file that the process knows as `path`.
pub(crate) fn in_process(pid: u32, path: &Path) -> PathBuf {
    let inside = path.strip_prefix("/").unwrap_or(path);
    Path::new("/proc")
        .join(pid.to_string())
        .join("root")
        .join(inside)
}

/// The process's id in its own namespace.
pub(crate) fn namespace_pid(pid: u32) -> Option<u32> {
    let status = fs::read(format!("/proc/{pid}/status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().next_back()?.parse().ok()
}

/// The user that the process runs as.
pub(crate) fn owner(pid: u32) -> Option<u32> {
    fs::metadata(format!("/proc/{pid}"))
        .ok()
        .map(|data| data.uid())
}

/// The time of the process's fork; its program may have started later.
pub(crate) fn began(pid: u32) -> Option<SystemTime> {
    /// The unit of times in `/proc`, whatever the kernel's own tick.
    const TICKS_PER_SECOND: f64 = 100.0;
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in brackets, which may contain anything.
    let end = text.iter().rposition(|&byte| byte == b')')?;
    let text = String::from_utf8_lossy(text.get(end + 1..)?);
    let ticks: f64 = text.split_ascii_whitespace().nth(19)?.parse().ok()?;
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let uptime: f64 = uptime.split_ascii_whitespace().next()?.parse().ok()?;
    let ago = (uptime - ticks / TICKS_PER_SECOND).max(0.0);
    SystemTime::now().checked_sub(Duration::try_from_secs_f64(ago).ok()?)
}

/// Opens a file written by root or one of the `owners`.
pub(crate) fn open(path: &Path, owners: &[u32]) -> Option<File> {
    // The path may be a link elsewhere, or a pipe without a writer.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .ok()?;
    let data = file.metadata().ok()?;
    let is_theirs = data.uid() == 0 || owners.contains(&data.uid());
    (data.is_file() && is_theirs).then_some(file)
}

/// The user that we run as.
pub(crate) fn current_user() -> u32 {
    fs::metadata("/proc/self").map_or(u32::MAX, |data| data.uid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_begun_not_long_ago() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let began = began(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let off = match SystemTime::now().duration_since(began) {
            Ok(ago) => ago,
            Err(early) => early.duration(),
        };
        assert!(off < Duration::from_secs(30), "{off:?}");
        assert_eq!(super::began(u32::MAX), None);
        assert_eq!(namespace_pid(std::process::id()), Some(std::process::id()));
        assert_eq!(owner(std::process::id()), Some(current_user()));
    }
}
