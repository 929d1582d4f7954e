//! The agent for programs of glibc and of musl.
//!
//! It is linked with glibc, and calls only what both have. musl's loader takes the library that is
//! named `libc.so.6` for its own, and ignores the versions of symbols. It would look in vain for
//! glibc's loader, which a library names as well if it has thread-local variables. In a program of
//! glibc that is loaded anyway, so the agent need not name it.

use object::elf::{DT_NEEDED, Dyn64, FileHeader64, SHT_DYNAMIC};
use object::endian::LittleEndian;
use object::read::elf::{Dyn, FileHeader, SectionHeader};

type Header = FileHeader64<LittleEndian>;
const ENTRY: usize = size_of::<Dyn64<LittleEndian>>();

/// Removes glibc's loader from the libraries that a library needs. `None` if it is no ELF library.
pub fn forget_loader(library: &mut [u8]) -> Option<()> {
    let (start, count, loader) = entries(library)?;
    let Some(loader) = loader else {
        return Some(());
    };
    let end = start.checked_add(count.checked_mul(ENTRY)?)?;
    let rest = start + (loader + 1) * ENTRY;
    library.get(start..end)?;
    // Those behind it move up, and the last one, which ends the list, stays there too.
    library.copy_within(rest..end, rest - ENTRY);
    Some(())
}

/// The place and the number of the entries of the dynamic section, and the index of the one that
/// names glibc's loader.
fn entries(library: &[u8]) -> Option<(usize, usize, Option<usize>)> {
    let header = Header::parse(library).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, library).ok()?;
    let section = sections
        .iter()
        .find(|section| section.sh_type(endian) == SHT_DYNAMIC)?;
    let (entries, link) = section.dynamic(endian, library).ok()??;
    let strings = sections.strings(endian, library, link).ok()?;
    let names_loader = |entry: &Dyn64<LittleEndian>| {
        let is_library = entry.d_tag(endian) == DT_NEEDED;
        let name = is_library.then(|| entry.string(endian, strings).ok())?;
        name.filter(|name| name.starts_with(b"ld-linux"))
    };
    let loader = entries
        .iter()
        .position(|entry| names_loader(entry).is_some());
    let start = usize::try_from(section.sh_offset(endian)).ok()?;
    Some((start, entries.len(), loader))
}
