//! The amounts of one run: rows with their keys, on the common scale.

use profundo_model::{Kind, Profile, SampleKind};
use rustc_hash::FxHashMap;

use super::test::Cell;
use super::{By, CompareError, Prepared, Unit};
use crate::amount::Amount;
use crate::interval::Z;
use crate::weights::is_exact;
use crate::{
    Estimate, GroupBy, Place, Selection, command_name, groups, held, io, lines, shares, spans,
    traced, traced_lines, waits,
};

/// The rows of one run.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub rows: Vec<MeasuredRow>,
}

/// A row of one run.
#[derive(Debug)]
pub(super) struct MeasuredRow {
    pub of: Key,
    pub own: Cell,
    pub total: Option<Cell>,
    /// The time of counted calls.
    pub time: Option<f64>,
}

/// What a row is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A function or a line.
    Place(Place),
    /// Something with a name, and where it is.
    Named(String, Option<Place>),
}

/// The word for what a profile measures.
pub(super) fn kind_name(profile: &Profile) -> String {
    let event = &profile.meta.event;
    let name = match profile.meta.kind {
        SampleKind::Events if !event.is_empty() => event,
        SampleKind::Cpu => "CPU time",
        SampleKind::Wall => "elapsed time",
        SampleKind::Traced => "every call",
        SampleKind::Events => "samples",
        SampleKind::Heap(measure) if measure.counts => "blocks of memory",
        SampleKind::Heap(_) => "bytes of memory",
    };
    name.to_owned()
}

pub(super) fn unit(profile: &Profile) -> Unit {
    match profile.meta.kind {
        SampleKind::Events => Unit::Count,
        SampleKind::Heap(measure) if measure.counts => Unit::Count,
        SampleKind::Heap(_) => Unit::Bytes,
        _ => Unit::Time,
    }
}

fn all<'a>(profiles: &'a [Vec<&'a Profile>; 2]) -> impl Iterator<Item = &'a Profile> {
    profiles.iter().flat_map(|side| side.iter().copied())
}

/// The tables that suit these recordings.
pub(super) fn usual(profiles: &[Vec<&Profile>; 2]) -> Vec<By> {
    let has = |what: fn(&Profile) -> bool| all(profiles).all(what);
    let has_samples = !all(profiles).all(|profile| profile.samples.is_empty());
    let mut by = Vec::new();
    if has_samples && has(|profile| matches!(profile.meta.kind, SampleKind::Traced)) {
        by.push(By::Function);
    } else if has_samples {
        by.extend([By::Function, By::Line]);
    }
    if has(|profile| !profile.traced.calls.is_empty()) {
        by.push(By::Calls);
    }
    if has(|profile| !profile.traced.lines.is_empty()) {
        by.push(By::Hits);
    }
    if has(|profile| matches!(profile.meta.kind, SampleKind::Heap(_))) {
        by.push(By::Type);
    }
    if by.is_empty() {
        by.push(By::Function);
    }
    by
}

/// Whether a table can be made.
pub(super) fn check(by: By, profiles: &[Vec<&Profile>; 2]) -> Result<(), CompareError> {
    let each = |what: fn(&Profile) -> bool| all(profiles).all(what);
    let (has, why) = match by {
        By::Type => (
            each(|profile| matches!(profile.meta.kind, SampleKind::Heap(_))),
            "types are those of memory, which `--of allocated` and the like compare",
        ),
        By::Calls => (
            each(|profile| !profile.traced.calls.is_empty()),
            "calls were not counted; `profundo trace` counts them",
        ),
        By::Hits => (
            each(|profile| !profile.traced.lines.is_empty()),
            "runs of lines were not counted; `profundo trace --lines` counts them",
        ),
        By::Io => (
            each(|profile| !profile.traffic.is_empty()),
            "what was read and written was not counted; `profundo run --wall` counts it",
        ),
        By::Span => (
            each(|profile| profile.spans.paths.is_any()),
            "the programs have named no spans",
        ),
        By::Wait => (
            each(|profile| profile.meta.kind == SampleKind::Wall),
            "waits were not recorded; `profundo run --wall` records them",
        ),
        _ => (true, ""),
    };
    match has {
        true => Ok(()),
        false => Err(CompareError::NotRecorded(by.name(), why)),
    }
}

/// The amounts and variances of whole runs.
pub(super) fn wholes(prepared: &Prepared<'_>, side: usize) -> Vec<Cell> {
    let runs = prepared.profiles[side]
        .iter()
        .zip(&prepared.selections[side]);
    runs.map(|(profile, selection)| {
        let scale = prepared.scale.of_run(profile, selection);
        let mass = selection.mass(profile);
        let variance = match profile.meta.kind {
            SampleKind::Heap(_) if !is_exact(profile) => mass.squares,
            // The kernel has counted the time of whole processes, or of whole threads.
            _ => 0.0,
        };
        Cell {
            value: mass.weight * scale,
            variance: variance * scale * scale,
        }
    })
    .collect()
}

/// The relative spread of whole runs within their sides.
pub(super) fn spread_of_wholes(prepared: &Prepared<'_>) -> f64 {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for side in [0, 1] {
        let logarithms: Vec<f64> = (wholes(prepared, side).iter())
            .filter(|cell| cell.value > 0.0)
            .map(|cell| cell.value.ln())
            .collect();
        let mean = logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64;
        let off = logarithms.iter().map(|each| (each - mean).powi(2));
        squares += off.sum::<f64>();
        freedom += logarithms.len().saturating_sub(1) as f64;
    }
    (squares / freedom.max(1.0)).sqrt()
}

/// Turns sums into cells of one run.
pub(super) struct Scaled {
    scale: f64,
    whole: f64,
    /// The square of a usual sample.
    one: f64,
    is_exact: bool,
    is_heap: bool,
}

impl Scaled {
    pub(super) fn new(prepared: &Prepared<'_>, side: usize, run: usize) -> Self {
        let profile = prepared.profiles[side][run];
        let selection = &prepared.selections[side][run];
        let mass = selection.mass(profile);
        let one = match mass.weight > 0.0 {
            true => (mass.squares / mass.weight).powi(2),
            false => 0.0,
        };
        Self {
            one,
            scale: prepared.scale.of_run(profile, selection),
            whole: selection.weight(profile) as f64,
            is_exact: is_exact(profile),
            is_heap: matches!(profile.meta.kind, SampleKind::Heap(_)),
        }
    }

    /// The cell of a sum whose share has this estimate. The order of the samples may show that a
    /// run's own share is known better than by lottery; but a phase of start-up that is known to a
    /// millisecond is not as long in the next run, so the lottery is the least.
    pub(super) fn cell(&self, amount: &Amount, share: &Estimate) -> Cell {
        let ordered = match (self.is_exact, self.is_heap) {
            (false, false) => share.margin() / Z * self.whole,
            _ => 0.0,
        };
        let lottery = self.sum(amount.weight, amount.squares);
        Cell {
            variance: lottery.variance.max((ordered * self.scale).powi(2)),
            ..lottery
        }
    }

    fn with(&self, value: f64, deviation: f64) -> Cell {
        Cell {
            value: value * self.scale,
            variance: (deviation * self.scale).powi(2),
        }
    }

    /// The cell of a sum of samples without their order.
    fn sum(&self, weight: u64, squares: f64) -> Cell {
        let share = (weight as f64 / self.whole.max(1.0)).min(1.0);
        let deviation = match (self.is_exact, self.is_heap) {
            (true, _) => 0.0,
            // One sample more or less: a row of five samples is known less well than its squares
            // say, and one without any is not known to be nothing.
            (_, true) => (squares + self.one).sqrt(),
            _ => ((squares + self.one) * (1.0 - share)).max(0.0).sqrt(),
        };
        self.with(weight as f64, deviation)
    }
}

/// The rows of all runs of both sides. Each takes long where there are many samples, so several are
/// measured at the same time.
pub(super) fn measure_all(prepared: &Prepared<'_>, by: By) -> [Vec<Measured>; 2] {
    let sides = [0, 1].map(|side| prepared.profiles[side].len());
    let all = [0, 1].map(|side| (0..sides[side]).map(move |run| (side, run)));
    let all: Vec<(usize, usize)> = all.into_iter().flatten().collect();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut rows = [Vec::new(), Vec::new()];
    for some in all.chunks(workers.max(1)) {
        let mut found = std::thread::scope(|scope| -> Vec<Measured> {
            let (first, others) = some.split_first().expect("a chunk has a run");
            let others: Vec<_> = (others.iter())
                .map(|&(side, run)| scope.spawn(move || measure(prepared, by, side, run)))
                .collect();
            let first = measure(prepared, by, first.0, first.1);
            let others = others.into_iter().map(|thread| match thread.join() {
                Ok(measured) => measured,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            std::iter::once(first).chain(others).collect()
        });
        for (&(side, _), measured) in some.iter().zip(found.drain(..)) {
            rows[side].push(measured);
        }
    }
    rows
}

/// The rows of a run.
fn measure(prepared: &Prepared<'_>, by: By, side: usize, run: usize) -> Measured {
    let profile = prepared.profiles[side][run];
    let selection = &prepared.selections[side][run];
    let scaled = Scaled::new(prepared, side, run);
    let rows = match by {
        By::Function if profile.meta.kind == SampleKind::Traced => {
            traced_times(profile, selection, &scaled)
        }
        By::Function => (shares(profile, selection, prepared.options.shown).iter())
            .map(|row| MeasuredRow {
                of: Key::Place(row.place),
                own: scaled.cell(&row.own_amount, &row.own),
                total: Some(scaled.cell(&row.total_amount, &row.total)),
                time: None,
            })
            .collect(),
        By::Line => (lines(profile, selection, &prepared.lines()).files.iter())
            .flat_map(|file| &file.lines)
            .map(|row| MeasuredRow {
                of: Key::Place(Place::Frame(row.frame)),
                own: scaled.cell(&row.own_amount, &row.own),
                total: Some(scaled.cell(&row.total_amount, &row.total)),
                time: None,
            })
            .collect(),
        By::Kind => kinds(profile, selection, &scaled),
        By::Type => types(profile, selection, &scaled),
        By::Thread => grouped(profile, prepared, &GroupBy::Thread, &scaled),
        By::Process => grouped(profile, prepared, &GroupBy::Command, &scaled),
        By::Task => grouped(profile, prepared, &GroupBy::Task, &scaled),
        By::Wait => waiting(profile, selection, prepared, &scaled),
        By::Span => in_spans(profile, selection, prepared, &scaled),
        By::Io => traffic(profile, selection, prepared, &scaled),
        By::Calls => calls(profile, selection, &scaled),
        By::Hits => hits(profile, prepared, &scaled),
        By::Stack => Vec::new(),
    };
    Measured { rows }
}

fn named(name: impl Into<String>, own: Cell) -> MeasuredRow {
    MeasuredRow {
        of: Key::Named(name.into(), None),
        own,
        total: None,
        time: None,
    }
}

/// The name of the row for what is in no span.
const OUTSIDE: &str = "[outside of spans]";

fn in_spans(
    profile: &Profile,
    selection: &Selection,
    prepared: &Prepared<'_>,
    scaled: &Scaled,
) -> Vec<MeasuredRow> {
    let found = spans(profile, selection, &prepared.options.filter, &GroupBy::Span);
    let mut rows: Vec<MeasuredRow> = (found.rows.iter())
        .map(|row| MeasuredRow {
            total: Some(scaled.cell(&row.total, &row.total_share)),
            ..named(
                profile.strings.get(row.name),
                scaled.cell(&row.own, &row.own_share),
            )
        })
        .collect();
    let outside = scaled.cell(&found.outside, &found.outside_share);
    rows.push(MeasuredRow {
        total: Some(outside),
        ..named(OUTSIDE, outside)
    });
    rows
}

fn kinds(profile: &Profile, selection: &Selection, scaled: &Scaled) -> Vec<MeasuredRow> {
    let split = selection.split(profile);
    let mass = selection.mass(profile);
    let each = match mass.weight > 0.0 {
        true => mass.squares / mass.weight,
        false => 0.0,
    };
    let rows = Kind::ALL.into_iter().map(|kind| {
        let weight = match kind {
            Kind::Python => split.python,
            Kind::Native => split.native,
            Kind::System => split.system,
            Kind::Waiting => split.waiting,
            Kind::Unreadable => split.unreadable,
        };
        named(kind.name(), scaled.sum(weight, weight as f64 * each))
    });
    rows.filter(|row| row.own.value > 0.0).collect()
}

/// Adds up cells by name.
#[derive(Default)]
struct Names {
    rows: FxHashMap<String, usize>,
    list: Vec<(String, u64, f64)>,
}

impl Names {
    fn add(&mut self, name: String, weight: u64, squares: f64) {
        let at = *self.rows.entry(name.clone()).or_insert_with(|| {
            self.list.push((name, 0, 0.0));
            self.list.len() - 1
        });
        self.list[at].1 = self.list[at].1.saturating_add(weight);
        self.list[at].2 += squares;
    }

    fn rows(self, scaled: &Scaled) -> Vec<MeasuredRow> {
        (self.list.into_iter())
            .map(|(name, weight, squares)| named(name, scaled.sum(weight, squares)))
            .collect()
    }
}

fn types(profile: &Profile, selection: &Selection, scaled: &Scaled) -> Vec<MeasuredRow> {
    let mut names = Names::default();
    for stack in selection.stacks(profile) {
        let held = held(profile, stack.stack);
        let name = match held.type_name.is_empty() {
            true => "[unknown type]".to_owned(),
            false => held.type_name,
        };
        names.add(name, stack.weight, stack.squares);
    }
    names.rows(scaled)
}

/// Threads, programs or tasks by their names. Those of one name are one row.
fn grouped(
    profile: &Profile,
    prepared: &Prepared<'_>,
    by: &GroupBy,
    scaled: &Scaled,
) -> Vec<MeasuredRow> {
    let mut names = Names::default();
    for group in groups(profile, &prepared.options.filter, by) {
        let name = match (by, group.thread, group.task, group.process) {
            (GroupBy::Thread, Some(thread), ..) => {
                let row = profile.threads.get(thread);
                match profile.strings.get(row.name) {
                    "" => format!("thread {}", row.number),
                    name => name.to_owned(),
                }
            }
            (GroupBy::Task, _, Some(task), _) => {
                let row = profile.tasks.get(task);
                match (profile.strings.get(row.name), row.is_root) {
                    // Its name is that of the thread.
                    (_, true) => "no task".to_owned(),
                    ("", false) => match profile.strings.get(row.spawned_at) {
                        "" => "unnamed tasks".to_owned(),
                        place => format!("tasks of {place}"),
                    },
                    (name, _) => name.to_owned(),
                }
            }
            (_, _, _, Some(process)) => command_name(profile, process).to_owned(),
            _ => continue,
        };
        let mass = group.selection.mass(profile);
        names.add(name, group.selection.weight(profile), mass.squares);
    }
    names.rows(scaled)
}

fn waiting(
    profile: &Profile,
    selection: &Selection,
    prepared: &Prepared<'_>,
    scaled: &Scaled,
) -> Vec<MeasuredRow> {
    /// A wait is sampled as finely as this.
    const SAMPLED: f64 = 10e6;
    let mut rows: FxHashMap<Key, u64> = FxHashMap::default();
    for row in waits(profile, selection, prepared.options.shown) {
        let wait = row.wait.map_or("unknown", |wait| wait.name());
        let name = match (row.is_idle, wait) {
            (true, _) => "idle threads".to_owned(),
            (false, wait) => wait.to_owned(),
        };
        let at = row.at.filter(|_| !row.is_idle);
        *rows.entry(Key::Named(name, at)).or_default() += row.weight;
    }
    let row = |(of, weight): (Key, u64)| MeasuredRow {
        of,
        own: scaled.with(weight as f64, (weight as f64 * SAMPLED).sqrt()),
        total: None,
        time: None,
    };
    rows.into_iter().map(row).collect()
}

fn traffic(
    profile: &Profile,
    selection: &Selection,
    prepared: &Prepared<'_>,
    scaled: &Scaled,
) -> Vec<MeasuredRow> {
    let options = &prepared.options;
    let found = io(profile, selection, &options.filter, options.shown);
    let all = found.total.read.saturating_add(found.total.written) as f64;
    let rows = found.files.into_iter().map(|row| {
        let name = row.of.unwrap_or_else(|| "unknown".to_owned());
        let bytes = row.amount.read.saturating_add(row.amount.written) as f64;
        // All bytes are counted, and shared out to the files of the samples nearby: a file that
        // has them all has no chance in it.
        let samples = row.amount.samples.max(1) as f64;
        let others = (1.0 - bytes / all.max(1.0)).max(0.0);
        named(name, scaled.with(bytes, bytes * (others / samples).sqrt()))
    });
    rows.collect()
}

fn calls(profile: &Profile, selection: &Selection, scaled: &Scaled) -> Vec<MeasuredRow> {
    let table = traced(profile, selection);
    (table.functions.iter())
        .map(|function| MeasuredRow {
            of: Key::Place(function.place),
            own: scaled.with(function.counted.begun.calls as f64, 0.0),
            total: None,
            time: Some(function.counted.total as f64),
        })
        .collect()
}

/// The times of counted calls. The cost of counting is taken out of them, and is itself known only
/// as a mean.
fn traced_times(profile: &Profile, selection: &Selection, scaled: &Scaled) -> Vec<MeasuredRow> {
    /// The part of the cost that may be wrong, as a standard deviation.
    const DOUBT: f64 = 0.5;
    /// The time that a thread waits for a CPU which others have, once.
    const PREEMPTED: f64 = 10e6;
    let waited = PREEMPTED * super::assumed::busy(profile);
    let table = traced(profile, selection);
    let cell = |time: u64, cost: u64| scaled.with(time as f64, waited.max(DOUBT * cost as f64));
    (table.functions.iter())
        .map(|function| {
            let counted = &function.counted;
            MeasuredRow {
                of: Key::Place(function.place),
                own: cell(counted.own, counted.own_cost),
                total: Some(cell(counted.total, counted.total_cost)),
                time: None,
            }
        })
        .collect()
}

fn hits(profile: &Profile, prepared: &Prepared<'_>, scaled: &Scaled) -> Vec<MeasuredRow> {
    let mut frames: FxHashMap<(profundo_model::FileId, u32), profundo_model::FrameId> =
        FxHashMap::default();
    for line in &profile.traced.lines {
        let frame = profile.frames.get(line.frame);
        frames.entry((frame.file, frame.line)).or_insert(line.frame);
    }
    let mut rows = Vec::new();
    for function in traced_lines(profile, &prepared.options.filter) {
        let file = profile.frames.get(function.frame).file;
        for line in &function.lines {
            let frame = frames.get(&(file, line.line)).copied();
            rows.push(MeasuredRow {
                of: Key::Place(Place::Frame(frame.unwrap_or(function.frame))),
                own: scaled.with(line.hits as f64, 0.0),
                total: None,
                time: (line.time > 0).then_some(line.time as f64),
            });
        }
    }
    rows
}
