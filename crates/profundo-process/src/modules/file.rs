//! One file that is mapped into programs, and its compiled table.

use std::sync::OnceLock;

use profundo_unwind::{Table, compile_eh_frame, parse_eh_frame_hdr};

use super::elf::{Bytes, Elf, Section, Segment};
use super::interpreter;
use super::tables::{Place, Tables};

/// The compiled table of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compiled {
    /// The place of its rows; `None` if it has none.
    pub place: Option<Place>,
    /// The first executable address in the file, which rows count from.
    pub base: u64,
    /// The end of the last one.
    pub end: u64,
    /// The ranges of the interpreter's evaluation loop, if it is in this file.
    pub evaluation: Vec<(u64, u64)>,
    /// Whether it is a Go program.
    pub is_go: bool,
}

/// A file that is mapped.
#[derive(Debug)]
pub struct FileEntry {
    /// Its build id, or empty.
    pub build_id: Vec<u8>,
    /// The name of its table: the build id, or a hash of the file's identity, or empty.
    pub name: Vec<u8>,
    /// The segments that are mapped.
    pub loads: Vec<Segment>,
    /// The table, which takes a while to compile for a large file.
    pub compiled: OnceLock<Compiled>,
}

impl FileEntry {
    /// Whether the table is compiled.
    pub fn is_compiled(&self) -> bool {
        self.compiled.get().is_some()
    }

    /// The compiled table, or an empty one.
    pub fn compiled(&self) -> &Compiled {
        static NOTHING: Compiled = Compiled {
            place: None,
            base: 0,
            end: 0,
            evaluation: Vec::new(),
            is_go: false,
        };
        self.compiled.get().unwrap_or(&NOTHING)
    }

    /// The difference between addresses in memory and in the file, for a mapping that begins at
    /// this offset of the file.
    pub fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        const PAGE: u64 = 4096;
        let holds = |segment: &&Segment| {
            let first = segment.offset & !(PAGE - 1);
            let end = segment.offset.saturating_add(segment.in_file);
            (first..end.max(first + 1)).contains(&offset)
        };
        let is_code = |segment: &&Segment| segment.flags & libc::PF_X != 0;
        // Two segments may share a page of the file; the executable one is meant.
        let found = self.loads.iter().filter(is_code).find(holds);
        let segment = found.or_else(|| self.loads.iter().find(holds))?;
        let address = segment
            .address
            .wrapping_sub(segment.offset)
            .wrapping_add(offset);
        Some(start.wrapping_sub(address))
    }

    /// The first address and the end, in the file.
    pub fn extent(&self) -> (u64, u64) {
        let start = self.loads.iter().map(|segment| segment.address & !0xFFF);
        let end = self
            .loads
            .iter()
            .map(|segment| segment.address.saturating_add(segment.in_memory));
        (start.min().unwrap_or(0), end.max().unwrap_or(0))
    }
}

/// A table that was compiled but not yet placed in `tables`.
#[derive(Debug, Default)]
pub struct Prepared {
    table: Option<Table>,
    compiled: Compiled,
}

/// Compiles the table of a file. A file without one is walked by frame pointers.
pub fn prepare<B: Bytes>(elf: &Elf<B>) -> Prepared {
    let sections = elf.sections();
    let Some((base, end)) = elf.code() else {
        return Prepared::default();
    };
    let table = eh_frame(elf, &sections)
        .and_then(|(address, bytes)| compile_eh_frame(&bytes, address, None, base, base..end).ok())
        .filter(|table| !table.rows().is_empty());
    Prepared {
        table,
        compiled: Compiled {
            place: None,
            base,
            end,
            evaluation: interpreter::evaluation(elf, &sections),
            is_go: is_go(&sections),
        },
    }
}

impl Prepared {
    /// Places the table where programs find it, under this name.
    pub fn place(self, name: &[u8], tables: &mut Tables) -> Compiled {
        let table = self.table.as_ref();
        let (rows, index) = table.map_or((&[][..], &[][..]), |table| (table.rows(), table.index()));
        tables.add(name, self.compiled, rows, index)
    }
}

/// Whether the sections are a Go program's.
pub fn is_go(sections: &[Section]) -> bool {
    sections
        .iter()
        .any(|section| [&b".go.buildinfo"[..], b".gopclntab"].contains(&&*section.name))
}

/// `.eh_frame` and its address, found by its name, which static programs without a header need, or
/// through the header, which files without section names have.
fn eh_frame<B: Bytes>(elf: &Elf<B>, sections: &[Section]) -> Option<(u64, Vec<u8>)> {
    let named = sections.iter().find(|section| section.name == b".eh_frame");
    if let Some(section) = named
        && let Some(bytes) = elf.contents(section)
    {
        return Some((section.address, bytes));
    }
    let header = elf
        .segments
        .iter()
        .find(|segment| segment.kind == libc::PT_GNU_EH_FRAME)?;
    let bytes = elf.bytes_at(header.address)?;
    let address = parse_eh_frame_hdr(&bytes, header.address).ok()?;
    // It ends at its terminator, or at the end of its segment.
    Some((address, elf.bytes_at(address)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::table_cache;
    use profundo_session::Directory;
    use std::fs::{self, File};

    #[test]
    fn a_file_is_compiled_as_it_lies_on_disk() {
        let directory = Directory::create(None).unwrap();
        let cache = directory.path().join("cache");
        let mut tables = table_cache::open(directory.path(), Some(&cache)).unwrap();
        let elf = Elf::read(File::open("/proc/self/exe").unwrap()).unwrap();
        let compiled = prepare(&elf).place(&elf.build_id(), &mut tables);
        let table = tables.get(compiled.place.unwrap(), compiled.base);
        assert!(table.rows.len() > 1000);
        let mut main = None;
        elf.functions(&elf.sections(), |symbol| {
            if symbol.name == b"main" {
                main = Some(symbol.address);
            }
        });
        table.find(main.unwrap()).expect("rows for `main`");
        assert!(compiled.evaluation.is_empty());
        let _ = fs::remove_dir_all(cache);
    }
}
