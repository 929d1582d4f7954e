//! The waits of threads: what for, how long, and the line that waited.
//!
//! Idle threads of a pool wait all the time, and would stand above all waits that matter. They are
//! one row, the last one. Rows that differ only in the lock or the child are one, too.

use std::cmp::Reverse;

use profundo_model::{Language, LocationKind, Profile, Sample, StackId, State, ThreadId, Wait};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::own_line::OwnLines;
use crate::{Place, Selection, Shown};

/// All waits for one thing at one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitRow {
    /// The kind of the wait. `None`: unknown.
    pub wait: Option<Wait>,
    /// The frame that names it: the lock, the file, the child. `None` where there are several locks
    /// or children.
    pub what: Option<Place>,
    /// All frames that name it.
    pub whats: Vec<Place>,
    /// The reader's own innermost line that waited; a library's, where there is none.
    pub at: Option<Place>,
    /// The Python line of a library that waited most, called by the own line.
    pub inside: Option<Place>,
    /// True for threads that never worked, and wait for work.
    pub is_idle: bool,
    /// The waiting time in nanoseconds.
    pub weight: u64,
    /// The number of waiting threads.
    pub threads: usize,
}

/// The kind of the wait, the frame that names it unless it is a lock or a child, and the line; or
/// nothing, for idle threads.
type Key = (bool, Option<Wait>, Option<Place>, Option<Place>);

/// The wait of a stack, and the lines that it belongs to.
#[derive(Debug, Clone, Copy)]
struct Findings {
    wait: Option<Wait>,
    what: Option<Place>,
    at: Option<Place>,
    inside: Option<Place>,
    /// Whether an own line is in it, one with a number, that waits for more than work.
    is_own: bool,
}

/// A row in the making.
#[derive(Debug, Default)]
struct Sum {
    weight: u64,
    threads: FxHashSet<ThreadId>,
    whats: FxHashMap<Place, u64>,
    insides: FxHashMap<Place, u64>,
    /// For idle threads, where and for what.
    places: FxHashMap<(Option<Place>, Option<Wait>), u64>,
}

/// The waits of a selection, the longest first, and idle threads last.
pub fn waits(profile: &Profile, selection: &Selection, shown: Shown) -> Vec<WaitRow> {
    let lines = OwnLines::new(profile, shown);
    let mut known: FxHashMap<StackId, Findings> = FxHashMap::default();
    let mut findings = |stack| {
        *known
            .entry(stack)
            .or_insert_with(|| find(profile, &lines, stack))
    };
    let programs = profile.programs();
    let idle = idle(profile, selection, &mut findings);
    let mut rows: FxHashMap<Key, Sum> = FxHashMap::default();
    for sample in selection.samples(profile).filter(is_waiting) {
        let found = findings(sample.stack);
        let key = match idle.contains(&sample.thread) {
            true => (true, None, None, None),
            false => {
                let is_one_of_many =
                    matches!(found.wait, Some(Wait::Lock | Wait::Child | Wait::Thread));
                let what = found.what.filter(|_| !is_one_of_many);
                (false, found.wait, what, found.at)
            }
        };
        let row = rows.entry(key).or_default();
        let weight = sample.weight.0;
        row.weight = row.weight.saturating_add(weight);
        row.threads.insert(programs.thread(sample.thread));
        if let Some(what) = found.what {
            *row.whats.entry(what).or_default() += weight;
        }
        if let Some(inside) = found.inside {
            *row.insides.entry(inside).or_default() += weight;
        }
        *row.places.entry((found.at, found.wait)).or_default() += weight;
    }
    let mut rows: Vec<WaitRow> = rows.into_iter().map(|(key, sum)| sum.row(key)).collect();
    rows.sort_by_key(|row| (row.is_idle, Reverse(row.weight), row.at, row.what));
    rows
}

/// The threads that only waited for work, as [`waits`] has them in its last row.
pub(crate) fn idle_threads(
    profile: &Profile,
    selection: &Selection,
    shown: Shown,
) -> FxHashSet<ThreadId> {
    let lines = OwnLines::new(profile, shown);
    let mut known: FxHashMap<StackId, Findings> = FxHashMap::default();
    let mut findings = |stack| {
        *known
            .entry(stack)
            .or_insert_with(|| find(profile, &lines, stack))
    };
    idle(profile, selection, &mut findings)
}

impl Sum {
    fn row(self, (is_idle, wait, what, at): Key) -> WaitRow {
        let (at, wait) = match is_idle {
            true => most(&self.places).unwrap_or_default(),
            false => (at, wait),
        };
        let mut whats: Vec<Place> = self.whats.keys().copied().collect();
        whats.sort_unstable();
        let only = match &whats[..] {
            [only] => Some(*only),
            _ => None,
        };
        WaitRow {
            wait,
            what: what.or(only),
            whats,
            at,
            inside: most(&self.insides).filter(|_| !is_idle),
            is_idle,
            weight: self.weight,
            threads: self.threads.len(),
        }
    }
}

/// The key with the largest weight.
fn most<T: Copy + Ord>(weights: &FxHashMap<T, u64>) -> Option<T> {
    let heaviest = weights
        .iter()
        .max_by_key(|&(&thing, &weight)| (weight, Reverse(thing)));
    heaviest.map(|(&thing, _)| thing)
}

fn is_waiting(sample: &&Sample) -> bool {
    matches!(sample.state, State::WallWaiting | State::Sleeping)
}

fn find(profile: &Profile, lines: &OwnLines<'_>, stack: StackId) -> Findings {
    let innermost = profile.stacks.locations(stack).next();
    let kind = innermost.map(|location| profile.locations.get(location).kind);
    let wait = match kind {
        Some(LocationKind::Wait { wait, .. }) => Some(wait),
        _ => None,
    };
    let own = lines.own(stack);
    let python = lines.python(stack);
    let at = own.or(python).or_else(|| lines.of(stack));
    Findings {
        wait,
        what: wait.and_then(|_| lines.innermost(stack)),
        at,
        inside: python.filter(|&place| Some(place) != at),
        is_own: own.is_some_and(|place| has_line(profile, place))
            && (is_python(profile, at) || !awaits_work(profile, stack, wait)),
    }
}

/// Whether a native stack is one in which pools wait for work: for events or a condition, and not
/// for a held lock.
fn awaits_work(profile: &Profile, stack: StackId, wait: Option<Wait>) -> bool {
    const NEAR: usize = 12;
    const NAMES: [&str; 4] = ["cond_", "condvar", "ConditionVariable", "sem_wait"];
    let is_name = |name: &str| NAMES.iter().any(|part| name.contains(part));
    match wait {
        Some(Wait::Poll | Wait::Signal) => true,
        Some(Wait::Lock) => {
            let near = profile.stacks.locations(stack).take(NEAR);
            let mut frames =
                near.flat_map(|location| profile.locations.get(location).frames.iter());
            frames.any(|&frame| is_name(profile.function_name(frame)))
        }
        _ => false,
    }
}

/// Whether a place is a line of source, and not only a function.
fn has_line(profile: &Profile, place: Place) -> bool {
    match place {
        Place::Frame(frame) => profile.frames.get(frame).line > 0,
        Place::Reason(_) | Place::Unknown => false,
    }
}

/// The activity of a thread.
#[derive(Debug, Default)]
struct Life {
    waited: u64,
    worked: u64,
    has_own_line: bool,
    has_python: bool,
    /// The place of its wait.
    place: Option<Place>,
}

/// The threads that never worked, and did not wait in an own line.
///
/// The main thread is none of them. Code without lines may have any owner, so one native thread
/// that waits alone is none: a pool has several at one place.
fn idle(
    profile: &Profile,
    selection: &Selection,
    findings: &mut impl FnMut(StackId) -> Findings,
) -> FxHashSet<ThreadId> {
    /// Starting and ending is no work.
    const PART: u64 = 100;
    const MOST: u64 = 20_000_000;
    let mut lives: FxHashMap<ThreadId, Life> = FxHashMap::default();
    for sample in selection.samples(profile) {
        let life = lives.entry(sample.thread).or_default();
        let weight = sample.weight.0;
        if !is_waiting(&sample) {
            life.worked = life.worked.saturating_add(weight);
            continue;
        }
        let found = findings(sample.stack);
        if found.wait == Some(Wait::Cpu) {
            continue;
        }
        life.waited = life.waited.saturating_add(weight);
        life.has_own_line |= found.is_own;
        life.place = life.place.or(found.at);
        life.has_python |= is_python(profile, found.at);
    }
    lives.retain(|&thread, life| {
        let row = profile.threads.get(thread);
        let process = profile.processes.get(row.process.index());
        let is_main = process.is_none_or(|process| process.pid == row.tid);
        let is_small = life.worked <= MOST && life.worked.saturating_mul(PART) <= life.waited;
        !is_main && is_small && life.waited > 0 && !life.has_own_line
    });
    let mut together: FxHashMap<Option<Place>, usize> = FxHashMap::default();
    for life in lives.values() {
        *together.entry(life.place).or_default() += 1;
    }
    let is_pool =
        |life: &Life| life.has_python || together.get(&life.place).is_some_and(|&count| count > 1);
    let idle = lives.iter().filter(|(_, life)| is_pool(life));
    idle.map(|(&thread, _)| thread).collect()
}

fn is_python(profile: &Profile, place: Option<Place>) -> bool {
    matches!(place, Some(Place::Frame(frame)) if profile.frames.get(frame).language == Language::Python)
}
