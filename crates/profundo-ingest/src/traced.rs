//! From the tree of calls that a process has counted to rows of the profile.
//!
//! What a function took itself is what its calls took less what the calls took that it made. Where only the last caller of
//! some calls is known, they hang below a node that stands for that caller anywhere: what they took is taken off all places of
//! that caller alike.

mod costs;

use profundo_model::{
    Call, Callers, Clock, Frame, FrameId, Language, Line, LocationId, LocationKind, Nanos,
    ProcessId, Profile, Sample, SampleKind, StackId, TaskId, ThreadId, Tracing,
};
use profundo_wire::traced::{
    TracedCalls, TracedFunction, TracedKind, TracedLines, TracedNode, TracedPlace,
};

use crate::clock::Clock as Cycles;
use crate::stacks::Stacks;
use crate::threads_and_tasks::{Numbers, People};
use costs::Costs;

/// Takes in what a process has called.
pub(crate) fn take_in(
    (profile, people, numbers): (&mut Profile, &mut People, &mut Numbers),
    stacks: &mut Stacks,
    calls: &TracedCalls,
    cycles: Cycles,
) {
    take_in_lines(profile, people.process(), calls, cycles);
    // Where nothing but lines was looked at, there may be samples.
    if calls
        .nodes
        .iter()
        .all(|it| matches!(it.place, TracedPlace::Thread { .. }))
    {
        return;
    }
    profile.meta.kind = SampleKind::Traced;
    set_clock(profile, calls);
    let functions = calls.functions.iter();
    let functions: Vec<LocationId> = functions
        .map(|it| match it.address {
            Some(address) => stacks.function(profile, address),
            None => location(profile, it),
        })
        .collect();
    let times = Times::of(calls);
    let costs = Costs::of(calls, &times);
    let mut places: Vec<Place> = Vec::with_capacity(calls.nodes.len());
    let first = places_of_nobody(profile, people, numbers);
    for (node, row) in calls.nodes.iter().zip(0..) {
        let parent = row_of(node.parent).and_then(|it| places.get(it).copied());
        let parent = parent.unwrap_or(first);
        let place = match node.place {
            TracedPlace::Thread { tid, name } => {
                let (thread, task) = people.by_tid(profile, numbers, tid);
                let name = name.and_then(|row| calls.functions.get(row as usize));
                if let Some(row) = name.filter(|it| !it.name.is_empty()) {
                    people.call(profile, (thread, task), &row.name);
                }
                Place {
                    thread,
                    task,
                    stack: None,
                }
            }
            TracedPlace::Function(function)
            | TracedPlace::Anywhere(function)
            | TracedPlace::Called { function, .. } => {
                let Some(&location) = functions.get(function as usize) else {
                    places.push(parent);
                    continue;
                };
                let stack = profile.stacks.intern(parent.stack, location);
                Place {
                    stack: Some(stack),
                    ..parent
                }
            }
        };
        places.push(place);
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
            TracedPlace::Thread { .. } | TracedPlace::Anywhere(_) => continue,
        };
        let Some(stack) = place.stack else { continue };
        let length = |time: u64| match calls.is_cpu {
            true => Nanos(time),
            false => cycles.length(u128::from(time)),
        };
        let (own, added) = (times.own(node, row), costs.of_row(row));
        let call = Call {
            thread: place.thread,
            stack,
            calls: node.calls,
            resumes: node.resumes,
            total: length(node.total.saturating_sub(added.total)),
            own: length(own.saturating_sub(added.own)),
            cost: [length(added.total), length(added.own)],
            callers,
        };
        if call.calls + call.resumes + call.total.0 == 0 {
            continue;
        }
        profile.traced.calls.push(call);
        profile.samples.push(Sample {
            weight: call.own,
            thread: place.thread,
            task: place.task,
            stack,
            ..Sample::default()
        });
    }
}

/// Says what is measured. Where some processes are, and others only counted, those have times, and these have none.
fn set_clock(profile: &mut Profile, calls: &TracedCalls) {
    profile.traced.clock = match (calls.counted_by.is_timed(), calls.is_cpu) {
        (true, true) => Clock::Cpu,
        (true, false) => Clock::Wall,
        (false, _) if profile.traced.is_empty() => Clock::None,
        (false, _) => profile.traced.clock,
    };
}

/// What is said where the program has marked functions, and nobody has named others.
const ONLY_MARKED: &str = "the program marks functions with `@profile`, and only those are shown: --lines=GLOB chooses others as well";

/// Takes in lines. Where the program has marked functions, or somebody has named them, it is only those that anybody wants to see.
fn take_in_lines(profile: &mut Profile, process: ProcessId, calls: &TracedCalls, cycles: Cycles) {
    let looked_at = || {
        calls
            .functions
            .iter()
            .filter_map(|it| Some((it, it.lines.as_ref()?)))
    };
    if looked_at().next().is_some() {
        set_clock(profile, calls);
    }
    let is_once = profile.traced.tracing == Tracing::LinesOnce;
    if is_once {
        profile.traced.clock = Clock::None;
    }
    let is_any_marked = looked_at().any(|(_, lines)| lines.is_marked);
    let was_run = |lines: &TracedLines| lines.rows.iter().any(|row| row[0] > 0);
    let mut hidden = looked_at().filter(|(_, it)| is_any_marked && !it.is_marked && was_run(it));
    let notes = &mut profile.meta.notes;
    if hidden.next().is_some() && !notes.iter().any(|it| it == ONLY_MARKED) {
        notes.push(ONLY_MARKED.to_owned());
    }
    for (function, lines) in looked_at().filter(|(_, it)| it.is_marked || !is_any_marked) {
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

/// Whether a line is that in which a function begins, and has no code but what begins it, of which nobody tells.
fn is_only_named(function: &TracedFunction, lines: &TracedLines, line: u32) -> bool {
    let with_code = lines.rows.iter().filter(|row| row[1] > 0).count();
    line == function.line && with_code > 1 && function.name != "<module>"
}

/// Where a node is in the profile.
#[derive(Debug, Clone, Copy)]
struct Place {
    thread: ThreadId,
    task: TaskId,
    stack: Option<StackId>,
}

/// That of calls whose caller is nobody's: the main thread.
fn places_of_nobody(profile: &mut Profile, people: &mut People, numbers: &mut Numbers) -> Place {
    let (thread, task) = people.by_tid(profile, numbers, 0);
    Place {
        thread,
        task,
        stack: None,
    }
}

/// Rows count from 1; 0 is nobody.
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

/// Its frame there.
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

/// What calls took, by who made them.
struct Times {
    /// Of each node's children.
    of_children: Vec<u64>,
    /// Of each function's calls of which only the caller is known, and what the function took itself where those are not taken
    /// off.
    folded: Vec<(u64, u64)>,
}

impl Times {
    fn of(calls: &TracedCalls) -> Self {
        let mut of_children = vec![0_u64; calls.nodes.len()];
        for node in &calls.nodes {
            if let Some(sum) = row_of(node.parent).and_then(|it| of_children.get_mut(it)) {
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

    /// What of the sum of a function falls to one place of it, as its own time there is a part of all of it.
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

    /// What a function took itself in one place.
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
