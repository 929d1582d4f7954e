//! The head of the list for debuggers in a library.
//!
//! The symbol is mostly a local one, in the middle of a large table. So the table of names is
//! searched first, and the rest is read only if it has the name.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use memchr::memmem;
use object::read::elf::{ElfFile64, FileHeader, SectionHeader};
use object::read::{Object, ObjectSymbol, ReadCache};
use object::{LittleEndian, elf};
use rustc_hash::FxHashMap;

const NAME: &str = "__jit_debug_descriptor";
/// A larger table of names belongs to no compiler.
const LARGEST: u64 = 256 << 20;

/// The findings of files, by device and inode: for all processes that map them.
#[derive(Debug, Default)]
pub struct Descriptors {
    known: FxHashMap<(u64, u64), Option<u64>>,
}

impl Descriptors {
    /// The address of the list's head in the file at `path`.
    pub(crate) fn find(&mut self, path: &Path) -> Option<u64> {
        let file = File::open(path).ok()?;
        let data = file.metadata().ok().filter(|data| data.is_file())?;
        let found = self.known.entry((data.dev(), data.ino()));
        *found.or_insert_with(|| search(file))
    }
}

fn search(file: File) -> Option<u64> {
    let cache = ReadCache::new(file);
    let file: ElfFile64<'_, LittleEndian, _> = ElfFile64::parse(&cache).ok()?;
    let endian = LittleEndian;
    let sections = file.elf_header().sections(endian, &cache).ok()?;
    let has_name = sections.iter().any(|section| {
        let is_names = section.sh_type(endian) == elf::SHT_STRTAB;
        is_names
            && section.sh_size(endian) <= LARGEST
            && section
                .data(endian, &cache)
                .is_ok_and(|names| memmem::find(names, NAME.as_bytes()).is_some())
    });
    if !has_name {
        return None;
    }
    let symbols = file.symbols().chain(file.dynamic_symbols());
    symbols
        .filter(|symbol| symbol.address() != 0)
        .find(|symbol| symbol.name() == Ok(NAME))
        .map(|symbol| symbol.address())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_have_none_are_asked_once() {
        let mut descriptors = Descriptors::default();
        let own = Path::new("/proc/self/exe");
        assert_eq!(descriptors.find(own), None);
        assert_eq!(descriptors.find(own), None);
        assert_eq!(descriptors.known.len(), 1);
        assert_eq!(descriptors.find(Path::new("/etc/passwd")), None);
        assert_eq!(descriptors.find(Path::new("/dev/zero")), None);
        assert_eq!(descriptors.find(Path::new("/nowhere")), None);
        assert_eq!(descriptors.known.len(), 2);
    }
}
