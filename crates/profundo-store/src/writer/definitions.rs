//! The definitions behind samples: threads, stacks and frames of a profile, with their ids.

use profundo_model::{Language, LocationId, LocationKind, ProcessId, Profile, StackId, ThreadId};
use rustc_hash::FxHashMap;

use super::{Identity, Rows, Written};
use crate::ids::{Id, ROOT, stack_id};
use crate::table::{FrameRow, LabelRow, StackRow};
use crate::texts::{Text, Texts};

/// The definitions of a profile, each made when it is needed first.
pub(super) struct Definitions<'p> {
    profile: &'p Profile,
    identity: &'p Identity,
    /// The texts of `frames`.
    texts: Texts,
    processes: FxHashMap<ProcessId, Identity>,
    series: FxHashMap<ThreadId, i64>,
    stacks: FxHashMap<StackId, Id>,
    /// The frames of a location, the outermost first.
    frames: FxHashMap<LocationId, Vec<FrameRow>>,
}

impl<'p> Definitions<'p> {
    pub(super) fn new(profile: &'p Profile, identity: &'p Identity) -> Self {
        Self {
            profile,
            identity,
            texts: Texts::default(),
            processes: FxHashMap::default(),
            series: FxHashMap::default(),
            stacks: FxHashMap::default(),
            frames: FxHashMap::default(),
        }
    }

    /// What is known of a thread's process.
    pub(super) fn label_of(&mut self, thread: ThreadId) -> &Identity {
        let process = self.profile.threads.get(thread).process;
        let (profile, general) = (self.profile, self.identity);
        self.processes
            .entry(process)
            .or_insert_with(|| identity_of(profile, general, process))
    }

    /// The service and the series of a thread, which is defined if it is not yet.
    pub(super) fn series(
        &mut self,
        thread: ThreadId,
        rows: &mut Rows,
        written: &mut Written,
    ) -> (Text, i64) {
        let known = self.series.get(&thread).copied();
        if let Some(series) = known.filter(|series| written.series.contains(series)) {
            let service = &self.label_of(thread).service;
            return (rows.texts.add(service), series);
        }
        let row = self.label_row(thread, &mut rows.texts);
        let (service, series) = (row.service, row.series);
        self.series.insert(thread, series);
        if written.series.insert(series) {
            rows.labels.push(row);
        }
        (service, series)
    }

    fn label_row(&mut self, thread: ThreadId, texts: &mut Texts) -> LabelRow {
        let profile = self.profile;
        let of = profile.threads.get(thread);
        let process = profile.processes.get(of.process.index());
        let name = |id| profile.strings.get(id);
        let identity = self.label_of(thread);
        let mut row = LabelRow {
            service: texts.add(&identity.service),
            host: texts.add(&identity.host),
            version: texts.add(&identity.version),
            container: texts.add(&identity.container),
            pod: texts.add(&identity.pod),
            pid: process.map_or(0, |process| i64::from(process.pid)),
            command: texts.add(process.map_or("", |process| name(process.command))),
            runtime: texts.add(process.map_or("", |process| name(process.runtime))),
            tid: i64::from(of.tid),
            thread: texts.add(name(of.name)),
            number: of.number.cast_signed(),
            ..LabelRow::default()
        };
        let labels = identity.labels.iter();
        row.labels = labels
            .map(|(key, value)| (texts.add(key), texts.add(value)))
            .collect();
        row.series = row.id(texts);
        row
    }

    /// The id of a stack, which is defined with its frames if it is not yet.
    pub(super) fn stack(
        &mut self,
        stack: StackId,
        service: Text,
        rows: &mut Rows,
        written: &mut Written,
    ) -> Id {
        let id = self.stack_id(stack);
        if !written.stacks.insert(id) {
            return id;
        }
        let profile = self.profile;
        let mut locations: Vec<LocationId> = profile.stacks.locations(stack).collect();
        locations.reverse();
        let mut frames = Vec::new();
        for location in locations {
            self.frames_of(location);
            for row in self.frames.get(&location).into_iter().flatten() {
                frames.push(row.frame);
                if written.frames.insert(row.frame) {
                    let row = row.carried(&self.texts, &mut rows.texts);
                    rows.frames.push(FrameRow { service, ..row });
                }
            }
        }
        rows.stacks.push(StackRow {
            service,
            stack: id,
            frames,
        });
        id
    }

    fn stack_id(&mut self, stack: StackId) -> Id {
        let profile = self.profile;
        let mut unknown = Vec::new();
        let mut id = ROOT;
        let mut next = Some(stack);
        while let Some(stack) = next {
            if let Some(&known) = self.stacks.get(&stack) {
                id = known;
                break;
            }
            unknown.push(stack);
            next = profile.stacks.get(stack).parent;
        }
        while let Some(stack) = unknown.pop() {
            let frames = self.frames_of(profile.stacks.get(stack).location);
            id = frames.iter().fold(id, |id, row| stack_id(id, row.frame));
            self.stacks.insert(stack, id);
        }
        id
    }

    fn frames_of(&mut self, location: LocationId) -> &[FrameRow] {
        let (profile, texts) = (self.profile, &mut self.texts);
        (self.frames.entry(location)).or_insert_with(|| frame_rows(profile, location, texts))
    }
}

/// What is known of a process.
fn identity_of(profile: &Profile, general: &Identity, process: ProcessId) -> Identity {
    let mut identity = general.clone();
    for (key, value) in profile.all_labels_of(process) {
        let (key, value) = (
            profile.strings.get(key),
            profile.strings.get(value).to_owned(),
        );
        match key {
            "service" => identity.service = value,
            "host" => identity.host = value,
            "version" => identity.version = value,
            "container" => identity.container = value,
            "pod" => identity.pod = value,
            _ => {
                identity.labels.retain(|(other, _)| other != key);
                identity.labels.push((key.to_owned(), value));
            }
        }
    }
    identity.labels.sort();
    identity
}

/// The rows of a location, the outermost first.
fn frame_rows(profile: &Profile, location: LocationId, texts: &mut Texts) -> Vec<FrameRow> {
    let of = profile.locations.get(location);
    let mut common = FrameRow::default();
    let module = of.module.map(|module| profile.modules.get(module));
    if let Some(module) = module {
        let build_id = module.build_id.iter();
        let build_id: String = build_id.map(|byte| format!("{byte:02x}")).collect();
        common.module = texts.add(profile.strings.get(module.path));
        common.build_id = texts.add(&build_id);
    }
    match of.kind {
        LocationKind::Python {
            column, is_call, ..
        } => {
            (common.column, common.is_call) = (i32::from(column), is_call);
        }
        LocationKind::Wait { wait, .. } => common.wait = texts.add(wait.name()),
        LocationKind::Reason(reason) if of.frames.is_empty() => {
            common.kind = texts.add(kind_name(Language::Synthetic));
            common.function = texts.add(reason.name());
        }
        _ => {}
    }
    let has_name = of
        .frames
        .iter()
        .any(|&frame| !profile.function_name(frame).is_empty());
    if let (LocationKind::Code(address), false) = (of.kind, has_name) {
        let bias = module.map_or(0, |module| module.bias);
        common.address = address.for_lookup().0.wrapping_sub(bias).cast_signed();
    }
    let mut rows: Vec<FrameRow> = Vec::new();
    for (place, &id) in of.frames.iter().enumerate() {
        let frame = profile.frames.get(id);
        let file = profile.files.get(frame.file);
        let name = |id| profile.strings.get(id);
        let kind = match (of.kind, name(file.path), texts.get(common.module)) {
            (LocationKind::Wait { .. } | LocationKind::Reason(_), ..) => {
                kind_name(Language::Synthetic)
            }
            (.., "[kernel]") => KERNEL,
            _ => kind_name(frame.language),
        };
        let is_short = file.prefix.index() > 0 || name(file.rest) != name(file.path);
        rows.push(FrameRow {
            kind: texts.add(kind),
            inlined: place + 1 < of.frames.len(),
            function: texts.add(name(frame.function)),
            signature: texts.add(name(frame.signature)),
            file: texts.add(name(file.path)),
            prefix: texts.add(name(file.prefix)),
            rest: if is_short {
                texts.add(name(file.rest))
            } else {
                0
            },
            line: frame.line.cast_signed(),
            ..common
        });
    }
    if rows.is_empty() {
        if common.kind == 0 {
            common.kind = texts.add(kind_name(Language::Native));
        }
        rows.push(common);
    }
    rows.reverse();
    for row in &mut rows {
        row.frame = row.id(texts);
    }
    rows
}

/// The word for code of the kernel.
pub(crate) const KERNEL: &str = "kernel";

const LANGUAGES: [(Language, &str); 8] = [
    (Language::Rust, "rust"),
    (Language::Native, "native"),
    (Language::Python, "python"),
    (Language::JavaScript, "javascript"),
    (Language::Julia, "julia"),
    (Language::Generated, "generated"),
    (Language::Runtime, "runtime"),
    (Language::Synthetic, "marker"),
];

/// The word of a language in the column `kind`.
pub(crate) fn kind_name(language: Language) -> &'static str {
    let known = LANGUAGES.iter().find(|(known, _)| *known == language);
    known.map_or("native", |&(_, name)| name)
}

/// The language of a word; the kernel's code and unknown words are native.
pub(crate) fn language_of(name: &str) -> Language {
    let known = LANGUAGES.iter().find(|(_, known)| *known == name);
    known.map_or(Language::Native, |&(language, _)| language)
}
