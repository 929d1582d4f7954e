//! What threads waited for, for how long, and which line made them wait.
//!
//! Threads of a pool that had nothing to do wait all the time, and would stand above all that somebody waits for. They
//! are one row, the last one. Rows that differ only in the lock or the child that was waited for are one, too.

use std::cmp::Reverse;

use profundo_model::{Language, LocationKind, Profile, Sample, StackId, State, ThreadId, Wait};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::own_line::OwnLines;
use crate::{Place, Selection, Shown};

/// All waiting for one thing at one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitRow {
    /// What was waited for. `None`: it is not known.
    pub wait: Option<Wait>,
    /// The frame that names it: the lock, the file, the child. `None` where there are several locks or children.
    pub what: Option<Place>,
    /// All frames that name it.
    pub whats: Vec<Place>,
    /// The innermost line of one's own that waited; of a library, where there is none.
    pub at: Option<Place>,
    /// The line of Python that waited most, where that is a library's which the line of one's own has called.
    pub inside: Option<Place>,
    /// Whether these are threads that never worked, and wait for work.
    pub is_idle: bool,
    /// Nanoseconds.
    pub weight: u64,
    /// How many threads did.
    pub threads: usize,
}

/// What is waited for, the frame that names it unless it is a lock or a child, and the line; or nothing, for those that are idle.
type Key = (bool, Option<Wait>, Option<Place>, Option<Place>);

/// What a stack says.
#[derive(Debug, Clone, Copy)]
struct Said {
    wait: Option<Wait>,
    what: Option<Place>,
    at: Option<Place>,
    inside: Option<Place>,
    /// Whether a line of one's own is in it, one that has a number, and that waits for more than work.
    is_own: bool,
}

/// A row in the making.
#[derive(Debug, Default)]
struct Sum {
    weight: u64,
    threads: FxHashSet<ThreadId>,
    whats: FxHashMap<Place, u64>,
    insides: FxHashMap<Place, u64>,
    /// Of those that are idle, where and for what.
    places: FxHashMap<(Option<Place>, Option<Wait>), u64>,
}

/// The waits of a selection, the longest first, and what is idle last.
pub fn waits(profile: &Profile, selection: &Selection, shown: Shown) -> Vec<WaitRow> {
    let lines = OwnLines::new(profile, shown);
    let mut known: FxHashMap<StackId, Said> = FxHashMap::default();
    let mut said = |stack| {
        *known
            .entry(stack)
            .or_insert_with(|| say(profile, &lines, stack))
    };
    let programs = profile.programs();
    let idle = idle(profile, selection, &mut said);
    let mut rows: FxHashMap<Key, Sum> = FxHashMap::default();
    for sample in selection.samples(profile).filter(is_waiting) {
        let said = said(sample.stack);
        let key = match idle.contains(&sample.thread) {
            true => (true, None, None, None),
            false => {
                let is_one_of_many =
                    matches!(said.wait, Some(Wait::Lock | Wait::Child | Wait::Thread));
                let what = said.what.filter(|_| !is_one_of_many);
                (false, said.wait, what, said.at)
            }
        };
        let row = rows.entry(key).or_default();
        let weight = sample.weight.0;
        row.weight = row.weight.saturating_add(weight);
        row.threads.insert(programs.thread(sample.thread));
        if let Some(what) = said.what {
            *row.whats.entry(what).or_default() += weight;
        }
        if let Some(inside) = said.inside {
            *row.insides.entry(inside).or_default() += weight;
        }
        *row.places.entry((said.at, said.wait)).or_default() += weight;
    }
    let mut rows: Vec<WaitRow> = rows.into_iter().map(|(key, sum)| sum.row(key)).collect();
    rows.sort_by_key(|row| (row.is_idle, Reverse(row.weight), row.at, row.what));
    rows
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

/// What weighs most.
fn most<T: Copy + Ord>(weights: &FxHashMap<T, u64>) -> Option<T> {
    let heaviest = weights
        .iter()
        .max_by_key(|&(&it, &weight)| (weight, Reverse(it)));
    heaviest.map(|(&it, _)| it)
}

fn is_waiting(sample: &&Sample) -> bool {
    matches!(sample.state, State::WallWaiting | State::Sleeping)
}

fn say(profile: &Profile, lines: &OwnLines<'_>, stack: StackId) -> Said {
    let innermost = profile.stacks.locations(stack).next();
    let kind = innermost.map(|location| profile.locations.get(location).kind);
    let wait = match kind {
        Some(LocationKind::Wait { wait, .. }) => Some(wait),
        _ => None,
    };
    let own = lines.own(stack);
    let python = lines.python(stack);
    let at = own.or(python).or_else(|| lines.of(stack));
    Said {
        wait,
        what: wait.and_then(|_| lines.innermost(stack)),
        at,
        inside: python.filter(|&it| Some(it) != at),
        is_own: own.is_some_and(|place| has_line(profile, place))
            && (is_python(profile, at) || !awaits_work(profile, stack, wait)),
    }
}

/// Whether a native stack is one of those in which pools wait for work: for events or a condition, and not for a lock that
/// somebody holds.
fn awaits_work(profile: &Profile, stack: StackId, wait: Option<Wait>) -> bool {
    const NEAR: usize = 12;
    const NAMES: [&str; 4] = ["cond_", "condvar", "ConditionVariable", "sem_wait"];
    let is_name = |name: &str| NAMES.iter().any(|it| name.contains(it));
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

/// What a thread did.
#[derive(Debug, Default)]
struct Life {
    waited: u64,
    worked: u64,
    has_own_line: bool,
    has_python: bool,
    /// Where it waited.
    place: Option<Place>,
}

/// The threads that never worked, and did not wait in a line of one's own.
///
/// The main thread is none of them. Code without lines may be anybody's, so one native thread that waits alone is none:
/// a pool has several at one place.
fn idle(
    profile: &Profile,
    selection: &Selection,
    said: &mut impl FnMut(StackId) -> Said,
) -> FxHashSet<ThreadId> {
    /// To begin and to end is no work.
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
        let said = said(sample.stack);
        if said.wait == Some(Wait::Cpu) {
            continue;
        }
        life.waited = life.waited.saturating_add(weight);
        life.has_own_line |= said.is_own;
        life.place = life.place.or(said.at);
        life.has_python |= is_python(profile, said.at);
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
        |life: &Life| life.has_python || together.get(&life.place).is_some_and(|&it| it > 1);
    let idle = lives.iter().filter(|(_, life)| is_pool(life));
    idle.map(|(&thread, _)| thread).collect()
}

fn is_python(profile: &Profile, place: Option<Place>) -> bool {
    matches!(place, Some(Place::Frame(frame)) if profile.frames.get(frame).language == Language::Python)
}
