//! The addresses of a mapped file. A mapping says which part of the file it shows; the file's own
//! program headers say which addresses that part has.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::program_files::is_same_build_id;

/// Executable files of other kinds, and pipes, are not opened.
const MAGIC: &[u8] = b"\x7fELF";

/// A part of a file, and its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    offset: u64,
    size: u64,
    address: u64,
}

/// The segments of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Segments(Vec<Segment>);

impl Segments {
    /// Reads them from the file at this path; `None` if it cannot be read, or has another build
    /// id.
    pub(super) fn of_file(path: &Path, build_id: &[u8]) -> Option<Self> {
        /// The headers and the notes stand at the start.
        const START: u64 = 64 << 10;
        if !path.metadata().is_ok_and(|about| about.is_file()) {
            return None;
        }
        let mut start = Vec::new();
        let file = File::open(path).ok()?;
        file.take(START).read_to_end(&mut start).ok()?;
        Self::parse(&start, build_id)
    }

    fn parse(start: &[u8], build_id: &[u8]) -> Option<Self> {
        const LOAD: u64 = 1;
        const EXECUTE: u64 = 1;
        const NOTE: u64 = 4;
        if !start.starts_with(MAGIC) {
            return None;
        }
        let is_long = *start.get(4)? == 2;
        let is_big = *start.get(5)? == 2;
        let number = |at: usize, size: usize| {
            let bytes = start.get(at..at.checked_add(size)?)?;
            let add = |sum: u64, &byte: &u8| sum << 8 | u64::from(byte);
            Some(match is_big {
                true => bytes.iter().fold(0, add),
                false => bytes.iter().rev().fold(0, add),
            })
        };
        let word = if is_long { 8 } else { 4 };
        // The place of the table, the size of a row, and their number.
        let (table, row, rows) = match is_long {
            true => (number(32, 8)?, number(54, 2)?, number(56, 2)?),
            false => (number(28, 4)?, number(42, 2)?, number(44, 2)?),
        };
        // Rows of no size would be one row, read again and again.
        if row < if is_long { 56 } else { 32 } {
            return None;
        }
        let mut segments = Vec::new();
        for index in 0..rows {
            let at = usize::try_from(table.checked_add(index.checked_mul(row)?)?).ok()?;
            let kind = number(at, 4)?;
            // The offset, the address and the size in the file.
            let fields = match is_long {
                true => [at + 8, at + 16, at + 32],
                false => [at + 4, at + 8, at + 16],
            };
            let [offset, address, size] = fields.map(|at| number(at, word));
            let segment = Segment {
                offset: offset?,
                size: size?,
                address: address?,
            };
            let flags = number(if is_long { at + 4 } else { at + 24 }, 4)?;
            match kind {
                // Only code is asked for, whose page may be that of data as well.
                LOAD if flags & EXECUTE != 0 => segments.push(segment),
                NOTE if !build_id.is_empty() => {
                    let at = usize::try_from(segment.offset).ok()?;
                    let size = usize::try_from(segment.size).ok()?;
                    let notes = start.get(at..at.checked_add(size)?).unwrap_or_default();
                    if build_id_in(notes).is_some_and(|found| !is_same_build_id(found, build_id)) {
                        return None;
                    }
                }
                _ => {}
            }
        }
        Some(Self(segments))
    }

    /// The address of the byte at this offset. Without segments it is the offset.
    pub(super) fn address(&self, offset: u64) -> u64 {
        /// Mappings begin where a page does.
        const PAGE: u64 = 0xfff;
        let has = |segment: &&Segment| {
            let start = segment.offset & !PAGE;
            let end = segment.offset.saturating_add(segment.size);
            (start..end).contains(&offset)
        };
        // The page before a segment may be that of the segment before it as well.
        let found = self.0.iter().rfind(has);
        found.map_or(offset, |segment| {
            (segment.address.wrapping_sub(segment.offset)).wrapping_add(offset)
        })
    }
}

/// The build id in ELF notes.
pub(super) fn build_id_in(notes: &[u8]) -> Option<&[u8]> {
    const BUILD_ID: u32 = 3;
    let mut rest = notes;
    loop {
        let (head, behind) = rest.split_at_checked(12)?;
        let word = |at: usize| {
            let bytes = head.get(at..at + 4)?.try_into().ok()?;
            Some(u32::from_ne_bytes(bytes))
        };
        let (name, size, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let (name, behind) = behind.split_at_checked(name.checked_next_multiple_of(4)?)?;
        let id = behind.get(..size)?;
        if kind == BUILD_ID && name == b"GNU\0" {
            return Some(id);
        }
        rest = behind.get(size.checked_next_multiple_of(4)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_has_the_address_of_its_segment() {
        let segment = |offset, size, address| Segment {
            offset,
            size,
            address,
        };
        let segments = Segments(vec![
            segment(0, 0x1234, 0x40_0000),
            segment(0x1234, 0x5000, 0x40_2234),
        ]);
        assert_eq!(segments.address(0x10), 0x40_0010);
        assert_eq!(segments.address(0x1000), 0x40_2000);
        assert_eq!(segments.address(0x9_0000), 0x9_0000);
        assert_eq!(Segments::default().address(7), 7);
    }

    #[test]
    fn our_own_file_has_segments() {
        let own = std::env::current_exe().unwrap();
        let segments = Segments::of_file(&own, &[]).unwrap();
        assert!(!segments.0.is_empty());
        assert!(Segments::of_file(Path::new("/dev/zero"), &[]).is_none());
        let other = Segments::of_file(&own, &[1; 20]).unwrap_or_default();
        assert!(other.0.is_empty() || !segments.0.is_empty());
    }
}
