//! The files that stacks are walked through: each is mapped and its table compiled once, when the
//! first stack reaches it.

use std::cell::{Cell, OnceCell, RefCell};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use object::read::elf::{ElfFile64, ElfSegment64, FileHeader, ProgramHeader};
use object::{Architecture, Endianness, Object, ObjectSection, ObjectSegment, SegmentFlags, elf};
use profundo_unwind::{Table, compile_eh_frame, parse_eh_frame_hdr};
use rustc_hash::FxHashMap;

use super::vdso;
use crate::perf::data::program_files::{ProgramFiles, is_same_build_id};
use crate::source::{self, Loaded};

/// A file with its table.
#[derive(Debug)]
pub(super) struct Program {
    bytes: Loaded,
    build_id: Vec<u8>,
    /// The address, offset and size of each part that is code.
    code: Vec<[u64; 3]>,
    /// Empty where there is no unwind information.
    pub table: Table,
}

/// The device and the number of a file.
type Identity = (u64, u64);

/// Files stay where they are, for lists of modules borrow their tables.
#[derive(Debug)]
pub(in crate::perf::data) struct Programs {
    slots: Box<[OnceCell<Box<Program>>]>,
    used: Cell<usize>,
    /// The slots of files, which may have several paths.
    known: RefCell<FxHashMap<Identity, usize>>,
    /// The bytes of unwind information that may still be compiled.
    left: Cell<usize>,
}

impl Programs {
    pub(in crate::perf::data) fn new() -> Self {
        /// A process may map four times as many.
        const MOST: usize = 16 << 10;
        /// Far more than a system has in memory. Tables are of a similar size.
        const MOST_BYTES: usize = 512 << 20;
        Self {
            slots: std::iter::repeat_with(OnceCell::new).take(MOST).collect(),
            used: Cell::new(0),
            known: RefCell::default(),
            left: Cell::new(MOST_BYTES),
        }
    }

    /// The file at a path with a build id, if this machine has it.
    pub(super) fn open(
        &self,
        files: &ProgramFiles,
        path: &str,
        build_id: &[u8],
    ) -> Option<&Program> {
        let candidates = files.candidates(path, build_id);
        let found = candidates
            .iter()
            .find_map(|path| self.open_file(path, build_id));
        found.or_else(|| {
            let own = (path == vdso::PATH && !build_id.is_empty()).then(vdso::own_image)??;
            self.keep(Loaded::Read(own), build_id)
                .map(|(program, _)| program)
        })
    }

    fn open_file(&self, path: &Path, build_id: &[u8]) -> Option<&Program> {
        let about = path.metadata().ok()?;
        let identity = (about.dev(), about.ino());
        let known = self.known.borrow().get(&identity).copied();
        if let Some(known) = known {
            let program = self.slots.get(known)?.get()?;
            return program.is_of(build_id).then_some(program);
        }
        let (program, slot) = self.keep(source::load_program(path)?, build_id)?;
        self.known.borrow_mut().insert(identity, slot);
        Some(program)
    }

    fn keep(&self, bytes: Loaded, build_id: &[u8]) -> Option<(&Program, usize)> {
        let slot = self.used.get();
        let empty = self.slots.get(slot)?;
        let program = Program::read(bytes, build_id, &self.left)?;
        self.used.set(slot + 1);
        Some((empty.get_or_init(|| Box::new(program)), slot))
    }
}

impl Program {
    /// Reads a file of this machine's kind. One with another build id than the recorded one is not
    /// the file that ran.
    fn read(bytes: Loaded, build_id: &[u8], left: &Cell<usize>) -> Option<Self> {
        const OWN: Architecture = match cfg!(target_arch = "aarch64") {
            true => Architecture::Aarch64,
            false => Architecture::X86_64,
        };
        let file: ElfFile64<'_, Endianness> = ElfFile64::parse(&bytes[..]).ok()?;
        if file.architecture() != OWN || !file.is_little_endian() {
            return None;
        }
        let is_code = |flags: SegmentFlags| match flags {
            SegmentFlags::Elf { p_flags, .. } => p_flags.0 & elf::PF_X.0 != 0,
            _ => false,
        };
        let segments = file.segments().filter(|segment| is_code(segment.flags()));
        let part = |segment: ElfSegment64<'_, '_, Endianness>| {
            let (offset, size) = segment.file_range();
            [segment.address(), offset, size]
        };
        let code: Vec<[u64; 3]> = segments.map(part).collect();
        let mut program = Self {
            build_id: file.build_id().ok().flatten().unwrap_or_default().to_vec(),
            code,
            table: Table::default(),
            bytes: Loaded::Read(Vec::new()),
        };
        if !program.is_of(build_id) {
            return None;
        }
        program.table = table(&file, &program.code, left).unwrap_or_default();
        program.bytes = bytes;
        Some(program)
    }

    /// Whether it has this build id. Without one, it is taken for the file that ran.
    fn is_of(&self, build_id: &[u8]) -> bool {
        build_id.is_empty() || is_same_build_id(&self.build_id, build_id)
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
fn table(file: &ElfFile64<'_, Endianness>, code: &[[u64; 3]], left: &Cell<usize>) -> Option<Table> {
    /// More code than any program has. Its extent decides how large the table's index is.
    const MOST: u64 = 1 << 30;
    const PAGE: u64 = 0xfff;
    let base = code.iter().map(|&[start, ..]| start & !PAGE).min()?;
    let ends = code
        .iter()
        .map(|&[start, _, size]| start.saturating_add(size));
    let end = ends.max().filter(|end| end - base <= MOST)?;
    let (address, eh_frame) = eh_frame(file)?;
    // The index has four bytes for each 256 of code.
    let index = usize::try_from((end - base) / 64).ok()?;
    left.set(left.get().checked_sub(eh_frame.len().checked_add(index)?)?);
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
    let within = |segment: ElfSegment64<'a, '_, Endianness>| {
        let at = usize::try_from(address.checked_sub(segment.address())?).ok()?;
        segment.data().ok()?.get(at..)
    };
    let bytes = file.segments().find_map(within)?;
    Some((address, bytes))
}
