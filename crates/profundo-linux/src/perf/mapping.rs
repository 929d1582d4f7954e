//! A mapping, as the kernel reports it when it is made.

use profundo_scan::MapLine;

/// A mapping of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mapping {
    /// The first address.
    pub start: u64,
    /// The address behind it.
    pub end: u64,
    /// The place in the file where it begins.
    pub offset: u64,
    /// The file's device, as `major << 32 | minor`.
    pub device: u64,
    /// The number of the file on its device.
    pub inode: u64,
    /// The path that was mapped.
    pub path: Vec<u8>,
}

impl Mapping {
    /// The mapping as a line of `/proc/PID/maps`.
    pub fn line(&self) -> MapLine<'_> {
        MapLine {
            start: self.start,
            end: self.end,
            offset: self.offset,
            device: self.device,
            inode: self.inode,
            path: &self.path,
        }
    }

    /// Whether it overlaps a range.
    pub fn meets(&self, start: u64, end: u64) -> bool {
        self.start < end && start < self.end
    }
}
