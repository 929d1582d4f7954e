//! The owners of time without a line of source: threads of a library's pool, an interpreter that
//! starts.
//!
//! The work of a pool belongs to the line that waits for it. That line is known if exactly one
//! thread of the same process was last seen, or is seen next, in the pool's library, and on one
//! line if both.

use profundo_model::{
    FileId, FrameId, Kind, ModuleId, Nanos, ProcessId, Profile, Role, Sample, StackId, State,
    ThreadId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::amount::Amount;
use crate::kind::Split;
use crate::weights::{Squares, weight_of};
use crate::{Place, Selection, StackWeight};

/// With more threads that have lines in a process, it is unknown which of them waits for a pool.
const MOST_THREADS: usize = 64;

/// A phase in which an interpreter works without a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// It initialises itself.
    Start,
    /// It clears modules and frees the remaining objects.
    End,
}

/// Time without a line of source, of one library or program.
#[derive(Debug, Clone, PartialEq)]
pub struct Lineless {
    /// The module that the stacks begin in, without the start of a thread.
    pub module: Option<ModuleId>,
    /// Whether the module is an interpreter that starts or ends.
    pub phase: Option<Phase>,
    /// The first place of the stacks, where no module is known.
    pub place: Option<Place>,
    /// The threads.
    pub threads: Vec<ThreadId>,
    /// The amount.
    pub amount: Amount,
    /// The lines that waited for it, with their amounts, the largest first.
    pub lines: Vec<(FrameId, Amount)>,
}

/// The key of a group: a path of a module, or a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Who {
    Module(profundo_model::StringId, Option<Phase>),
    /// The agent, whatever its file is called.
    Profiler,
    Place(Option<u32>),
}

/// The relation of a stack to a line.
#[derive(Debug, Clone, Copy)]
enum Stack {
    At(FrameId),
    Without(usize),
}

/// The time of a selection without a line, by its owner, the largest part first. `line_of` has the
/// line of each of the selection's stacks.
pub(crate) fn lineless(
    profile: &Profile,
    selection: &Selection,
    line_of: impl Fn(usize) -> Option<FrameId>,
) -> Vec<Lineless> {
    let mut rows: Vec<Lineless> = Vec::new();
    let mut numbers: FxHashMap<Who, usize> = FxHashMap::default();
    let mut stacks: Vec<Stack> = Vec::with_capacity(selection.stacks(profile).len());
    for (number, stack) in selection.stacks(profile).iter().enumerate() {
        let found = match line_of(number) {
            Some(frame) => Stack::At(frame),
            None => {
                let (who, module, place) = beginning(profile, stack.stack);
                let row = *numbers.entry(who).or_insert_with(|| {
                    let phase = match who {
                        Who::Module(_, phase) => phase,
                        Who::Profiler | Who::Place(_) => None,
                    };
                    rows.push(Lineless {
                        module,
                        phase,
                        place,
                        threads: Vec::new(),
                        amount: Amount::default(),
                        lines: Vec::new(),
                    });
                    rows.len() - 1
                });
                rows[row].amount.add(stack);
                Stack::Without(row)
            }
        };
        stacks.push(found);
    }
    if rows.is_empty() {
        return rows;
    }
    let numbers = selection.stack_numbers(profile);
    let at = |sample: &Sample| stacks[numbers[sample.stack.index()] as usize - 1];
    let programs = profile.programs();
    let is_pool = |module: &ModuleId| {
        let role = profile.modules.get(*module).role;
        !matches!(role, Role::Interpreter | Role::Profiler)
    };
    let has_pool = rows
        .iter()
        .any(|row| row.module.as_ref().is_some_and(is_pool));
    let mut tied = match has_pool {
        true => Tied::new(profile, selection, at),
        false => Tied::none(profile),
    };
    let kinds = selection.kinds(profile);
    let squares = Squares::new(profile);
    let mut threads: FxHashSet<(usize, ThreadId)> = FxHashSet::default();
    let mut lines: FxHashMap<(usize, FileId, u32), (FrameId, Amount)> = FxHashMap::default();
    for sample in selection.samples(profile) {
        let Stack::Without(row) = at(sample) else {
            continue;
        };
        let thread = programs.thread(sample.thread);
        if threads.insert((row, thread)) {
            rows[row].threads.push(thread);
        }
    }
    // By row, the samples that were looked at.
    let mut looked_at = vec![0_u64; rows.len()];
    selection.each_taken(profile, |sample| {
        let Stack::Without(row) = at(sample) else {
            return;
        };
        looked_at[row] = looked_at[row].saturating_add(weight_of(profile, sample));
        let Some(module) = rows[row].module.filter(is_pool) else {
            return;
        };
        if let Some(frame) = tied.line_of(sample, module) {
            let key = profile.frames.get(frame);
            let entry = lines.entry((row, key.file, key.line));
            let (_, sum) = entry.or_insert((frame, Amount::default()));
            sum.add(&alone(
                profile,
                sample,
                kinds.of_stack(sample.stack),
                squares,
            ));
        }
    });
    for ((row, _, _), (frame, sum)) in lines {
        // Of gathered samples, some were looked at and represent all.
        let sum = match profile.gathered.is_any() {
            true => sum.times(rows[row].amount.weight as f64 / looked_at[row].max(1) as f64),
            false => sum,
        };
        rows[row].lines.push((frame, sum));
    }
    for row in &mut rows {
        row.lines
            .sort_by_key(|&(frame, sum)| (std::cmp::Reverse(sum.weight), frame));
    }
    rows.sort_by_key(|row| {
        let weight = std::cmp::Reverse(row.amount.weight);
        (weight, row.module, row.phase, row.place)
    });
    rows
}

/// One sample as a sum.
fn alone(profile: &Profile, sample: &Sample, kind: Kind, squares: Squares) -> StackWeight {
    let weight = weight_of(profile, sample);
    let mut split = Split::default();
    match (sample.state, kind) {
        (State::System, _) => split.system = weight,
        (State::Sleeping | State::WallWaiting, _) => split.waiting = weight,
        (_, Kind::Python) => split.python = weight,
        _ => split.native = weight,
    }
    StackWeight {
        stack: sample.stack,
        samples: 1,
        calls: 0,
        count: profile.count_of(sample),
        asleep: 0,
        weight,
        squares: squares.of(profile, sample),
        split,
    }
}

/// The beginning of a stack: the outermost module that is not the system's, or the reason for its
/// lack. The agent may stand below functions of the program (it starts threads), so its callees are
/// not its own.
fn beginning(profile: &Profile, stack: StackId) -> (Who, Option<ModuleId>, Option<Place>) {
    let mut found: Option<ModuleId> = None;
    let mut system: Option<ModuleId> = None;
    let mut agent: Option<ModuleId> = None;
    let mut place = None;
    for location in profile.stacks.locations(stack) {
        match profile.locations.get(location).module {
            Some(module) => match profile.modules.get(module).role {
                Role::System => system = Some(module),
                Role::Profiler => agent = Some(module),
                _ => found = Some(module),
            },
            None => place = crate::place::places(profile, location).next().or(place),
        }
    }
    let system = if place.is_some() { None } else { system };
    match found.or(agent).or(system) {
        Some(module) => {
            let row = profile.modules.get(module);
            if row.role == Role::Profiler {
                return (Who::Profiler, Some(module), None);
            }
            let phase = (row.role == Role::Interpreter).then(|| phase(profile, stack));
            (Who::Module(row.path, phase.flatten()), Some(module), None)
        }
        None => (Who::Place(place.map(Place::key)), None, place),
    }
}

/// Whether an interpreter starts or ends, by the functions of CPython that do it.
fn phase<'a>(profile: &'a Profile, stack: StackId) -> Option<Phase> {
    let locations = profile.stacks.locations(stack);
    let frames = locations.flat_map(|location| profile.locations.get(location).frames.iter());
    // The compiler may have split a function: `_Py_Finalize.part.0`.
    let whole = |name: &'a str| name.split_once('.').map_or(name, |(whole, _)| whole);
    let of_frame = |&frame: &FrameId| match whole(profile.function_name(frame)) {
        "Py_InitializeFromConfig" | "Py_InitializeEx" | "pymain_init" => Some(Phase::Start),
        "Py_FinalizeEx" | "Py_Finalize" | "_Py_Finalize" => Some(Phase::End),
        _ => None,
    };
    frames.filter_map(of_frame).last()
}

/// A thread's line and stack at a time.
type Seen = (Nanos, FrameId, StackId);

/// The lines of each process's threads.
struct Tied<'a> {
    profile: &'a Profile,
    /// By process, its threads.
    threads: FxHashMap<ProcessId, Vec<ThreadId>>,
    /// By thread, in the order of time.
    on_lines: FxHashMap<ThreadId, Vec<Seen>>,
    /// Whether a module is on a stack.
    holds: FxHashMap<(StackId, ModuleId), bool>,
}

impl<'a> Tied<'a> {
    fn new(profile: &'a Profile, selection: &Selection, at: impl Fn(&Sample) -> Stack) -> Self {
        let mut threads: FxHashMap<ProcessId, Vec<ThreadId>> = FxHashMap::default();
        let mut on_lines: FxHashMap<ThreadId, Vec<_>> = FxHashMap::default();
        selection.each_taken(profile, |sample| {
            let Stack::At(frame) = at(sample) else {
                return;
            };
            let times = on_lines.entry(sample.thread).or_insert_with(|| {
                let process = profile.threads.get(sample.thread).process;
                threads.entry(process).or_default().push(sample.thread);
                Vec::new()
            });
            times.push((sample.time, frame, sample.stack));
        });
        for times in on_lines.values_mut() {
            times.sort_by_key(|&(time, _, _)| time);
        }
        Self {
            threads,
            on_lines,
            ..Self::none(profile)
        }
    }

    /// No lines, where no pool could wait for them.
    fn none(profile: &'a Profile) -> Self {
        Self {
            profile,
            threads: FxHashMap::default(),
            on_lines: FxHashMap::default(),
            holds: FxHashMap::default(),
        }
    }

    /// The line that waits while this sample is taken, in a library that the line has called.
    fn line_of(&mut self, sample: &Sample, module: ModuleId) -> Option<FrameId> {
        if matches!(sample.state, State::Sleeping | State::WallWaiting) {
            return None;
        }
        let process = self.profile.threads.get(sample.thread).process;
        let threads = self.threads.get(&process)?;
        if threads.len() > MOST_THREADS {
            return None;
        }
        let threads = threads.clone();
        let mut found = None;
        for thread in threads {
            // A working thread does not wait for itself.
            if thread == sample.thread {
                continue;
            }
            let times = &self.on_lines[&thread];
            let after = times.partition_point(|&(time, _, _)| time < sample.time);
            let before = after.checked_sub(1).and_then(|at| times.get(at).copied());
            let after = times.get(after).copied();
            let Some(frame) = self.waiting(before, after, module) else {
                continue;
            };
            if found.is_some() {
                return None;
            }
            found = Some(frame);
        }
        found
    }

    /// The line of a thread that was in the library just before or just after, or on both sides of
    /// it.
    fn waiting(
        &mut self,
        before: Option<Seen>,
        after: Option<Seen>,
        module: ModuleId,
    ) -> Option<FrameId> {
        let inside = |this: &mut Self, seen: Option<Seen>| {
            seen.filter(|&(_, _, stack)| this.holds(stack, module))
        };
        let (before, after) = (inside(self, before), inside(self, after));
        let line = |(_, frame, _): Seen| {
            let frame = self.profile.frames.get(frame);
            (frame.file, frame.line)
        };
        match (before, after) {
            (Some(before), Some(after)) => (line(before) == line(after)).then_some(before.1),
            (Some(one), None) | (None, Some(one)) => Some(one.1),
            (None, None) => None,
        }
    }

    fn holds(&mut self, stack: StackId, module: ModuleId) -> bool {
        let profile = self.profile;
        let path = profile.modules.get(module).path;
        *self.holds.entry((stack, module)).or_insert_with(|| {
            profile.stacks.locations(stack).any(|location| {
                let of = profile.locations.get(location).module;
                of.is_some_and(|of| profile.modules.get(of).path == path)
            })
        })
    }
}
