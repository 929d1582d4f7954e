//! The agent without its exports for allocations.
//!
//! A library that exports `malloc` is called for each block of the program, so an agent that does
//! nothing there would still have a cost. The loader skips undefined entries of the symbol table,
//! as it does for a library's imports.

use object::elf::{FileHeader64, SHT_DYNSYM, Sym64};
use object::endian::LittleEndian;
use object::read::elf::{FileHeader, SectionHeader, Sym};

type Header = FileHeader64<LittleEndian>;

/// A library without these of its exported symbols. `None` if it is no ELF library, or lacks one of
/// them.
pub fn without(library: &[u8], names: &[&str]) -> Option<Vec<u8>> {
    let header = Header::parse(library).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, library).ok()?;
    let table = sections.symbols(endian, library, SHT_DYNSYM).ok()?;
    let section = sections.section(table.section()).ok()?;
    let start = usize::try_from(section.sh_offset(endian)).ok()?;
    let mut hidden = library.to_vec();
    let mut left: Vec<&str> = names.to_vec();
    for (index, symbol) in table.iter().enumerate() {
        let name = symbol.name(endian, table.strings()).ok()?;
        let Some(at) = left.iter().position(|wanted| wanted.as_bytes() == name) else {
            continue;
        };
        left.swap_remove(at);
        let entry = start + index * size_of::<Sym64<LittleEndian>>();
        let entry = hidden.get_mut(entry..entry + size_of::<Sym64<LittleEndian>>())?;
        // Behind the name, the kind and the visibility: the section, the value and the size.
        entry.get_mut(6..)?.fill(0);
    }
    left.is_empty().then_some(hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_is_refused() {
        assert_eq!(without(b"", &[]), None);
        assert_eq!(without(&[0x7f; 4096], &[]), None);
    }
}
