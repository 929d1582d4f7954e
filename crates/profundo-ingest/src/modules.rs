//! The module of an address at the time of a sample.

use std::collections::HashMap;

use profundo_model::{
    Avma, Mapping, Module, ModuleId, ProcessId, Profile, Role, StringId, is_generated_code,
};
use profundo_wire::recording::ModuleInfo;

/// The modules of all processes. A library mapped by several processes is one module, at the
/// address of the first process, so that equal stacks are one stack.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// By path, build id, and the size and file offset of the mapping.
    known: HashMap<(StringId, Vec<u8>, u64, u64), Rows>,
    /// The process of each module of generated code, which no other shares.
    generated: HashMap<ModuleId, ProcessId>,
}

/// The rows that may be one module.
#[derive(Debug, Default)]
struct Rows {
    all: Vec<ModuleId>,
    /// By the address in the first process.
    by_place: HashMap<u64, ModuleId>,
}

impl Rows {
    fn push(&mut self, id: ModuleId, start: u64) {
        self.all.push(id);
        self.by_place.entry(start).or_insert(id);
    }
}

impl Registry {
    /// The modules of a profile that is to be continued.
    pub(crate) fn of(profile: &Profile) -> Self {
        let mut registry = Self::default();
        for (id, module) in profile.modules.iter() {
            let (start, end) = (module.start.0, module.end.0);
            let key = (
                module.path,
                module.build_id.clone(),
                end.wrapping_sub(start),
                start.wrapping_sub(module.bias),
            );
            registry.known.entry(key).or_default().push(id, start);
        }
        for mapping in &profile.growing.mappings {
            let path = profile.modules.get(mapping.module).path;
            if is_generated_code(profile.strings.get(path)) {
                registry.generated.insert(mapping.module, mapping.process);
            }
        }
        registry
    }

    /// The modules of generated code, with the processes that they are in.
    pub(crate) fn generated(&self) -> &HashMap<ModuleId, ProcessId> {
        &self.generated
    }

    /// The row for a module of a process that has the modules `present` already.
    fn row(
        &mut self,
        profile: &mut Profile,
        process: ProcessId,
        info: &ModuleInfo,
        present: &[Range],
    ) -> ModuleId {
        let path = profile.strings.intern(&info.path);
        let key = (
            path,
            info.build_id.clone(),
            info.end.wrapping_sub(info.start),
            info.start.wrapping_sub(info.bias),
        );
        let known = self.known.entry(key).or_default();
        // The latest one is the most likely to repeat.
        let is_known = |id: &ModuleId| known.all.iter().rev().any(|known| known == id);
        let known_here = present
            .iter()
            .find(|range| range.start == info.start && is_known(&range.id))
            .map(|range| range.id);
        // A file without a build id may be another one under an old name.
        let is_free = |id: &&ModuleId| {
            !info.build_id.is_empty() && !present.iter().any(|range| range.id == **id)
        };
        let is_generated = is_generated_code(&info.path);
        // A program without a build id may have as many rows as processes.
        let elsewhere = known.by_place.get(&info.start);
        let elsewhere = match info.build_id.is_empty() {
            true => elsewhere.copied(),
            false => elsewhere
                .or_else(|| known.all.iter().find(is_free))
                .copied(),
        };
        let elsewhere = elsewhere.filter(|_| !is_generated);
        if let Some(id) = known_here.or(elsewhere) {
            return id;
        }
        let id = profile.modules.push(Module {
            path,
            start: Avma(info.start),
            end: Avma(info.end),
            bias: info.bias,
            build_id: info.build_id.clone(),
            role: Role::of_path(&info.path),
        });
        known.push(id, info.start);
        if is_generated {
            self.generated.insert(id, process);
        }
        id
    }
}

/// The modules of one process with the times when they were mapped. Times differ only where a
/// library was unloaded: then another one may lie at the same addresses.
#[derive(Debug, Default)]
pub(crate) struct ModuleMap {
    /// Sorted by start.
    ranges: Vec<Range>,
    /// The last time of an unload: from then on, addresses keep their meaning.
    settled: u64,
}

/// A library at an address. It is one module, however often it came and went.
#[derive(Debug)]
struct Range {
    start: u64,
    end: u64,
    id: ModuleId,
    /// The intervals in which it was there.
    times: Vec<(u64, u64)>,
}

impl ModuleMap {
    /// Takes in new modules and unloaded ones.
    pub(crate) fn add(
        &mut self,
        profile: &mut Profile,
        registry: &mut Registry,
        process: ProcessId,
        infos: &[ModuleInfo],
    ) {
        for info in infos {
            let id = registry.row(profile, process, info, &self.ranges);
            let mapping = Mapping {
                process,
                module: id,
                start: info.start,
                end: info.end,
                loaded: info.loaded,
                unloaded: info.unloaded,
            };
            self.map(&mapping);
            profile.growing.mappings.push(mapping);
        }
    }

    /// Takes in a mapping.
    pub(crate) fn map(&mut self, mapping: &Mapping) {
        let &Mapping {
            module: id,
            start,
            end,
            loaded,
            unloaded,
            ..
        } = mapping;
        let known = self
            .ranges
            .iter_mut()
            .find(|range| (range.start, range.end, range.id) == (start, end, id));
        let times = (loaded, unloaded);
        match known {
            Some(range) => match range.times.iter_mut().find(|time| time.0 == loaded) {
                Some(time) => *time = times,
                None => range.times.push(times),
            },
            None => {
                let at = self.ranges.partition_point(|range| range.start <= start);
                let range = Range {
                    start,
                    end,
                    id,
                    times: vec![times],
                };
                self.ranges.insert(at, range);
            }
        }
        if unloaded != u64::MAX {
            self.settled = self.settled.max(unloaded);
        }
    }

    /// The module at an address at a time, and the address in that module's row. Without one, a
    /// module that was there at another time (modules are noticed a moment after they were loaded).
    pub(crate) fn find(
        &self,
        profile: &Profile,
        address: u64,
        clock: u64,
    ) -> Option<(ModuleId, u64)> {
        let after = self.ranges.partition_point(|range| range.start <= address);
        let mut holding = self.ranges[..after]
            .iter()
            .rev()
            .take(64)
            .filter(|range| address < range.end)
            .peekable();
        let any = holding.peek().copied();
        let was_there = |range: &&Range| {
            let mut times = range.times.iter();
            times.any(|&(loaded, unloaded)| clock >= loaded && clock < unloaded)
        };
        let range = holding.find(was_there).or(any)?;
        let offset = address.wrapping_sub(range.start);
        let start = profile.modules.get(range.id).start.0;
        Some((range.id, start.wrapping_add(offset)))
    }

    /// The time from which on all addresses keep their meaning.
    pub(crate) fn settled(&self) -> u64 {
        self.settled
    }

    /// Marks the modules of a path as an interpreter's.
    pub(crate) fn mark_interpreter(&self, profile: &mut Profile, path: StringId) {
        for range in &self.ranges {
            let module = profile.modules.get_mut(range.id);
            if module.path == path {
                module.role = Role::Interpreter;
            }
        }
    }
}
