//! The file `tables`: rows and indexes of all modules, one after another. What was once put there
//! stays, so an agent never meets a table that changes.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::slice;

use profundo_probe::shared::{TABLE_BYTES, file};
use profundo_unwind::{Row, TableRef};

use crate::map::{SharedMap, allocate};

/// Memory is allocated in such steps, the first ones before any program waits for its tables. Most
/// of what a recording of a short program costs is memory, so there is little to spare at first.
const STEP: usize = 1 << 16;
const FIRST: usize = 1 << 18;
/// How much is kept ready once a recording has gone on for a while.
const SPARE: usize = 1 << 20;

/// Where a table lies in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Where the rows are, and how many.
    pub(crate) rows: (u32, u32),
    /// Where the index is, and how many entries it has.
    pub(crate) index: (u32, u32),
}

impl Place {
    /// Where it ends in the file.
    pub(crate) fn end(&self) -> u64 {
        u64::from(self.index.0) + 4 * u64::from(self.index.1)
    }
}

/// The file.
#[derive(Debug)]
pub(crate) struct Tables {
    file: File,
    map: SharedMap,
    used: usize,
    allocated: usize,
    /// The first eight bytes, unlike those of any other session: a process in whose memory they
    /// are is still the program that mapped the file.
    pub(crate) mark: u64,
    /// Why a table could not be kept.
    pub(crate) trouble: Option<io::Error>,
}

impl Tables {
    pub(crate) fn create(directory: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(directory.join(file::TABLES))?;
        file.set_len(TABLE_BYTES as u64)?;
        let map = SharedMap::new(&file, TABLE_BYTES)?;
        allocate(&file, 0, FIRST)?;
        let mark = profundo_probe::clock::now() ^ u64::from(std::process::id()) << 40 | 1;
        // SAFETY: the memory is allocated, aligned, and nobody else has mapped it yet.
        unsafe { map.as_ptr().cast::<u64>().write(mark) };
        Ok(Self {
            file,
            map,
            // Place 0 is nowhere; the mark is there.
            used: 64,
            mark,
            allocated: FIRST,
            trouble: None,
        })
    }

    /// Makes room for a table and has it filled in; its bytes are the rows', then the index's.
    /// `None`: there is no room, or `fill` says that there is no table.
    pub(crate) fn add(
        &mut self,
        rows: usize,
        entries: usize,
        fill: impl FnOnce(&mut [u8]) -> bool,
    ) -> Option<Place> {
        let row_bytes = rows.checked_mul(Row::BYTES)?;
        let bytes = row_bytes.checked_add(entries.checked_mul(4)?)?;
        let start = self.used.next_multiple_of(64);
        let end = start.checked_add(bytes).filter(|&end| end <= TABLE_BYTES)?;
        if end > self.allocated {
            let until = end.next_multiple_of(STEP).min(TABLE_BYTES);
            // Writing to a hole would be deadly where the disk is full.
            if let Err(error) = allocate(&self.file, self.allocated, until - self.allocated) {
                self.trouble = Some(error);
                return None;
            }
            self.allocated = until;
        }
        // SAFETY: the range lies in the mapping and its memory is allocated. Nobody reads it
        // before it is used, which is after this.
        let target = unsafe { slice::from_raw_parts_mut(self.map.as_ptr().add(start), bytes) };
        if !fill(target) {
            return None;
        }
        self.used = end;
        Some(Place {
            rows: (start as u32, rows as u32),
            index: ((start + row_bytes) as u32, entries as u32),
        })
    }

    /// Makes room for what comes next, when nobody waits.
    pub(crate) fn provide(&mut self) {
        let until = (self.used + SPARE).next_multiple_of(STEP).min(TABLE_BYTES);
        if until > self.allocated
            && allocate(&self.file, self.allocated, until - self.allocated).is_ok()
        {
            self.allocated = until;
        }
    }

    /// A table for our own walks, by code that was compiled for `base`.
    pub(crate) fn get(&self, place: Place, base: u64) -> TableRef<'_> {
        // SAFETY: `add` made the place; rows are plain numbers that may have any value, and both
        // addresses are multiples of four.
        unsafe {
            let at = |offset: u32| self.map.as_ptr().add(offset as usize);
            let rows = slice::from_raw_parts(at(place.rows.0).cast::<Row>(), place.rows.1 as usize);
            let index = at(place.index.0).cast::<u32>();
            TableRef {
                base,
                rows,
                index: slice::from_raw_parts(index, place.index.1 as usize),
            }
        }
    }
}

/// The bytes of rows.
pub(crate) fn row_bytes(rows: &[Row]) -> &[u8] {
    // SAFETY: a row is 12 bytes without padding.
    unsafe { slice::from_raw_parts(rows.as_ptr().cast(), size_of_val(rows)) }
}

/// The bytes of an index.
pub(crate) fn index_bytes(index: &[u32]) -> &[u8] {
    // SAFETY: numbers have no padding.
    unsafe { slice::from_raw_parts(index.as_ptr().cast(), size_of_val(index)) }
}

const _: () = assert!(size_of::<Row>() == Row::BYTES && align_of::<Row>() == 4);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Directory;
    use profundo_unwind::Rule;

    #[test]
    fn a_table_is_found_where_it_was_put() {
        let directory = Directory::create(None).unwrap();
        let mut tables = Tables::create(directory.path()).unwrap();
        let rows = [Row::new(0, Rule::sp(8)), Row::new(9, Rule::NONE)];
        let index = [0_u32, 2];
        for _ in 0..3 {
            let place = tables.add(2, 2, |out| {
                let (first, second) = out.split_at_mut(24);
                first.copy_from_slice(row_bytes(&rows));
                second.copy_from_slice(index_bytes(&index));
                true
            });
            let table = tables.get(place.unwrap(), 0x1000);
            assert_eq!(table.find(0x1005), Some(rows[0]));
        }
        assert_eq!(tables.add(usize::MAX, 1, |_| true), None);
        assert_eq!(tables.add(TABLE_BYTES, 1, |_| true), None);
        assert_eq!(tables.add(1, 1, |_| false), None);
    }
}
