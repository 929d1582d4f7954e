//! The tables that inputs share: texts, files, frames, modules, locations, stacks and source text.
//!
//! A row that is alike in two inputs is one row. What looks alike and is not stays apart:
//!
//! - A library lies at another address in each run. Addresses in a file with a build id are moved
//!   to where the first input has that file.
//! - Generated code of one run may lie where other code lay in another: such a place is kept apart.
//! - A source file that was edited between two inputs is two files. The later ones have a number
//!   behind their names.

use std::collections::BTreeMap;

use profundo_model::{
    Avma, CodeAddress, Ends, File, FileId, Frame, FrameId, LocationId, LocationKind, Module,
    ModuleId, Profile, Role, SourceFile, SpanId, SpanPath, StackId, StringId,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// By id of an input, the id in the merged profile.
pub(super) struct Maps {
    pub strings: Vec<StringId>,
    pub frames: Vec<FrameId>,
    pub stacks: Vec<StackId>,
    pub spans: Vec<SpanId>,
}

/// What the shared tables do not say by themselves.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The rows of each module, one for each place in one input.
    modules: FxHashMap<ModuleKey, Vec<ModuleId>>,
    /// Further rows of a module, for places that are in conflict with those in it.
    copies: FxHashMap<ModuleId, Vec<ModuleId>>,
    /// Numbers for places in no module, where two inputs contradict each other.
    invented: FxHashMap<(LocationKind, Box<[FrameId]>), LocationId>,
    /// The files of each path: several where the texts differ.
    versions: FxHashMap<StringId, Vec<FileId>>,
    last_invented: u64,
    /// Whether the inputs are pieces of one recording: an address of a module is one place, which
    /// may have got its name in one piece only.
    are_pieces: bool,
}

/// The identity of a module. Without a build id, its addresses belong to it.
#[derive(Debug, PartialEq, Eq, Hash)]
enum ModuleKey {
    BuildId(StringId, Vec<u8>, Role),
    Mapped(StringId, u64, u64, u64, Role),
}

impl Places {
    /// The tables of the pieces of one recording.
    pub(super) fn of_pieces() -> Self {
        Self {
            are_pieces: true,
            ..Self::default()
        }
    }

    /// Adds the tables of an input.
    pub(super) fn add(&mut self, profile: &mut Profile, input: &Profile) -> Maps {
        let strings: Vec<StringId> = (input.strings.iter())
            .map(|text| profile.strings.intern(text))
            .collect();
        let files = self.files(profile, input, &strings);
        let frames: Vec<FrameId> = (input.frames.iter())
            .map(|frame| {
                profile.frames.intern(Frame {
                    function: strings[frame.function.index()],
                    signature: strings[frame.signature.index()],
                    file: files[frame.file.index()],
                    ..*frame
                })
            })
            .collect();
        let modules = self.modules(profile, input, &strings);
        let mut locations: Vec<LocationId> = Vec::with_capacity(input.locations.len());
        for (_, location) in input.locations.iter() {
            let named: Box<[FrameId]> = (location.frames.iter())
                .map(|frame| frames[frame.index()])
                .collect();
            let module = location.module.map(|id| &modules[id.index()]);
            let kind = kind_of(location.kind, (&frames, &locations, &modules), module);
            locations.push(self.location(profile, kind, module.map(|moved| moved.id), named));
        }
        let mut stacks: Vec<StackId> = Vec::with_capacity(input.stacks.len());
        for stack in input.stacks.iter() {
            // A parent is stored before its children.
            let parent = stack.parent.map(|parent| stacks[parent.index()]);
            let location = locations[stack.location.index()];
            stacks.push(profile.stacks.intern(parent, location));
        }
        let mut spans: Vec<SpanId> = Vec::with_capacity(input.spans.paths.len());
        for (_, path) in input.spans.paths.iter() {
            let text = |id: StringId| strings[id.index()];
            let attributes = path.attributes.iter();
            spans.push(
                profile.spans.paths.intern(SpanPath {
                    // A path stands behind the one around it.
                    parent: path.parent.map(|parent| spans[parent.index()]),
                    name: text(path.name),
                    attributes: attributes
                        .map(|&(key, value)| (text(key), text(value)))
                        .collect(),
                }),
            );
        }
        Maps {
            strings,
            frames,
            stacks,
            spans,
        }
    }

    /// Adds files, the lines of their texts, and what is known about their texts.
    fn files(
        &mut self,
        profile: &mut Profile,
        input: &Profile,
        strings: &[StringId],
    ) -> Vec<FileId> {
        let mut lines: BTreeMap<FileId, Vec<(u32, StringId)>> = BTreeMap::new();
        for (file, line, text) in input.sources.iter() {
            let lines = lines.entry(file).or_default();
            lines.push((line, strings[text.index()]));
        }
        let mut files = Vec::with_capacity(input.files.len());
        for (index, file) in input.files.iter().enumerate() {
            let id = FileId::from_index(index);
            let file = File {
                path: strings[file.path.index()],
                prefix: strings[file.prefix.index()],
                rest: strings[file.rest.index()],
            };
            let lines = lines.get(&id).map_or(&[][..], Vec::as_slice);
            let text = input.source_files.get(&id).copied();
            let merged = self.file(profile, file, lines, text);
            for &(line, text) in lines {
                profile.sources.insert(merged, line, text);
            }
            if let Some(text) = text {
                let known = profile.source_files.get(&merged).copied();
                let both = known.map_or(text, |known| weaker(known, text));
                profile.source_files.insert(merged, both);
            }
            files.push(merged);
        }
        files
    }

    /// The file of this path whose text does not contradict this one.
    fn file(
        &mut self,
        profile: &mut Profile,
        file: File,
        lines: &[(u32, StringId)],
        text: Option<SourceFile>,
    ) -> FileId {
        let versions = self.versions.entry(file.path).or_default();
        let agrees = |id: FileId| {
            let known = profile.source_files.get(&id).copied();
            let is_other = matches!(
                (known, text),
                (Some(SourceFile::Ran(known)), Some(SourceFile::Ran(text))) if known != text
            );
            let mut lines = lines.iter();
            let has_same_lines = lines.all(|&(line, text)| {
                let known = profile.sources.get(id, line);
                known.is_none_or(|known| known == text)
            });
            !is_other && has_same_lines
        };
        if let Some(&id) = versions.iter().find(|&&id| agrees(id)) {
            return id;
        }
        let id = match versions.len() {
            0 => profile.files.intern(file),
            before => {
                let mut numbered = |text: StringId| match profile.strings.get(text) {
                    "" => text,
                    text => {
                        let text = format!("{text} (version {})", before + 1);
                        profile.strings.intern(&text)
                    }
                };
                let file = File {
                    path: numbered(file.path),
                    prefix: file.prefix,
                    rest: numbered(file.rest),
                };
                profile.files.intern(file)
            }
        };
        versions.push(id);
        id
    }

    /// Adds modules. Two rows of an input never become one.
    fn modules(
        &mut self,
        profile: &mut Profile,
        input: &Profile,
        strings: &[StringId],
    ) -> Vec<Moved> {
        let mut taken: FxHashSet<ModuleId> = FxHashSet::default();
        let mut modules = Vec::with_capacity(input.modules.len());
        for (_, module) in input.modules.iter() {
            let path = strings[module.path.index()];
            let key = match module.build_id.is_empty() {
                false => ModuleKey::BuildId(path, module.build_id.clone(), module.role),
                true => {
                    ModuleKey::Mapped(path, module.start.0, module.end.0, module.bias, module.role)
                }
            };
            let rows = self.modules.entry(key).or_default();
            let free = rows.iter().find(|row| !taken.contains(row)).copied();
            let id = free.unwrap_or_else(|| {
                let id = profile.modules.push(Module {
                    path,
                    ..module.clone()
                });
                rows.push(id);
                id
            });
            taken.insert(id);
            let distance = (profile.modules.get(id).bias).wrapping_sub(module.bias);
            modules.push(Moved { id, distance });
        }
        modules
    }

    /// The location of this kind with these frames. Where there is one with other frames, they are
    /// different places that were at one address in different runs.
    fn location(
        &mut self,
        profile: &mut Profile,
        kind: LocationKind,
        module: Option<ModuleId>,
        frames: Box<[FrameId]>,
    ) -> LocationId {
        if let LocationKind::Invented(number) = kind {
            self.last_invented = self.last_invented.max(number);
        }
        let mut tried = 0;
        let mut at = module;
        loop {
            let before = profile.locations.len();
            let id = profile.locations.intern(kind, at);
            if profile.locations.len() > before {
                profile.locations.set_frames(id, &frames);
                return id;
            }
            let known = &profile.locations.get(id).frames;
            if *known == frames {
                return id;
            }
            if self.are_pieces && (known.is_empty() || frames.is_empty()) {
                if known.is_empty() {
                    profile.locations.set_frames(id, &frames);
                }
                return id;
            }
            // These are identified by what they are: one of both was not named.
            let is_named_by_kind = matches!(
                kind,
                LocationKind::Reason(_) | LocationKind::Python { .. } | LocationKind::Wait { .. }
            );
            if is_named_by_kind {
                if known.is_empty() {
                    profile.locations.set_frames(id, &frames);
                }
                return id;
            }
            let Some(module) = module else {
                return self.invent(profile, kind, frames);
            };
            let copies = self.copies.entry(module).or_default();
            if tried == copies.len() {
                let copy = profile.modules.get(module).clone();
                copies.push(profile.modules.push(copy));
            }
            at = Some(copies[tried]);
            tried += 1;
        }
    }

    /// A location with a number of its own.
    fn invent(
        &mut self,
        profile: &mut Profile,
        kind: LocationKind,
        frames: Box<[FrameId]>,
    ) -> LocationId {
        if let Some(&id) = self.invented.get(&(kind, frames.clone())) {
            return id;
        }
        let id = loop {
            self.last_invented = self.last_invented.wrapping_add(1);
            let before = profile.locations.len();
            let kind = LocationKind::Invented(self.last_invented);
            let id = profile.locations.intern(kind, None);
            if profile.locations.len() > before {
                break id;
            }
        };
        profile.locations.set_frames(id, &frames);
        self.invented.insert((kind, frames), id);
        id
    }
}

/// A module of an input in the merged profile.
struct Moved {
    id: ModuleId,
    /// The number that is added to its addresses.
    distance: u64,
}

/// The kind of a location with the ids and addresses of the merged profile.
fn kind_of(
    kind: LocationKind,
    (frames, locations, modules): (&[FrameId], &[LocationId], &[Moved]),
    module: Option<&Moved>,
) -> LocationKind {
    let distance = module.map_or(0, |module| module.distance);
    let moved = |address: Avma| Avma(address.0.wrapping_add(distance));
    match kind {
        LocationKind::Code(CodeAddress::Instruction(address)) => {
            LocationKind::Code(CodeAddress::Instruction(moved(address)))
        }
        LocationKind::Code(CodeAddress::Return(address)) => {
            LocationKind::Code(CodeAddress::Return(moved(address)))
        }
        LocationKind::Python {
            frame,
            column,
            is_call,
        } => LocationKind::Python {
            frame: frames[frame.index()],
            column,
            is_call,
        },
        LocationKind::Wait { frame, wait } => LocationKind::Wait {
            frame: frames[frame.index()],
            wait,
        },
        LocationKind::Part { of, frame, ends } => LocationKind::Part {
            // It stands behind the one that it is a part of.
            of: locations[of.index()],
            frame,
            ends: ends.map(|Ends { kind, library }| Ends {
                kind,
                library: library.map(|id| modules[id.index()].id),
            }),
        },
        kind => kind,
    }
}

/// What is certain about a file's text in both of two inputs.
fn weaker(one: SourceFile, other: SourceFile) -> SourceFile {
    match (one, other) {
        (SourceFile::Ran(_), weaker) => weaker,
        (weaker, _) => weaker,
    }
}
