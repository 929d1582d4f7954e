//! Names for the locations that lie in generated code.

use profundo_model::{
    Frame, FrameId, Language, LocationId, LocationKind, ModuleId, ProcessId, Profile, StackId,
    generated_name,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::map::{CodeMap, Piece};
use super::{Split, is_kernels};

/// The programs that own generated code.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// The program that has a module of generated code.
    pub(super) modules: FxHashMap<ModuleId, ProcessId>,
    pub(super) maps: FxHashMap<ProcessId, CodeMap>,
    pub(super) kernel: CodeMap,
    /// Programs whose interpreter frames we walk ourselves.
    pub(super) walked: FxHashSet<ProcessId>,
}

/// By stack, the times of its first and its last sample, in cycles.
pub(super) type Extents = FxHashMap<StackId, (u64, u64)>;

impl Owners {
    fn is_empty(&self) -> bool {
        self.kernel.is_empty() && self.maps.values().all(CodeMap::is_empty)
    }

    fn prepare(&mut self) {
        self.kernel.prepare();
        self.maps.values_mut().for_each(CodeMap::prepare);
    }

    /// The meanings of a location, with the program that they are from.
    fn meanings(
        &self,
        profile: &Profile,
        id: LocationId,
    ) -> Vec<(u64, Option<(ProcessId, &Piece)>)> {
        let location = profile.locations.get(id);
        let LocationKind::Code(code) = location.kind else {
            return Vec::new();
        };
        let address = code.for_lookup().0;
        let none = ProcessId(0);
        if is_kernels(address) {
            return owned(none, self.kernel.meanings(address));
        }
        let of = |process: ProcessId| {
            let map = self.maps.get(&process)?;
            let found = owned(process, map.meanings(address));
            (!found.is_empty()).then_some(found)
        };
        match location.module {
            Some(module) => {
                // Code that a forked process has from its parent is known from the parent.
                let mut at = self.modules.get(&module).copied();
                let parents = std::iter::from_fn(|| {
                    let process = at?;
                    at = profile
                        .processes
                        .get(process.index())
                        .and_then(|row| row.parent);
                    Some(process)
                });
                parents.take(64).find_map(of).unwrap_or_default()
            }
            // Without a known owner, a program with code there is taken.
            None => {
                let mut processes: Vec<ProcessId> = self.maps.keys().copied().collect();
                processes.sort_unstable();
                processes.into_iter().find_map(of).unwrap_or_default()
            }
        }
    }

    /// The frame of an address in a piece of code.
    fn frame(
        &self,
        profile: &mut Profile,
        process: ProcessId,
        piece: &Piece,
        address: u64,
    ) -> FrameId {
        let name = generated_name(&piece.name);
        let line = piece.line(address);
        let path = match line {
            Some(line) if !line.file.is_empty() => &line.file,
            _ => name.file,
        };
        let is_doubled = name.is_trampoline && self.walked.contains(&process);
        let file = profile.file(path, "", "");
        let function = match is_kernels(address) {
            true => format!("[kernel] {}", name.function).into(),
            false => name.function,
        };
        let frame = Frame {
            function: profile.strings.intern(&function),
            signature: profile.strings.intern(&name.signature),
            file,
            line: line.map_or(0, |line| line.line),
            language: match name.language {
                _ if is_kernels(address) => Language::Native,
                _ if is_doubled => Language::Runtime,
                language => language,
            },
            inlined: false,
        };
        profile.frames.intern(frame)
    }
}

fn owned(
    process: ProcessId,
    meanings: Vec<(u64, Option<&Piece>)>,
) -> Vec<(u64, Option<(ProcessId, &Piece)>)> {
    let meanings = meanings.into_iter();
    meanings
        .map(|(at, piece)| (at, piece.map(|piece| (process, piece))))
        .collect()
}

/// Names unnamed locations by their current meanings. The owners are known.
pub(super) fn name_unnamed(profile: &mut Profile, owners: &mut Owners) {
    if owners.is_empty() {
        return;
    }
    owners.prepare();
    for index in 0..profile.locations.len() {
        let id = LocationId::from_index(index);
        // A location that was looked up in files may have a frame without a name.
        let mut frames = profile.locations.get(id).frames.iter();
        if frames.all(|&frame| profile.function_name(frame).is_empty()) {
            let timeline = timeline(profile, owners, id);
            if let Some(&(_, Some(frame))) = timeline.iter().rfind(|(_, frame)| frame.is_some()) {
                profile.locations.set_frames(id, &[frame]);
            }
        }
    }
}

/// Names all locations, and returns the samples to split. The owners are known.
pub(super) fn name_all(profile: &mut Profile, owners: &mut Owners, extents: &Extents) -> Split {
    let mut split = Split::default();
    if owners.is_empty() {
        return split;
    }
    owners.prepare();
    for index in 0..profile.locations.len() {
        let id = LocationId::from_index(index);
        let timeline = timeline(profile, owners, id);
        match *timeline {
            [] => {}
            [(_, Some(frame))] => profile.locations.set_frames(id, &[frame]),
            _ => {
                let named = timeline.iter().rev().find_map(|(_, frame)| *frame);
                profile.locations.set_frames(id, named.as_slice());
                split.meanings.insert(id, (timeline, named));
            }
        }
    }
    split.settle(profile, extents);
    split
}

/// The frames of a location, with their starts.
fn timeline(profile: &mut Profile, owners: &Owners, id: LocationId) -> Vec<(u64, Option<FrameId>)> {
    let LocationKind::Code(code) = profile.locations.get(id).kind else {
        return Vec::new();
    };
    let address = code.for_lookup().0;
    let mut timeline: Vec<(u64, Option<FrameId>)> = Vec::new();
    for (at, piece) in owners.meanings(profile, id) {
        let frame = piece.map(|(process, piece)| owners.frame(profile, process, piece, address));
        if timeline.last().is_none_or(|last| last.1 != frame) {
            timeline.push((at, frame));
        }
    }
    timeline
}
