//! The files that stacks are walked through: each is mapped and its table compiled once, when the
//! first stack reaches it.

use std::cell::{Cell, OnceCell};
use std::path::Path;

use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Architecture, Endianness, Object, ObjectSection, ObjectSegment, SegmentFlags, elf};
use profundo_unwind::{Table, compile_eh_frame, parse_eh_frame_hdr};

use super::vdso;
use crate::perf::data::program_files::{ProgramFiles, is_same_build_id};
use crate::source::{self, Loaded};

/// A file with its table.
#[derive(Debug)]
pub(super) struct Program {
    bytes: Loaded,
    /// The address, offset and size of each part that is code.
    code: Vec<[u64; 3]>,
    /// Empty where there is no unwind information.
    pub table: Table,
}

/// Files stay where they are, for lists of modules borrow their tables.
#[derive(Debug)]
pub(in crate::perf::data) struct Programs {
    slots: Box<[OnceCell<Box<Program>>]>,
    used: Cell<usize>,
}

impl Programs {
    pub(in crate::perf::data) fn new() -> Self {
        /// A process may map four times as many.
        const MOST: usize = 16 << 10;
        Self {
            slots: std::iter::repeat_with(OnceCell::new).take(MOST).collect(),
            used: Cell::new(0),
        }
    }

    /// The file at a path with a build id, if this machine has it.
    pub(super) fn open(
        &self,
        files: &ProgramFiles,
        path: &str,
        build_id: &[u8],
    ) -> Option<&Program> {
        let slot = self.slots.get(self.used.get())?;
        let open = |path: &Path| Program::read(source::load_program(path)?, build_id);
        let candidates = files.candidates(path, build_id);
        let found = candidates.iter().find_map(|path| open(path)).or_else(|| {
            let own = (path == vdso::PATH && !build_id.is_empty()).then(vdso::own_image)??;
            Program::read(Loaded::Read(own), build_id)
        })?;
        self.used.set(self.used.get() + 1);
        Some(slot.get_or_init(|| Box::new(found)))
    }
}

impl Program {
    /// Reads a file of this machine's kind. One with another build id than the recorded one is not
    /// the file that ran.
    fn read(bytes: Loaded, build_id: &[u8]) -> Option<Self> {
        const OWN: Architecture = match cfg!(target_arch = "aarch64") {
            true => Architecture::Aarch64,
            false => Architecture::X86_64,
        };
        let file: ElfFile64<'_, Endianness> = ElfFile64::parse(&bytes[..]).ok()?;
        if file.architecture() != OWN || !file.is_little_endian() {
            return None;
        }
        if !build_id.is_empty() {
            let found = file.build_id().ok().flatten()?;
            if !is_same_build_id(found, build_id) {
                return None;
            }
        }
        let is_code = |flags: SegmentFlags| match flags {
            SegmentFlags::Elf { p_flags, .. } => p_flags.0 & elf::PF_X.0 != 0,
            _ => false,
        };
        let segments = file.segments().filter(|segment| is_code(segment.flags()));
        let part = |segment: object::read::elf::ElfSegment64<'_, '_, Endianness>| {
            let (offset, size) = segment.file_range();
            [segment.address(), offset, size]
        };
        let code: Vec<[u64; 3]> = segments.map(part).collect();
        let table = table(&file, &code).unwrap_or_default();
        Some(Self { bytes, code, table })
    }

    /// The eight bytes of code at an address of the file.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let inside = |&[start, offset, size]: &[u64; 3]| {
            let at = address.checked_sub(start).filter(|&at| at < size)?;
            usize::try_from(offset.checked_add(at)?).ok()
        };
        let at = self.code.iter().find_map(inside)?;
        let bytes = self.bytes.get(at..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }
}

/// The compiled table of a file.
fn table(file: &ElfFile64<'_, Endianness>, code: &[[u64; 3]]) -> Option<Table> {
    /// More code than any program has. Its extent decides how large the table's index is.
    const MOST: u64 = 1 << 30;
    const PAGE: u64 = 0xfff;
    let base = code.iter().map(|&[start, ..]| start & !PAGE).min()?;
    let ends = code
        .iter()
        .map(|&[start, _, size]| start.saturating_add(size));
    let end = ends.max().filter(|end| end - base <= MOST)?;
    let (address, eh_frame) = eh_frame(file)?;
    compile_eh_frame(eh_frame, address, None, base, base..end).ok()
}

/// `.eh_frame` and its address: by its name, or through the header that files without section
/// names have.
fn eh_frame<'a>(file: &ElfFile64<'a, Endianness>) -> Option<(u64, &'a [u8])> {
    if let Some(section) = file.section_by_name(".eh_frame")
        && let Ok(bytes) = section.data()
        && !bytes.is_empty()
    {
        return Some((section.address(), bytes));
    }
    let endian = file.endian();
    let headers = file
        .elf_header()
        .program_headers(endian, file.data())
        .ok()?;
    let mut headers = headers.iter();
    let header = headers.find(|header| header.p_type(endian) == elf::PT_GNU_EH_FRAME)?;
    let bytes = header.data(endian, file.data()).ok()?;
    let address = parse_eh_frame_hdr(bytes, header.p_vaddr(endian)).ok()?;
    // It ends at its terminator, or at the end of its segment.
    let within = |segment: object::read::elf::ElfSegment64<'a, '_, Endianness>| {
        let at = usize::try_from(address.checked_sub(segment.address())?).ok()?;
        segment.data().ok()?.get(at..)
    };
    let bytes = file.segments().find_map(within)?;
    Some((address, bytes))
}
