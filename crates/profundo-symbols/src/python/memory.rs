//! The data of a file after loading, with the pointers that the file itself keeps as relocations.
//!
//! Addresses are the file's own, so a pointer to a function is the address of its symbol.

use std::borrow::Cow;
use std::ops::Range;

use object::{
    Object, ObjectKind, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationFlags,
    RelocationTarget, SectionFlags, SectionKind, elf,
};

/// A section that is in memory.
#[derive(Debug)]
struct Section<'data> {
    start: u64,
    bytes: Cow<'data, [u8]>,
    /// True if the section may contain pointers.
    has_pointers: bool,
}

/// The loaded memory of a file, without the code.
#[derive(Debug)]
pub(super) struct Memory<'data> {
    /// By their addresses.
    sections: Vec<Section<'data>>,
    /// From the first section's start to the last one's end.
    bounds: Range<u64>,
    /// The ranges of code, by address.
    code: Vec<(u64, u64)>,
}

impl Section<'_> {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes.len() as u64)
    }
}

const WORD: u64 = 8;

impl<'data> Memory<'data> {
    /// `None` where pointers are not eight bytes, least significant first.
    pub(super) fn of(file: &object::File<'data>) -> Option<Self> {
        if !file.is_64() || !file.is_little_endian() {
            return None;
        }
        // A position-independent file has pointers only where the loader writes.
        let is_fixed = file.kind() == ObjectKind::Executable;
        let mut sections = Vec::new();
        let mut code = Vec::new();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
                continue;
            };
            if sh_flags & elf::SHF_ALLOC != elf::SHF_ALLOC {
                continue;
            }
            let start = section.address();
            if sh_flags & elf::SHF_EXECINSTR == elf::SHF_EXECINSTR {
                code.push((start, start.saturating_add(section.size())));
                continue;
            }
            let is_unwinding = section.name().is_ok_and(|name| name.starts_with(".eh_"));
            let is_data = matches!(
                section.kind(),
                SectionKind::Data | SectionKind::ReadOnlyData | SectionKind::ReadOnlyString
            );
            if is_data && !is_unwinding {
                let is_written = sh_flags & elf::SHF_WRITE == elf::SHF_WRITE;
                sections.push(Section {
                    start,
                    bytes: Cow::Borrowed(section.data().unwrap_or_default()),
                    has_pointers: is_written || is_fixed,
                });
            }
        }
        sections.sort_by_key(|section| section.start);
        code.sort_unstable();
        let first = sections.first().map_or(0, |section| section.start);
        let end = sections.last().map_or(0, Section::end);
        let mut this = Self {
            sections,
            bounds: first..end,
            code,
        };
        this.relocate(file);
        Some(this)
    }

    /// Applies the relocations within this file.
    fn relocate(&mut self, file: &object::File<'data>) {
        let symbols = file.dynamic_symbol_table();
        for (place, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                continue;
            };
            let addend = relocation.addend();
            let value = match (file.architecture(), r_type) {
                (object::Architecture::X86_64, elf::R_X86_64_RELATIVE)
                | (object::Architecture::Aarch64, elf::R_AARCH64_RELATIVE) => addend as u64,
                (
                    object::Architecture::X86_64,
                    elf::R_X86_64_64 | elf::R_X86_64_GLOB_DAT | elf::R_X86_64_JUMP_SLOT,
                )
                | (
                    object::Architecture::Aarch64,
                    elf::R_AARCH64_ABS64 | elf::R_AARCH64_GLOB_DAT | elf::R_AARCH64_JUMP_SLOT,
                ) => {
                    let RelocationTarget::Symbol(index) = relocation.target() else {
                        continue;
                    };
                    let symbol = symbols
                        .as_ref()
                        .and_then(|table| table.symbol_by_index(index).ok());
                    match symbol {
                        Some(symbol) if symbol.is_definition() => {
                            symbol.address().wrapping_add_signed(addend)
                        }
                        _ => 0,
                    }
                }
                _ => continue,
            };
            if let Some(bytes) = self.place(place) {
                *bytes = value.to_le_bytes();
            }
        }
    }

    fn index(&self, address: u64) -> Option<usize> {
        let after = self
            .sections
            .partition_point(|section| section.start <= address);
        after.checked_sub(1)
    }

    fn place(&mut self, address: u64) -> Option<&mut [u8; WORD as usize]> {
        let index = self.index(address)?;
        let section = &mut self.sections[index];
        let offset = usize::try_from(address - section.start).ok()?;
        section.bytes.to_mut().get_mut(offset..)?.first_chunk_mut()
    }

    fn bytes_at(&self, address: u64) -> Option<&[u8]> {
        let section = &self.sections[self.index(address)?];
        let offset = usize::try_from(address - section.start).ok()?;
        section.bytes.get(offset..)
    }

    /// The word at an address.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let bytes = self.bytes_at(address)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Whether there is data at an address.
    pub(super) fn has(&self, address: u64) -> bool {
        self.bounds.contains(&address)
            && self
                .bytes_at(address)
                .is_some_and(|bytes| !bytes.is_empty())
    }

    /// Whether there is code at an address.
    pub(super) fn is_code(&self, address: u64) -> bool {
        let after = self.code.partition_point(|(start, _)| *start <= address);
        after
            .checked_sub(1)
            .is_some_and(|index| address < self.code[index].1)
    }

    /// The name at an address: identifiers with points between them.
    pub(super) fn name(&self, address: u64) -> Option<&str> {
        const LONGEST: usize = 200;
        let bytes = self.bytes_at(address)?;
        let bytes = &bytes[..bytes.len().min(LONGEST)];
        let end = bytes.iter().position(|byte| !is_of_a_name(*byte))?;
        if end == 0 || bytes[end] != 0 || bytes[0].is_ascii_digit() {
            return None;
        }
        std::str::from_utf8(&bytes[..end]).ok()
    }

    /// Each aligned pointer to data, with its own address, in order.
    pub(super) fn pointers(&self) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        for section in self.sections.iter().filter(|section| section.has_pointers) {
            let first = section.start.next_multiple_of(WORD);
            let skipped = (first - section.start) as usize;
            let bytes = section.bytes.get(skipped..).unwrap_or_default();
            let words = bytes.as_chunks::<{ WORD as usize }>().0.iter();
            let words = (first..).step_by(WORD as usize).zip(words);
            let words = words.map(|(at, bytes)| (at, u64::from_le_bytes(*bytes)));
            found.extend(words.filter(|(_, word)| self.has(*word)));
        }
        found
    }
}

fn is_of_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.'
}
