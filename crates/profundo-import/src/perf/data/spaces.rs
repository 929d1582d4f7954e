//! The address spaces of processes: which file lies at an address, at the time of a sample.

use std::collections::BTreeMap;
use std::rc::Rc;

use profundo_model::{Avma, LocationId, ModuleId, is_generated_code};
use rustc_hash::FxHashMap;

use super::elf::Segments;
use super::program_files::ProgramFiles;
use crate::Builder;

/// A mapped piece of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mapping {
    pub end: u64,
    pub module: ModuleId,
    /// The number to add to get the address in the module as the first process has it.
    pub shift: u64,
    pub is_generated: bool,
}

/// The memory of a process.
#[derive(Debug, Default)]
pub(super) struct Space {
    mappings: Rc<BTreeMap<u64, Mapping>>,
    /// The locations of addresses, each as an instruction and as the one after a call.
    pub known: FxHashMap<(u64, bool), LocationId>,
    /// A number that changes with the mappings.
    pub generation: u64,
}

/// A path and a build id.
type File = (Box<[u8]>, Vec<u8>);

/// The memory of all processes, and the modules in it.
#[derive(Debug, Default)]
pub(super) struct Spaces {
    by_pid: FxHashMap<u32, Space>,
    modules: FxHashMap<File, (ModuleId, Segments)>,
    files: ProgramFiles,
    generation: u64,
    /// The mappings that processes got from their parents.
    copied: usize,
}

/// A mapping as a record has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mapped<'a> {
    pub start: u64,
    pub size: u64,
    /// The offset in the file.
    pub offset: u64,
    pub path: &'a [u8],
    pub build_id: &'a [u8],
}

impl Spaces {
    pub(super) fn new(files: ProgramFiles) -> Self {
        Self {
            files,
            ..Self::default()
        }
    }

    pub(super) fn of(&mut self, pid: u32) -> &mut Space {
        self.by_pid.entry(pid).or_default()
    }

    /// The memory of a process, and the places of its files.
    pub(super) fn with_files(&mut self, pid: u32) -> (&Space, &ProgramFiles) {
        (self.by_pid.entry(pid).or_default(), &self.files)
    }

    /// A process began as a copy of another.
    pub(super) fn fork(&mut self, parent: u32, child: u32) {
        let mappings = Rc::clone(&self.of(parent).mappings);
        self.generation += 1;
        let generation = self.generation;
        *self.of(child) = Space {
            mappings,
            generation,
            ..Space::default()
        };
    }

    /// A process became another program.
    pub(super) fn clear(&mut self, pid: u32) {
        self.generation += 1;
        let generation = self.generation;
        *self.of(pid) = Space {
            generation,
            ..Space::default()
        };
    }

    /// Adds a mapping, in place of what was there.
    pub(super) fn map(&mut self, builder: &mut Builder, pid: u32, mapped: &Mapped<'_>) {
        /// More than any recording has, and little memory.
        const MOST_COPIED: usize = 8 << 20;
        let (start, end) = (mapped.start, mapped.start.saturating_add(mapped.size));
        if mapped.size == 0 {
            return;
        }
        let (module, shift, is_generated) = self.module(builder, mapped);
        self.generation += 1;
        let space = self.by_pid.entry(pid).or_default();
        space.generation = self.generation;
        if Rc::strong_count(&space.mappings) > 1 {
            self.copied = self.copied.saturating_add(space.mappings.len());
            if self.copied > MOST_COPIED {
                builder.leave_out("memory maps", || format!("that of process {pid}"));
                space.mappings = Rc::default();
            }
        }
        if !space.known.is_empty() {
            space.known = FxHashMap::default();
        }
        let mappings = Rc::make_mut(&mut space.mappings);
        // The one that begins before may go on behind.
        if let Some((_, before)) = mappings.range_mut(..start).next_back()
            && before.end > start
        {
            let whole = *before;
            before.end = start;
            if whole.end > end {
                mappings.insert(end, whole);
            }
        }
        let inside: Vec<u64> = mappings.range(start..end).map(|(&at, _)| at).collect();
        for at in inside {
            if let Some(old) = mappings.remove(&at)
                && old.end > end
            {
                mappings.insert(end, old);
            }
        }
        mappings.insert(
            start,
            Mapping {
                end,
                module,
                shift,
                is_generated,
            },
        );
    }

    fn module(&mut self, builder: &mut Builder, mapped: &Mapped<'_>) -> (ModuleId, u64, bool) {
        let path = String::from_utf8_lossy(mapped.path);
        if is_generated_code(&path) {
            return (builder.module(&path), 0, true);
        }
        let key = (mapped.path.into(), mapped.build_id.to_vec());
        let end = mapped.start.saturating_add(mapped.size);
        if let Some((id, segments)) = self.modules.get(&key) {
            let bias = mapped.start.wrapping_sub(segments.address(mapped.offset));
            let module = builder.profile.modules.get_mut(*id);
            let shift = module.bias.wrapping_sub(bias);
            module.start = module.start.min(Avma(mapped.start.wrapping_add(shift)));
            module.end = module.end.max(Avma(end.wrapping_add(shift)));
            return (*id, shift, false);
        }
        let segments = self.files.segments(&path, mapped.build_id);
        let bias = mapped.start.wrapping_sub(segments.address(mapped.offset));
        let id = builder.mapped_module(&path, mapped.build_id, bias);
        let module = builder.profile.modules.get_mut(id);
        (module.start, module.end) = (Avma(mapped.start), Avma(end));
        self.modules.insert(key, (id, segments));
        (id, 0, false)
    }
}

impl Space {
    /// The mappings with their starts, in their order.
    pub(super) fn mappings(&self) -> impl ExactSizeIterator<Item = (u64, &Mapping)> {
        self.mappings
            .iter()
            .map(|(&start, mapping)| (start, mapping))
    }

    /// The mapping at an address.
    pub(super) fn find(&self, address: u64) -> Option<&Mapping> {
        let (_, mapping) = self.mappings.range(..=address).next_back()?;
        (address < mapping.end).then_some(mapping)
    }
}
