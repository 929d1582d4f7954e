//! One file that is mapped into programs, and its compiled table.

use std::sync::OnceLock;

use profundo_unwind::{Table, compile_eh_frame, parse_eh_frame_hdr};

use super::elf::{Bytes, Elf, Section, Segment};
use super::interpreter;
use super::tables::{Place, Tables};

/// What was compiled of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Compiled {
    /// Where its rows are; `None` if it has none.
    pub(crate) place: Option<Place>,
    /// The first executable address in the file, which rows count from.
    pub(crate) base: u64,
    /// The end of the last one.
    pub(crate) end: u64,
    /// Where the interpreter's evaluation loop is, if it is in this file.
    pub(crate) evaluation: Vec<(u64, u64)>,
    /// Whether it is a Go program.
    pub(crate) is_go: bool,
}

/// A file that is mapped.
#[derive(Debug)]
pub(crate) struct FileEntry {
    /// Its build id, or empty.
    pub(crate) build_id: Vec<u8>,
    /// What its table is known by: the build id, or else what tells it from other files; or empty.
    pub(crate) name: Vec<u8>,
    /// The segments that are mapped.
    pub(crate) loads: Vec<Segment>,
    /// Its table, which for a large file takes a while.
    pub(crate) compiled: OnceLock<Compiled>,
}

impl FileEntry {
    /// Whether that is all.
    pub(crate) fn is_compiled(&self) -> bool {
        self.compiled.get().is_some()
    }

    /// What is compiled of it so far: all, or nothing yet.
    pub(crate) fn compiled(&self) -> &Compiled {
        static NOTHING: Compiled = Compiled {
            place: None,
            base: 0,
            end: 0,
            evaluation: Vec::new(),
            is_go: false,
        };
        self.compiled.get().unwrap_or(&NOTHING)
    }

    /// How far from the addresses in the file a mapping lies that begins at this offset of it.
    pub(crate) fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        const PAGE: u64 = 4096;
        let holds = |segment: &&Segment| {
            let first = segment.offset & !(PAGE - 1);
            let end = segment.offset.saturating_add(segment.in_file);
            (first..end.max(first + 1)).contains(&offset)
        };
        let is_code = |segment: &&Segment| segment.flags & libc::PF_X != 0;
        // Two segments may share a page of the file; then the executable one is meant.
        let found = self.loads.iter().filter(is_code).find(holds);
        let segment = found.or_else(|| self.loads.iter().find(holds))?;
        let address = segment
            .address
            .wrapping_sub(segment.offset)
            .wrapping_add(offset);
        Some(start.wrapping_sub(address))
    }

    /// The first address and the end, in the file.
    pub(crate) fn extent(&self) -> (u64, u64) {
        let start = self.loads.iter().map(|segment| segment.address & !0xFFF);
        let end = self
            .loads
            .iter()
            .map(|segment| segment.address.saturating_add(segment.in_memory));
        (start.min().unwrap_or(0), end.max().unwrap_or(0))
    }
}

/// What was read of a file and is not in `tables` yet.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    table: Option<Table>,
    compiled: Compiled,
}

/// Compiles the table of a file. A file without one is walked by frame pointers.
pub(crate) fn prepare<B: Bytes>(elf: &Elf<B>) -> Prepared {
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
    /// Puts the table where programs find it, and where it is found by that name.
    pub(crate) fn place(self, name: &[u8], tables: &mut Tables) -> Compiled {
        let table = self.table.as_ref();
        let (rows, index) = table.map_or((&[][..], &[][..]), |table| (table.rows(), table.index()));
        tables.add(name, self.compiled, rows, index)
    }
}

/// Whether these are the sections of a Go program.
pub(crate) fn is_go(sections: &[Section]) -> bool {
    sections
        .iter()
        .any(|section| [&b".go.buildinfo"[..], b".gopclntab"].contains(&&*section.name))
}

/// `.eh_frame` and its address: by its name, which static programs without a header need, or by
/// the header, which files without names have.
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
    // It ends at its terminator, at the latest with its segment.
    Some((address, elf.bytes_at(address)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::shelf;
    use crate::session::Directory;
    use std::fs::{self, File};

    #[test]
    fn a_file_is_compiled_as_it_lies_on_disk() {
        let directory = Directory::create(None).unwrap();
        let cache = directory.path().join("cache");
        let mut tables = shelf::open(directory.path(), Some(&cache)).unwrap();
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
        assert!(table.find(main.unwrap()).is_some());
        assert!(compiled.evaluation.is_empty());
        let _ = fs::remove_dir_all(cache);
    }
}
