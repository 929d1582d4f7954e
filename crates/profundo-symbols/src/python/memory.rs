//! The data of a file as it is once the program is loaded: pointers are there that the file itself keeps as relocations.
//!
//! Addresses are the file's own, so a pointer to a function is the address that its symbol would have.

use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationFlags, RelocationTarget,
    SectionFlags, SectionKind, elf,
};

/// A section that is in memory.
#[derive(Debug)]
struct Section {
    start: u64,
    bytes: Vec<u8>,
}

/// What is in memory of a file, without the code.
#[derive(Debug)]
pub(super) struct Memory {
    /// By their addresses.
    sections: Vec<Section>,
    /// Where there is code, by address.
    code: Vec<(u64, u64)>,
}

const WORD: u64 = 8;

impl Memory {
    /// `None` where pointers do not have eight bytes, the least significant one first.
    pub(super) fn of(file: &object::File<'_>) -> Option<Self> {
        if !file.is_64() || !file.is_little_endian() {
            return None;
        }
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
                let bytes = section.data().unwrap_or_default().to_vec();
                sections.push(Section { start, bytes });
            }
        }
        sections.sort_by_key(|section| section.start);
        code.sort_unstable();
        let mut this = Self { sections, code };
        this.relocate(file);
        Some(this)
    }

    /// Writes what the loader would write, as far as it is in this file.
    fn relocate(&mut self, file: &object::File<'_>) {
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
                        .and_then(|it| it.symbol_by_index(index).ok());
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
        let after = self.sections.partition_point(|it| it.start <= address);
        after.checked_sub(1)
    }

    fn place(&mut self, address: u64) -> Option<&mut [u8; WORD as usize]> {
        let index = self.index(address)?;
        let section = &mut self.sections[index];
        let offset = usize::try_from(address - section.start).ok()?;
        section.bytes.get_mut(offset..)?.first_chunk_mut()
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
        self.bytes_at(address)
            .is_some_and(|bytes| !bytes.is_empty())
    }

    /// Whether there is code at an address.
    pub(super) fn is_code(&self, address: u64) -> bool {
        let after = self.code.partition_point(|(start, _)| *start <= address);
        after
            .checked_sub(1)
            .is_some_and(|index| address < self.code[index].1)
    }

    /// The name that stands at an address: identifiers with points between them.
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

    /// Each aligned word with its address, in order.
    pub(super) fn words(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sections.iter().flat_map(|section| {
            let skipped = section.start.next_multiple_of(WORD) - section.start;
            let bytes = section.bytes.get(skipped as usize..).unwrap_or_default();
            let words = bytes.as_chunks::<{ WORD as usize }>().0.iter();
            let first = section.start + skipped;
            (0..)
                .map(move |index: u64| first + index * WORD)
                .zip(words.map(|word| u64::from_le_bytes(*word)))
        })
    }
}

fn is_of_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.'
}
