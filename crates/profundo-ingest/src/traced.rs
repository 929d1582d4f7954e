//! From the tree of calls that a process has counted to rows of the profile.
//!
//! The own time of a function is the time of its calls minus the time of the calls that it made.
//! Where only the last caller of some calls is known, they hang below a node that stands for that
//! caller anywhere: their time is subtracted from all places of that caller alike.

mod costs;

use profundo_model::{
    Call, Callers, Clock, ExceptionEnd, Exceptions, Frame, FrameId, Language, Line, LocationId,
    LocationKind, Nanos, ProcessId, Profile, Sample, SampleKind, StackId, TaskId, ThreadId,
    Tracing,
};
use profundo_wire::traced::{
    TracedCalls, TracedEnd, TracedFunction, TracedKind, TracedLine, TracedLines, TracedNode,
    TracedPlace,
};

use crate::clock::Clock as Cycles;
use crate::stacks::Stacks;
use crate::threads_and_tasks::{Numbers, Threads};
use costs::{Added, Costs};

/// The tables that the calls of a process are added to.
pub(crate) struct Tables<'a> {
    pub(crate) profile: &'a mut Profile,
    pub(crate) threads: &'a mut Threads,
    pub(crate) numbers: &'a mut Numbers,
    pub(crate) stacks: &'a mut Stacks,
}

/// Takes in the calls of a process.
pub(crate) fn take_in(mut tables: Tables<'_>, calls: &TracedCalls, cycles: Cycles) {
    let process = tables.threads.process();
    take_in_lines(tables.profile, process, calls, cycles);
    take_in_exceptions(tables.profile, process, calls);
    // Where only lines were traced, there may be samples.
    let is_thread = |node: &TracedNode| matches!(node.place, TracedPlace::Thread { .. });
    if calls.nodes.iter().all(is_thread) {
        return;
    }
    tables.profile.meta.kind = SampleKind::Traced;
    set_clock(tables.profile, calls);
    let functions = tables.functions(calls);
    let times = Times::of(calls);
    let costs = Costs::of(calls, &times);
    let mut places: Vec<Place> = Vec::with_capacity(calls.nodes.len());
    let first = tables.first_place();
    for (node, row) in calls.nodes.iter().zip(0..) {
        let parent = row_of(node.parent).and_then(|row| places.get(row).copied());
        let parent = parent.unwrap_or(first);
        let Some(place) = tables.place(calls, node, parent, &functions) else {
            places.push(parent);
            continue;
        };
        places.push(place);
        let (own, added) = (times.own(node, row), costs.of_row(row));
        if let Some(call) = call_of(calls, node, place, own, added, cycles) {
            tables.profile.traced.calls.push(call);
            tables.profile.samples.push(Sample {
                weight: call.own,
                thread: place.thread,
                task: place.task,
                stack: call.stack,
                ..Sample::default()
            });
        }
    }
}

impl Tables<'_> {
    /// The locations of all functions, in the order of their rows.
    fn functions(&mut self, calls: &TracedCalls) -> Vec<LocationId> {
        let functions = calls.functions.iter();
        functions
            .map(|function| match function.address {
                Some(address) => self.stacks.function(self.profile, address),
                None => location(self.profile, function),
            })
            .collect()
    }

    /// The place of calls without a caller: the main thread.
    fn first_place(&mut self) -> Place {
        self.thread_place(0)
    }

    fn thread_place(&mut self, tid: u32) -> Place {
        let (thread, task) = self.threads.by_tid(self.profile, self.numbers, tid);
        Place {
            thread,
            task,
            stack: None,
        }
    }

    /// The place of a node below its parent. `None`: its function is unknown.
    fn place(
        &mut self,
        calls: &TracedCalls,
        node: &TracedNode,
        parent: Place,
        functions: &[LocationId],
    ) -> Option<Place> {
        match node.place {
            TracedPlace::Thread { tid, name } => {
                let place = self.thread_place(tid);
                let name = name.and_then(|row| calls.functions.get(row as usize));
                if let Some(row) = name.filter(|row| !row.name.is_empty()) {
                    let Place { thread, task, .. } = place;
                    (self.threads).set_name(self.profile, thread, task, &row.name);
                }
                Some(place)
            }
            TracedPlace::Function(function)
            | TracedPlace::Anywhere(function)
            | TracedPlace::Called { function, .. } => {
                let &location = functions.get(function as usize)?;
                let stack = self.profile.stacks.intern(parent.stack, location);
                Some(Place {
                    stack: Some(stack),
                    ..parent
                })
            }
        }
    }
}

/// The calls of a node, without the overhead in its times. `None`: it stands for no calls, or there
/// were none.
fn call_of(
    calls: &TracedCalls,
    node: &TracedNode,
    place: Place,
    own: u64,
    added: Added,
    cycles: Cycles,
) -> Option<Call> {
    let callers = match node.place {
        TracedPlace::Function(_) => Callers::All,
        TracedPlace::Called {
            is_recursive,
            is_repeated,
            ..
        } => Callers::Last {
            is_recursive,
            is_repeated,
        },
        TracedPlace::Thread { .. } | TracedPlace::Anywhere(_) => return None,
    };
    let length = |time: u64| match calls.is_cpu {
        true => Nanos(time),
        false => cycles.length(u128::from(time)),
    };
    let call = Call {
        thread: place.thread,
        stack: place.stack?,
        calls: node.calls,
        resumes: node.resumes,
        total: length(node.total.saturating_sub(added.total)),
        own: length(own.saturating_sub(added.own)),
        cost: [length(added.total), length(added.own)],
        callers,
    };
    (call.calls + call.resumes + call.total.0 != 0).then_some(call)
}

/// Sets the clock of the traced calls. If only some processes were timed, the others have no times.
fn set_clock(profile: &mut Profile, calls: &TracedCalls) {
    profile.traced.clock = match (calls.counted_by.is_timed(), calls.is_cpu) {
        (true, true) => Clock::Cpu,
        (true, false) => Clock::Wall,
        (false, _) if profile.traced.is_empty() => Clock::None,
        (false, _) => profile.traced.clock,
    };
}

/// The note where only functions marked by the program were traced.
const ONLY_MARKED: &str = "the program marks functions with `@profile`, and only those are shown: --lines=GLOB chooses others as well";

/// Takes in lines. Where functions are marked or named, their lines are the only ones of interest.
fn take_in_lines(profile: &mut Profile, process: ProcessId, calls: &TracedCalls, cycles: Cycles) {
    let with_lines = || {
        calls
            .functions
            .iter()
            .filter_map(|function| Some((function, function.lines.as_ref()?)))
    };
    if with_lines().next().is_some() {
        set_clock(profile, calls);
    }
    let is_once = profile.traced.tracing == Tracing::LinesOnce;
    if is_once {
        profile.traced.clock = Clock::None;
    }
    let is_any_marked = with_lines().any(|(_, lines)| lines.is_marked);
    let was_run = |lines: &TracedLines| lines.rows.iter().any(|row| row[0] > 0);
    let is_hidden = |lines: &TracedLines| is_any_marked && !lines.is_marked && was_run(lines);
    let mut hidden = with_lines().filter(|(_, lines)| is_hidden(lines));
    let notes = &mut profile.meta.notes;
    if hidden.next().is_some() && !notes.iter().any(|note| note == ONLY_MARKED) {
        notes.push(ONLY_MARKED.to_owned());
    }
    for (function, lines) in with_lines().filter(|(_, lines)| lines.is_marked || !is_any_marked) {
        let frame = frame(profile, function);
        for (&[hits, time], line) in lines.rows.iter().zip(lines.first..) {
            let has_code = is_once && time > 0 && !is_only_named(function, lines, line);
            if hits == 0 && !has_code {
                continue;
            }
            let frame = profile.frames.intern(Frame { line, ..frame });
            profile.traced.lines.push(Line {
                process,
                frame,
                first: function.line,
                hits,
                time: match calls.is_cpu {
                    _ if is_once => Nanos(0),
                    true => Nanos(time),
                    false => cycles.length(u128::from(time)),
                },
            });
        }
    }
}

/// Takes in exceptions.
fn take_in_exceptions(profile: &mut Profile, process: ProcessId, calls: &TracedCalls) {
    let place = |profile: &mut Profile, at: TracedLine| {
        let function = calls.functions.get(at.function as usize)?;
        let line = at.line;
        let frame = frame(profile, function);
        Some(profile.frames.intern(Frame { line, ..frame }))
    };
    for row in &calls.exceptions {
        let end = match row.end {
            TracedEnd::Caught(at) => place(profile, at).map(ExceptionEnd::Caught),
            TracedEnd::Left => Some(ExceptionEnd::Left),
            TracedEnd::Unseen => Some(ExceptionEnd::Unseen),
        };
        let of_type = calls.functions.get(row.of_type as usize);
        let raised = place(profile, row.raised);
        let (Some(end), Some(of_type), Some(raised)) = (end, of_type, raised) else {
            continue;
        };
        let of_type = profile.strings.intern(&of_type.name);
        profile.traced.exceptions.push(Exceptions {
            process,
            of_type,
            raised,
            end,
            count: row.count,
        });
    }
}

/// Whether a line is only the first line of a function, with no other code than its entry, which is
/// not traced.
fn is_only_named(function: &TracedFunction, lines: &TracedLines, line: u32) -> bool {
    let with_code = lines.rows.iter().filter(|row| row[1] > 0).count();
    line == function.line && with_code > 1 && function.name != "<module>"
}

/// The place of a node in the profile.
#[derive(Debug, Clone, Copy)]
struct Place {
    thread: ThreadId,
    task: TaskId,
    stack: Option<StackId>,
}

/// The row of a parent. Rows count from 1; 0 is no parent.
fn row_of(parent: u32) -> Option<usize> {
    (parent as usize).checked_sub(1)
}

/// A function, at its first line.
fn location(profile: &mut Profile, function: &TracedFunction) -> LocationId {
    let row = frame(profile, function);
    let frame: FrameId = profile.frames.intern(row);
    let kind = LocationKind::Python {
        frame,
        column: 0,
        is_call: false,
    };
    let location = profile.locations.intern(kind, None);
    profile.locations.set_frames(location, &[frame]);
    location
}

/// The frame of a function, at its first line.
fn frame(profile: &mut Profile, function: &TracedFunction) -> Frame {
    let TracedFunction {
        kind,
        line,
        name,
        qualified,
        file,
        ..
    } = function;
    let file = match file.is_empty() {
        true => Default::default(),
        false => profile.file(file, "", ""),
    };
    let language = match kind {
        TracedKind::Python => Language::Python,
        TracedKind::Builtin | TracedKind::Native => Language::Native,
        TracedKind::Rust => Language::Rust,
    };
    Frame {
        function: profile.strings.intern(name),
        signature: profile.strings.intern(qualified),
        file,
        line: *line,
        language,
        inlined: false,
    }
}

/// The times of calls, by caller.
struct Times {
    /// By node, the time of its children.
    of_children: Vec<u64>,
    /// By function, the time of its calls with only the last caller known, and its own time where
    /// those are not subtracted.
    folded: Vec<(u64, u64)>,
}

impl Times {
    fn of(calls: &TracedCalls) -> Self {
        let mut of_children = vec![0_u64; calls.nodes.len()];
        for node in &calls.nodes {
            if let Some(sum) = row_of(node.parent).and_then(|row| of_children.get_mut(row)) {
                *sum = sum.wrapping_add(node.total);
            }
        }
        let mut folded = vec![(0_u64, 0_u64); calls.functions.len()];
        for (node, &children) in calls.nodes.iter().zip(&of_children) {
            match node.place {
                TracedPlace::Anywhere(function) => {
                    if let Some((apart, _)) = folded.get_mut(function as usize) {
                        *apart = apart.wrapping_add(children);
                    }
                }
                TracedPlace::Function(function) | TracedPlace::Called { function, .. } => {
                    if let Some((_, own)) = folded.get_mut(function as usize) {
                        *own = own.wrapping_add(node.total.saturating_sub(children));
                    }
                }
                TracedPlace::Thread { .. } => {}
            }
        }
        Self {
            of_children,
            folded,
        }
    }

    /// The share of one place in the sum of a function, in proportion to its own time.
    fn part(&self, node: &TracedNode, row: usize, sums: &[u64]) -> u64 {
        let (TracedPlace::Function(function) | TracedPlace::Called { function, .. }) = node.place
        else {
            return 0;
        };
        let function = function as usize;
        let all = self.folded.get(function).map_or(0, |&(_, all)| all);
        let sum = sums.get(function).copied().unwrap_or(0);
        let children = self.of_children.get(row).copied().unwrap_or(0);
        let own = u128::from(node.total.saturating_sub(children));
        let part = (own * u128::from(sum)).checked_div(u128::from(all));
        part.map_or(0, |part| u64::try_from(part).unwrap_or(u64::MAX))
    }

    /// The own time of a function in one place.
    fn own(&self, node: &TracedNode, row: usize) -> u64 {
        let children = self.of_children.get(row).copied().unwrap_or(0);
        let own = node.total.saturating_sub(children);
        let (TracedPlace::Function(function) | TracedPlace::Called { function, .. }) = node.place
        else {
            return own;
        };
        match self.folded.get(function as usize) {
            Some(&(apart, all)) if apart > 0 && all > 0 => {
                let part = u128::from(own) * u128::from(apart) / u128::from(all);
                own.saturating_sub(u64::try_from(part).unwrap_or(u64::MAX))
            }
            _ => own,
        }
    }
}
