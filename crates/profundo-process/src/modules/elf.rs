//! The parts of an ELF file that are used, read piece by piece. The file is not mapped: it may be
//! large, and its owner may truncate it meanwhile.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The source of an ELF file's bytes.
pub trait Bytes {
    /// Fills the slice from an offset on; false if there are not enough bytes.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> bool;
    /// The number of bytes.
    fn length(&self) -> u64;
}

impl Bytes for File {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> bool {
        self.read_exact_at(out, offset).is_ok()
    }

    fn length(&self) -> u64 {
        self.metadata().map_or(0, |data| data.len())
    }
}

impl Bytes for Vec<u8> {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> bool {
        let from = usize::try_from(offset).ok();
        let bytes = from.and_then(|from| self.get(from..from.checked_add(out.len())?));
        bytes.map(|bytes| out.copy_from_slice(bytes)).is_some()
    }

    fn length(&self) -> u64 {
        self.len() as u64
    }
}

/// A segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub kind: u32,
    pub flags: u32,
    pub offset: u64,
    pub address: u64,
    pub in_file: u64,
    pub in_memory: u64,
}

/// A section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub name: Vec<u8>,
    pub kind: u32,
    pub link: u32,
    pub address: u64,
    pub offset: u64,
    pub size: u64,
}

/// A function's symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol<'a> {
    pub name: &'a [u8],
    pub address: u64,
    pub size: u64,
}

/// The largest piece of a file that is read.
const LARGEST: u64 = 512 << 20;

/// An ELF file of this machine's kind.
#[derive(Debug)]
pub struct Elf<B> {
    bytes: B,
    /// The loaded segments.
    pub segments: Vec<Segment>,
    sections_at: u64,
    section_count: u16,
    names_in: u16,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

impl<B: Bytes> Elf<B> {
    /// Reads the header. `None`: not a 64-bit little-endian ELF file.
    pub fn read(bytes: B) -> Option<Self> {
        let mut head = [0; 64];
        if !bytes.read_at(0, &mut head) || !head.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let segments_at = u64_at(&head, 32)?;
        let (segment_bytes, segment_count) = (u16_at(&head, 54)?, u16_at(&head, 56)?);
        if segment_bytes != 56 || segment_count == u16::MAX {
            return None;
        }
        let mut table = vec![0; 56 * usize::from(segment_count)];
        if !bytes.read_at(segments_at, &mut table) {
            return None;
        }
        let segments = table.chunks_exact(56).filter_map(segment).collect();
        let has_sections = u16_at(&head, 58)? == 64;
        Some(Self {
            bytes,
            segments,
            sections_at: u64_at(&head, 40)?,
            section_count: if has_sections { u16_at(&head, 60)? } else { 0 },
            names_in: u16_at(&head, 62)?,
        })
    }

    fn piece(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        let end = offset.checked_add(size)?;
        if size > LARGEST || end > self.bytes.length() {
            return None;
        }
        let mut piece = vec![0; size as usize];
        self.bytes.read_at(offset, &mut piece).then_some(piece)
    }

    /// The segments that are mapped.
    pub fn loads(&self) -> impl Iterator<Item = &Segment> {
        self.segments
            .iter()
            .filter(|segment| segment.kind == libc::PT_LOAD)
    }

    /// The addresses from the first to the last executable byte.
    pub fn code(&self) -> Option<(u64, u64)> {
        let code = || {
            self.loads()
                .filter(|segment| segment.flags & libc::PF_X != 0)
        };
        let start = code().map(|segment| segment.address).min()?;
        let end = code()
            .filter_map(|segment| segment.address.checked_add(segment.in_memory))
            .max()?;
        (start < end).then_some((start, end))
    }

    /// The interpreter that the file asks for (`PT_INTERP`), if any.
    pub fn interpreter(&self) -> Option<Vec<u8>> {
        let segment = self
            .segments
            .iter()
            .find(|segment| segment.kind == libc::PT_INTERP)?;
        let mut path = self.piece(segment.offset, segment.in_file.min(4096))?;
        path.retain(|&byte| byte != 0);
        Some(path)
    }

    /// The GNU build id; empty if there is none.
    pub fn build_id(&self) -> Vec<u8> {
        self.segments
            .iter()
            .filter(|segment| segment.kind == libc::PT_NOTE && segment.in_file < 1 << 16)
            .filter_map(|segment| self.piece(segment.offset, segment.in_file))
            .find_map(|notes| find_build_id(&notes))
            .unwrap_or_default()
    }

    /// The sections; none if they were stripped.
    pub fn sections(&self) -> Vec<Section> {
        self.read_sections().unwrap_or_default()
    }

    fn read_sections(&self) -> Option<Vec<Section>> {
        let table = self.piece(self.sections_at, 64 * u64::from(self.section_count))?;
        let names = table.chunks_exact(64).nth(self.names_in.into())?;
        let names = self.piece(u64_at(names, 24)?, u64_at(names, 32)?)?;
        let section = |entry: &[u8]| {
            let name = names.get(u32_at(entry, 0)? as usize..)?;
            Some(Section {
                name: name.split(|&byte| byte == 0).next()?.to_vec(),
                kind: u32_at(entry, 4)?,
                address: u64_at(entry, 16)?,
                offset: u64_at(entry, 24)?,
                size: u64_at(entry, 32)?,
                link: u32_at(entry, 40)?,
            })
        };
        Some(table.chunks_exact(64).filter_map(section).collect())
    }

    /// The bytes of a section.
    pub fn contents(&self, section: &Section) -> Option<Vec<u8>> {
        const SHT_NOBITS: u32 = 8;
        if section.kind == SHT_NOBITS {
            return None;
        }
        self.piece(section.offset, section.size)
    }

    /// The bytes of the file from an address to the end of its segment.
    pub fn bytes_at(&self, address: u64) -> Option<Vec<u8>> {
        let segment = self.loads().find(|segment| {
            address >= segment.address && address - segment.address < segment.in_file
        })?;
        let skipped = address - segment.address;
        self.piece(
            segment.offset.checked_add(skipped)?,
            segment.in_file - skipped,
        )
    }

    /// Calls `f` for each function that a symbol table names.
    pub fn functions(&self, sections: &[Section], f: impl FnMut(Symbol<'_>)) {
        self.symbols(sections, &[STT_FUNC], f);
    }

    /// Calls `f` for each function and each piece of data that a symbol table names.
    pub fn functions_and_data(&self, sections: &[Section], f: impl FnMut(Symbol<'_>)) {
        self.symbols(sections, &[STT_FUNC, STT_OBJECT], f);
    }

    /// Calls `f` for each function that the file has for others.
    pub fn exported_functions(&self, sections: &[Section], f: impl FnMut(Symbol<'_>)) {
        let exports = sections.iter().filter(|section| section.kind == SHT_DYNSYM);
        self.symbols_of(exports, sections, &[STT_FUNC], f);
    }

    fn symbols(&self, sections: &[Section], types: &[u8], f: impl FnMut(Symbol<'_>)) {
        self.symbols_of(sections.iter(), sections, types, f);
    }

    fn symbols_of<'a>(
        &self,
        tables: impl Iterator<Item = &'a Section>,
        sections: &[Section],
        types: &[u8],
        mut f: impl FnMut(Symbol<'_>),
    ) {
        for section in tables {
            if ![SHT_SYMTAB, SHT_DYNSYM].contains(&section.kind) {
                continue;
            }
            let names = sections
                .get(section.link as usize)
                .and_then(|names| self.contents(names));
            let (Some(symbols), Some(names)) = (self.contents(section), names) else {
                continue;
            };
            for symbol in symbols.chunks_exact(24) {
                if let Some(symbol) = named(symbol, types, &names) {
                    f(symbol);
                }
            }
        }
    }
}

fn segment(entry: &[u8]) -> Option<Segment> {
    Some(Segment {
        kind: u32_at(entry, 0)?,
        flags: u32_at(entry, 4)?,
        offset: u64_at(entry, 8)?,
        address: u64_at(entry, 16)?,
        in_file: u64_at(entry, 32)?,
        in_memory: u64_at(entry, 40)?,
    })
}

const SHT_SYMTAB: u32 = 2;
const SHT_DYNSYM: u32 = 11;
const STT_OBJECT: u8 = 1;
const STT_FUNC: u8 = 2;

fn named<'a>(entry: &[u8], types: &[u8], names: &'a [u8]) -> Option<Symbol<'a>> {
    if !types.contains(&(entry.get(4)? & 15)) || u16_at(entry, 6)? == 0 {
        return None;
    }
    let name = names.get(u32_at(entry, 0)? as usize..)?;
    let length = name.iter().position(|&byte| byte == 0)?;
    Some(Symbol {
        name: name.get(..length)?,
        address: u64_at(entry, 8)?,
        size: u64_at(entry, 16)?,
    })
}

/// The GNU build id among a segment's notes.
fn find_build_id(mut notes: &[u8]) -> Option<Vec<u8>> {
    const NT_GNU_BUILD_ID: u32 = 3;
    while notes.len() >= 12 {
        let name_size = u32_at(notes, 0)? as usize;
        let size = u32_at(notes, 4)? as usize;
        let name_end = 12_usize.checked_add(name_size.checked_next_multiple_of(4)?)?;
        let end = name_end.checked_add(size)?;
        if u32_at(notes, 8)? == NT_GNU_BUILD_ID && notes.get(12..16) == Some(b"GNU\0") {
            return notes.get(name_end..end).map(<[u8]>::to_vec);
        }
        notes = notes.get(end.checked_next_multiple_of(4)?..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_program_is_read() {
        let elf = Elf::read(File::open("/proc/self/exe").unwrap()).unwrap();
        elf.interpreter().expect("the loader");
        let (start, end) = elf.code().unwrap();
        let sections = elf.sections();
        assert!(sections.iter().any(|section| section.name == b".eh_frame"));
        let mut found = 0;
        elf.functions(&sections, |symbol| {
            let is_main = symbol.name == b"main";
            found += u32::from(is_main && (start..end).contains(&symbol.address));
        });
        assert!(found > 0);
    }

    #[test]
    fn damage_does_no_harm() {
        let whole = std::fs::read("/bin/true").unwrap();
        let head = whole.get(..4096.min(whole.len())).unwrap();
        for cut in [0, 1, 63, 64, 100, 1000, head.len()] {
            if let Some(elf) = Elf::read(head[..cut].to_vec()) {
                let sections = elf.sections();
                elf.functions(&sections, |_| {});
                let _ = (elf.build_id(), elf.interpreter(), elf.code());
                let _ = elf.bytes_at(u64::MAX);
            }
        }
        for at in 0..64 {
            let mut damaged = head.to_vec();
            damaged[at] ^= 0xFF;
            if let Some(elf) = Elf::read(damaged) {
                let _ = (
                    elf.sections(),
                    elf.build_id(),
                    elf.interpreter(),
                    elf.code(),
                );
            }
        }
    }
}
