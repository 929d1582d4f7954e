//! Stacks of `--call-graph dwarf`: a sample has the registers and the top of the stack, and the
//! files that ran say how to get from a frame to its caller.
//!
//! A stack is walked by the unwind tables of files on this machine that have the recorded build
//! id. It ends early at a file that is missing, at the end of the copied part, or where unwind
//! information is: such ends are counted.

mod ends;
mod programs;
mod registers;
mod vdso;

use profundo_model::{ModuleId, Reason};
use profundo_unwind::{Arrival, End, Memory, Module, Modules, Observer, TableRef, WalkCache};
use rustc_hash::FxHashMap;

use super::attr::CopiedStack;
use super::program_files::ProgramFiles;
use super::spaces::Space;
use crate::Builder;
use ends::Ends;
use programs::Program;
pub(super) use programs::Programs;

/// The knowledge about a mapped file.
#[derive(Debug, Clone, Copy)]
enum File<'a> {
    /// It has not been looked for.
    Unknown(ModuleId),
    Missing(ModuleId),
    /// It is open; the number is added to its addresses.
    Open(&'a Program, u64),
    /// Generated code.
    None,
}

/// The modules of the process that was walked last.
#[derive(Debug, Default)]
struct Listed<'a> {
    pid: u32,
    generation: u64,
    modules: Vec<Module<'a>>,
    /// The file of each module.
    files: Vec<File<'a>>,
}

/// Walks copied stacks.
#[derive(Debug)]
pub(super) struct Unwinder<'a> {
    programs: &'a Programs,
    /// The files that were looked for.
    found: FxHashMap<ModuleId, Option<&'a Program>>,
    listed: Option<Listed<'a>>,
    cache: Box<WalkCache>,
    /// The addresses of the last stack, the innermost first.
    addresses: Vec<u64>,
    /// The modules that may still be listed: a file whose mappings change with each sample would
    /// take a time that grows with its square.
    left: usize,
    ends: Ends,
}

impl<'a> Unwinder<'a> {
    pub(super) fn new(programs: &'a Programs) -> Self {
        /// The frames of 64 KB of stack, which is all that is copied, are fewer in practice.
        const DEEPEST: usize = 2048;
        /// A few seconds.
        const MOST_LISTED: usize = 1 << 28;
        Self {
            programs,
            found: FxHashMap::default(),
            listed: None,
            cache: Box::default(),
            addresses: vec![0; DEEPEST],
            left: MOST_LISTED,
            ends: Ends::default(),
        }
    }

    /// Walks the stack of a process. Returns the addresses of its frames, the innermost first, and
    /// the reason why there are no more, where it was cut. There are none where the program did
    /// not run, as in a thread of the kernel.
    pub(super) fn walk(
        &mut self,
        builder: &Builder,
        files: &ProgramFiles,
        (pid, space): (u32, &Space),
        copied: &CopiedStack<'_>,
        is_big: bool,
    ) -> (&[u64], Option<Reason>) {
        const ABI_64: u64 = 2;
        if copied.abi == 0 {
            return (&[], None);
        }
        if is_big || copied.abi != ABI_64 || !registers::are_own(copied.mask) {
            self.ends.add_foreign();
            return (&[], Some(Reason::Broken));
        }
        let Some((regs, general)) = registers::of(copied).filter(|(regs, _)| regs.ip != 0) else {
            return (&[], None);
        };
        let (mut depth, end) = self.drive(builder, files, (pid, space), copied, (regs, &general));
        // A walk that went wrong ends at an address that is no code.
        while end == ends::End::NoInformation
            && depth > 1
            && let Some(&last) = self.addresses.get(depth - 1)
            && space.find(last.wrapping_sub(1)).is_none()
        {
            depth -= 1;
        }
        let reason = self.ends.add(end);
        (self.addresses.get(..depth).unwrap_or_default(), reason)
    }

    /// Walks again and again, until all files are open that it comes through.
    fn drive(
        &mut self,
        builder: &Builder,
        files: &ProgramFiles,
        (pid, space): (u32, &Space),
        copied: &CopiedStack<'_>,
        (regs, general): (profundo_unwind::Regs, &profundo_unwind::General),
    ) -> (usize, ends::End) {
        /// More files than a stack has.
        const MOST_OPENED: usize = 256;
        self.cache.enter(space.generation);
        for _ in 0..MOST_OPENED {
            if !self.list(builder, pid, space) {
                break;
            }
            let Some(listed) = &self.listed else { break };
            let mut memory = Copied::new(regs.sp, copied.stack, listed);
            let mut watch = Watch::new(listed);
            let (depth, end) = profundo_unwind::walk_observed(
                regs,
                general,
                &Modules::new(&listed.modules),
                Some(&mut self.cache),
                &mut memory,
                &mut self.addresses,
                &mut watch,
            );
            match watch.reached {
                Some(File::Unknown(id)) => {
                    let module = builder.profile.modules.get(id);
                    let path = builder.profile.strings.get(module.path);
                    let program = self.programs.open(files, path, &module.build_id);
                    self.found.insert(id, program);
                    self.listed = None;
                }
                Some(File::Missing(id)) => return (depth, ends::End::Missing(id)),
                _ => {
                    let behind = regs.sp.saturating_add(copied.stack.len() as u64);
                    let end = match end {
                        End::Root => ends::End::Root,
                        End::Full => ends::End::Deep,
                        End::Unreadable { address }
                            if copied.is_cut && address > behind.saturating_sub(8) =>
                        {
                            ends::End::Cut(copied.stack.len())
                        }
                        _ => ends::End::NoInformation,
                    };
                    return (depth, end);
                }
            }
        }
        (0, ends::End::NoInformation)
    }

    /// Lists the modules of a process. False if there is too much to list.
    fn list(&mut self, builder: &Builder, pid: u32, space: &Space) -> bool {
        let is_same =
            |listed: &Listed<'_>| (listed.pid, listed.generation) == (pid, space.generation);
        if self.listed.as_ref().is_some_and(is_same) {
            return true;
        }
        let mappings = space.mappings();
        let Some(left) = self.left.checked_sub(mappings.len()) else {
            return false;
        };
        self.left = left;
        let mut listed = self.listed.take().unwrap_or_default();
        (listed.pid, listed.generation) = (pid, space.generation);
        listed.modules.clear();
        listed.files.clear();
        for (start, mapping) in mappings {
            let id = mapping.module;
            let mut table = TableRef::default();
            let file = match self.found.get(&id) {
                _ if mapping.is_generated => File::None,
                None => File::Unknown(id),
                Some(None) => File::Missing(id),
                Some(&Some(program)) => {
                    let bias = builder.profile.modules.get(id).bias;
                    let bias = bias.wrapping_sub(mapping.shift);
                    table = program.table.as_ref();
                    table.base = table.base.wrapping_add(bias);
                    File::Open(program, bias)
                }
            };
            listed.modules.push(Module {
                start,
                end: mapping.end,
                table,
            });
            listed.files.push(file);
        }
        self.listed = Some(listed);
        true
    }

    /// Says in notes how many stacks were cut, and why.
    pub(super) fn note(&self, builder: &mut Builder, architecture: &str) {
        self.ends.note(builder, architecture);
    }
}

impl<'a> Listed<'a> {
    /// The module at an address, and its file.
    fn find(&self, address: u64) -> Option<(&Module<'a>, File<'a>)> {
        let behind = (self.modules).partition_point(|module| module.start <= address);
        let at = behind.checked_sub(1)?;
        let module = self.modules.get(at).filter(|it| address < it.end)?;
        Some((module, *self.files.get(at)?))
    }
}

/// Ends a walk at a file that is not open.
struct Watch<'l, 'a> {
    listed: &'l Listed<'a>,
    /// The range of the last file, which is open.
    last: (u64, u64),
    /// The file that ended the walk.
    reached: Option<File<'a>>,
}

impl<'l, 'a> Watch<'l, 'a> {
    fn new(listed: &'l Listed<'a>) -> Self {
        Self {
            listed,
            last: (0, 0),
            reached: None,
        }
    }
}

impl Observer for Watch<'_, '_> {
    fn frame(&mut self, _: usize, _: u64, _: u64, _: u64) {}

    #[inline]
    fn arrive(&mut self, index: usize, arrival: &Arrival, out: &mut [u64]) -> Option<usize> {
        let address = arrival.ip.wrapping_sub(u64::from(index > 0));
        if self.last.0 <= address && address < self.last.1 {
            return None;
        }
        let (module, file) = self.listed.find(address)?;
        match file {
            File::Unknown(_) => {
                self.reached = Some(file);
                Some(0)
            }
            File::Missing(_) => {
                *out.first_mut()? = arrival.ip;
                self.reached = Some(file);
                Some(1)
            }
            File::Open(..) | File::None => {
                self.last = (module.start, module.end);
                None
            }
        }
    }
}

/// The copied part of a stack, and the code in files.
struct Copied<'s, 'l, 'a> {
    start: u64,
    stack: &'s [u8],
    listed: &'l Listed<'a>,
    /// The words that may still be read: a walk that searches is bounded, and many of them in one
    /// stack are none of a compiler's code.
    left: u32,
}

impl<'s, 'l, 'a> Copied<'s, 'l, 'a> {
    fn new(start: u64, stack: &'s [u8], listed: &'l Listed<'a>) -> Self {
        const MOST_READ: u32 = 200_000;
        Self {
            start,
            stack,
            listed,
            left: MOST_READ,
        }
    }

    #[inline]
    fn count(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        Some(())
    }
}

impl Memory for Copied<'_, '_, '_> {
    #[inline]
    fn read(&mut self, address: u64) -> Option<u64> {
        self.count()?;
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let bytes = self.stack.get(at..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }

    fn read_code(&mut self, address: u64) -> Option<u64> {
        self.count()?;
        match self.listed.find(address)?.1 {
            File::Open(program, bias) => program.word(address.wrapping_sub(bias)),
            _ => None,
        }
    }
}
