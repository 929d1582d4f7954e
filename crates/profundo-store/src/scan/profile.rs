//! Sums and definitions as a profile.

use std::collections::BTreeMap;

use profundo_model::{
    Avma, CodeAddress, FrameId, FrameKey, Language, LocationId, LocationKind, Many, Module,
    ModuleId, Nanos, Origin, OriginId, Process, ProcessId, Profile, Reason, Role, Sample,
    SampleKind, Sampling, SpanId, StackId, State, Task, TaskId, Thread, ThreadId, Wait,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::definitions::Definitions;
use super::even;
use super::sums::{Sum, Sums};
use crate::Query;
use crate::ids::{FrameId as Stored, Id};
use crate::query::{By, Condition};
use crate::table::{FrameRow, Kind, LabelRow, SegmentRow, gil_of, squares_of, state_of};
use crate::texts::{Text, Texts};
use crate::writer::{language_of, read_path};

/// The frame of a stack whose definition is lost.
const NOT_KEPT: &str = "[stack not kept]";
/// From this number of periods on, a sample is the sum of several.
const MERGED: u64 = 4;

/// The profile of a query.
pub(super) fn build(query: &Query, sums: &Sums, definitions: Vec<Definitions>) -> Profile {
    let mut profile = Profile::default();
    let mut places = Places::default();
    for part in &definitions {
        places.add(part, &mut profile);
    }
    set_meta(query, sums, &mut profile);
    let told = definitions.iter().flat_map(|part| &part.told);
    add_notes(sums.told.iter().chain(told), &mut profile);
    let threads = add_threads(query, sums, &mut profile);
    let mut spans: FxHashMap<Text, SpanId> = FxHashMap::default();
    // They are in the order of their times.
    let rows = &sums.rows;
    let start = profile.meta.started_at_unix / 1_000_000;
    let since = |ts: i64| {
        let millis = ts.cast_unsigned().saturating_sub(start);
        Nanos(millis.saturating_mul(1_000_000))
    };
    let (mut all, mut lost) = (0_u64, 0_u64);
    for (key, sum) in rows {
        let (thread, task) = threads[key.group as usize];
        let stack = match places.stacks.get(&key.stack) {
            Some(&stack) => stack,
            None => {
                lost = lost.saturating_add(sum.value);
                places.lost(&mut profile)
            }
        };
        all = all.saturating_add(sum.value);
        let span = match key.span {
            0 => SpanId(0),
            text => *(spans.entry(text))
                .or_insert_with(|| read_path(&mut profile, sums.texts.get(text))),
        };
        let state = state_of(sums.texts.get(key.state));
        profile.samples.push(Sample {
            time: since(sum.first),
            weight: Nanos(sum.value),
            thread,
            task,
            stack,
            state,
            gil: gil_of(sums.texts.get(key.gil)),
            span,
            ..Sample::default()
        });
        let many = many(sum, state, profile.meta.period.0, since(sum.last));
        profile.gathered.rows.push(many);
    }
    if lost > 0 {
        let share = lost as f64 / all.max(1) as f64 * 100.0;
        let what = match query.kind {
            Kind::Alloc => "the bytes",
            Kind::Cpu | Kind::Wall => "the time",
        };
        profile.meta.notes.push(format!(
            "{share:.1} % of {what} has no stack: its definition is lost, as where the spool of a writer was full"
        ));
    }
    if !profile.meta.lacks_times && query.kind != Kind::Alloc {
        profile.gathered.taken = even::spread(query, sums, start.cast_signed());
        // Nothing is known of their order, so each is a stretch of its own.
        profile.gathered.ends = (1..=profile.gathered.taken.len()).collect();
    }
    profile
}

/// A sentence on the files that could not be read.
fn add_notes<'t>(told: impl Iterator<Item = &'t String>, profile: &mut Profile) {
    let mut told: Vec<&String> = told.collect();
    told.sort();
    told.dedup();
    if let Some(first) = told.first() {
        let count = match told.len() {
            1 => "1 file of the store".to_owned(),
            many => format!("{many} files of the store"),
        };
        profile
            .meta
            .notes
            .push(format!("{count} could not be read: {first}"));
    }
}

/// What a sum of samples is in reports.
fn many(sum: &Sum, state: State, period: u64, last: Nanos) -> Many {
    let periods = match period {
        0 => 0,
        period => sum.value.saturating_add(period / 2) / period,
    };
    let each = sum.value / sum.count.max(1);
    let is_merged = state == State::Running && period > 0 && each >= period.saturating_mul(MERGED);
    Many {
        samples: sum.count,
        count: periods.max(sum.count),
        squares: squares_of(sum.squares),
        merged: if is_merged { sum.value } else { 0 },
        last,
    }
}

/// The facts of the segments.
fn set_meta(query: &Query, sums: &Sums, profile: &mut Profile) {
    let meta = &mut profile.meta;
    meta.kind = match query.kind {
        Kind::Cpu => SampleKind::Cpu,
        Kind::Wall => SampleKind::Wall,
        Kind::Alloc => SampleKind::Heap(Default::default()),
    };
    meta.lacks_times = query.step.is_none();
    let mut periods: BTreeMap<i64, i64> = BTreeMap::new();
    let mut known = FxHashSet::default();
    let (mut from, mut to) = (i64::MAX, i64::MIN);
    let segments = || {
        sums.segments
            .iter()
            .filter(|row| may_have(query, row, sums))
    };
    for segment in segments() {
        let SegmentRow { period, count, .. } = *segment;
        let samples = periods.entry(period).or_default();
        *samples = samples.saturating_add(count);
        if known.insert(segment.segment) {
            let add = |all: &mut u64, more: i64| {
                *all = all.saturating_add(more.max(0).cast_unsigned());
            };
            add(&mut meta.loss.buffer_full, segment.lost);
            add(&mut meta.loss.truncated, segment.truncated);
            add(&mut meta.loss.broken, segment.broken);
        }
    }
    // The period of most samples, and the shortest of several.
    let most = periods
        .iter()
        .max_by_key(|&(period, samples)| (samples, -period));
    let period = most.map_or(0, |(&period, _)| period.max(0).cast_unsigned());
    meta.period = Nanos(period);
    for (_, sum) in &sums.rows {
        (from, to) = (from.min(sum.first), to.max(sum.last));
    }
    if query.conditions.iter().all(is_of_segments) {
        // A service that has nothing to do lasts longer than its samples.
        for segment in segments() {
            (from, to) = (from.min(segment.starts), to.max(segment.ends));
        }
    } else {
        // What is asked for, such as a version, may be in a part of the segments alone. A row has
        // the time of its first sample, and may last to the end of its segment.
        let of_last = segments().filter(|segment| segment.starts <= to && to < segment.ends);
        to = of_last.map(|segment| segment.ends).min().unwrap_or(to);
    }
    (from, to) = (from.max(query.from), to.min(query.to));
    let length = to.saturating_sub(from).max(0).cast_unsigned();
    meta.started_at_unix = from.max(0).cast_unsigned().saturating_mul(1_000_000);
    meta.duration = Nanos(length.saturating_mul(1_000_000));
    if query.kind == Kind::Alloc {
        profile.heap.sampling = match period {
            0 | 1 => Sampling::All,
            mean => Sampling::Bytes(mean),
        };
    }
}

/// Whether a segment as a whole fulfils a condition or does not.
fn is_of_segments(condition: &Condition) -> bool {
    condition.key == "host"
}

/// Whether samples of a segment may fulfil all conditions.
fn may_have(query: &Query, segment: &SegmentRow, sums: &Sums) -> bool {
    let host = sums.texts.get(segment.host);
    let mut wanted = query.conditions.iter().filter(|one| is_of_segments(one));
    wanted.all(|condition| condition.values.iter().any(|value| value == host))
}

/// The threads of the groups, with their processes and origins.
fn add_threads(query: &Query, sums: &Sums, profile: &mut Profile) -> Vec<(ThreadId, TaskId)> {
    let texts = &sums.texts;
    let mut origins: FxHashMap<LabelRow, OriginId> = FxHashMap::default();
    let mut processes: FxHashMap<(OriginId, i64, Text), ProcessId> = FxHashMap::default();
    let mut threads = Vec::new();
    for group in &sums.groups {
        let origin = LabelRow {
            service: group.service,
            host: group.host,
            version: group.version,
            container: group.container,
            pod: group.pod,
            labels: group.labels.clone(),
            ..LabelRow::default()
        };
        let origin = *origins.entry(origin).or_insert_with_key(|row| {
            let origin = origin_of(row, texts, profile);
            profile.origins.push(origin);
            OriginId::from_index(profile.origins.len() - 1)
        });
        let is_coarse = matches!(query.by, By::Host | By::Service);
        let command = if is_coarse {
            group.service
        } else {
            group.command
        };
        let process = *processes
            .entry((origin, group.pid, command))
            .or_insert_with(|| {
                let process = Process {
                    pid: u32::try_from(group.pid).unwrap_or(0),
                    command: profile.strings.intern(texts.get(command)),
                    runtime: profile.strings.intern(texts.get(group.runtime)),
                    origin: Some(origin),
                    ..Process::default()
                };
                profile.processes.push(process);
                ProcessId::from_index(profile.processes.len() - 1)
            });
        let number = threads.len() as u64 + 1;
        let thread = profile.threads.push(Thread {
            number,
            tid: u32::try_from(group.tid).unwrap_or(0),
            name: profile.strings.intern(texts.get(group.thread)),
            process,
            ..Thread::default()
        });
        let task = profile.tasks.push(Task {
            number,
            is_root: true,
            ..Task::default()
        });
        threads.push((thread, task));
    }
    for origin in &mut profile.origins {
        (origin.duration, origin.period) = (profile.meta.duration, profile.meta.period);
        origin.started_at_unix = profile.meta.started_at_unix;
    }
    threads
}

fn origin_of(row: &LabelRow, texts: &Texts, profile: &mut Profile) -> Origin {
    let known = [
        ("service", row.service),
        ("host", row.host),
        ("version", row.version),
        ("container", row.container),
        ("pod", row.pod),
    ];
    let mut origin = Origin::default();
    let further = row
        .labels
        .iter()
        .map(|&(key, value)| (texts.get(key), value));
    for (key, value) in known.into_iter().chain(further) {
        if value > 0 {
            let strings = &mut profile.strings;
            let (key, value) = (strings.intern(key), strings.intern(texts.get(value)));
            origin.set_label(key, value);
        }
    }
    origin
}

/// The stacks and locations of the profile, by their ids in the store.
#[derive(Default)]
struct Places {
    stacks: FxHashMap<Id, StackId>,
    modules: FxHashMap<(String, String), ModuleId>,
    /// The locations of frames without inlined ones, and of those with them.
    alone: FxHashMap<Stored, LocationId>,
    groups: FxHashMap<Vec<Stored>, LocationId>,
    invented: u64,
    lost: Option<StackId>,
}

impl Places {
    fn add(&mut self, part: &Definitions, profile: &mut Profile) {
        let rows = part.frames.iter();
        let rows: FxHashMap<Stored, &FrameRow> = rows.map(|row| (row.frame, row)).collect();
        // Neighbours begin alike, so most of a stack is known from the one before it.
        let mut before: Vec<(Stored, StackId, bool)> = Vec::new();
        for row in &part.stacks {
            let known = before.iter().zip(&row.frames);
            let mut same = known.take_while(|((id, ..), frame)| id == *frame).count();
            // The last one that is alike may have other inlined frames behind it.
            while same > 0 && !before[same - 1].2 {
                same -= 1;
            }
            same = same.saturating_sub(1);
            while same > 0 && !before[same - 1].2 {
                same -= 1;
            }
            before.truncate(same);
            let mut stack = before.last().map(|&(_, stack, _)| stack);
            let mut rest = &row.frames[same..];
            while let Some((&first, behind)) = rest.split_first() {
                let is_inlined = |id: &&Stored| rows.get(*id).is_some_and(|row| row.inlined);
                let inlined = behind.iter().take_while(is_inlined).count();
                let (group, others) = rest.split_at(inlined + 1);
                let location = match inlined {
                    0 => self.alone.get(&first).copied(),
                    _ => self.groups.get(group).copied(),
                };
                let location = location.unwrap_or_else(|| {
                    let group_rows: Vec<Option<&FrameRow>> =
                        group.iter().map(|id| rows.get(id).copied()).collect();
                    let location = self.location(&group_rows, &part.texts, profile);
                    match inlined {
                        0 => self.alone.insert(first, location),
                        _ => self.groups.insert(group.to_vec(), location),
                    };
                    location
                });
                let id = profile.stacks.intern(stack, location);
                stack = Some(id);
                let last = group.len() - 1;
                let steps = group.iter().enumerate();
                before.extend(steps.map(|(at, &frame)| (frame, id, at == last)));
                rest = others;
            }
            let stack = stack.unwrap_or_else(|| self.lost(profile));
            self.stacks.insert(row.stack, stack);
        }
    }

    /// The location of a function and the functions inlined in it, the outermost first.
    fn location(
        &mut self,
        rows: &[Option<&FrameRow>],
        texts: &Texts,
        profile: &mut Profile,
    ) -> LocationId {
        let frames: Vec<FrameId> = rows
            .iter()
            .rev()
            .map(|row| match row {
                Some(row) => profile.frame(frame_key(row, texts)),
                None => profile.frame(marker(NOT_KEPT)),
            })
            .collect();
        let row = rows.first().copied().flatten();
        let module = row.and_then(|row| self.module(row, texts, profile));
        let kind = match (row, &frames[..]) {
            (Some(row), &[frame]) => kind_of(row, frame, texts),
            _ => None,
        };
        let kind = kind.unwrap_or_else(|| {
            self.invented += 1;
            LocationKind::Invented(self.invented)
        });
        let location = profile.locations.intern(kind, module);
        profile.locations.set_frames(location, &frames);
        location
    }

    fn module(&mut self, row: &FrameRow, texts: &Texts, profile: &mut Profile) -> Option<ModuleId> {
        if row.module == 0 {
            return None;
        }
        let (path, build_id) = (texts.get(row.module), texts.get(row.build_id));
        let key = (path.to_owned(), build_id.to_owned());
        let module = self.modules.entry(key).or_insert_with(|| {
            let digits = build_id.as_bytes().chunks_exact(2);
            let digits = digits.map(|pair| std::str::from_utf8(pair).unwrap_or_default());
            profile.modules.push(Module {
                path: profile.strings.intern(path),
                build_id: digits
                    .filter_map(|pair| u8::from_str_radix(pair, 16).ok())
                    .collect(),
                role: Role::of_path(path),
                ..Module::default()
            })
        });
        Some(*module)
    }

    /// The stack of samples whose definition is lost.
    fn lost(&mut self, profile: &mut Profile) -> StackId {
        *self.lost.get_or_insert_with(|| {
            let frame = profile.frame(marker(NOT_KEPT));
            self.invented += 1;
            let kind = LocationKind::Invented(self.invented);
            let location = profile.locations.intern(kind, None);
            profile.locations.set_frames(location, &[frame]);
            profile.stacks.intern(None, location)
        })
    }
}

fn marker(name: &str) -> FrameKey<'_> {
    FrameKey {
        function: name,
        language: Language::Synthetic,
        ..FrameKey::default()
    }
}

fn frame_key<'t>(row: &FrameRow, texts: &'t Texts) -> FrameKey<'t> {
    FrameKey {
        function: texts.get(row.function),
        signature: texts.get(row.signature),
        file: texts.get(row.file),
        prefix: texts.get(row.prefix),
        rest: texts.get(row.rest),
        line: row.line.cast_unsigned(),
        language: language_of(texts.get(row.kind)),
        inlined: row.inlined,
    }
}

/// The kind of a location, where a frame tells more than a name.
fn kind_of(row: &FrameRow, frame: FrameId, texts: &Texts) -> Option<LocationKind> {
    let (kind, wait, function) = (
        texts.get(row.kind),
        texts.get(row.wait),
        texts.get(row.function),
    );
    if let Some(wait) = Wait::ALL.into_iter().find(|known| known.name() == wait) {
        return Some(LocationKind::Wait { frame, wait });
    }
    match kind {
        "python" => Some(LocationKind::Python {
            frame,
            column: u16::try_from(row.column).unwrap_or(0),
            is_call: row.is_call,
        }),
        "marker" => {
            let mut reasons = Reason::ALL.into_iter();
            let reason = reasons.find(|reason| reason.name() == function);
            reason.map(LocationKind::Reason)
        }
        _ if row.address != 0 => {
            let address = Avma(row.address.cast_unsigned());
            Some(LocationKind::Code(CodeAddress::Instruction(address)))
        }
        _ => None,
    }
}
