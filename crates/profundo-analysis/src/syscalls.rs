//! The time in system calls, by call and by the line that makes it.
//!
//! How long a call waited is measured. How long it ran on a CPU is sampled. The call itself is read
//! off the stack: the kernel's own function where the kernel is in it, or else the C library's, or
//! the kind of the wait. How often a call was made, and how often it failed, no sample tells: it is
//! the kernel's count, where that was recorded. Such a count has no line: it is divided by the
//! stacks of some of the calls.

mod counts;
mod errors;
mod lines;
mod names;

use profundo_model::{
    LocationId, LocationKind, Profile, Role, Sample, StackId, State, StringId, Wait, is_nameless,
};
use rustc_hash::FxHashMap;

use crate::call_names::{bare, passes_on};
use crate::own_line::OwnLines;
use crate::{Filter, Place, Selection, Shown};

use counts::Counts;
use lines::Lines;

pub use errors::error_name;

/// The time in system calls, and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyscallAmount {
    /// The waiting time in nanoseconds.
    pub waited: u64,
    /// The time on a CPU in nanoseconds.
    pub cpu: u64,
    /// The number of samples taken in them.
    pub samples: u64,
    /// The number of calls, where the kernel has counted them.
    pub calls: u64,
    /// The number of those that failed.
    pub failed: u64,
}

impl SyscallAmount {
    /// All of the time.
    pub fn time(&self) -> u64 {
        self.waited.saturating_add(self.cpu)
    }
}

impl std::ops::AddAssign for SyscallAmount {
    fn add_assign(&mut self, more: Self) {
        self.waited = self.waited.saturating_add(more.waited);
        self.cpu = self.cpu.saturating_add(more.cpu);
        self.samples = self.samples.saturating_add(more.samples);
        self.calls = self.calls.saturating_add(more.calls);
        self.failed = self.failed.saturating_add(more.failed);
    }
}

/// The time in a system call, or in the calls of one kind that a line makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyscallRow {
    /// The call, such as `read`, or the kind of the wait where the call is unknown. `None`: nothing
    /// is known of it, or it was no call but a page fault.
    pub call: Option<String>,
    /// The reader's own innermost line; a library's, where there is none.
    pub at: Option<Place>,
    /// The time.
    pub amount: SyscallAmount,
    /// Of a line: the number of calls is an estimate from so many sampled ones, and the true number
    /// is within this of it (95 %). `None` where no call was sampled.
    pub range: Option<CallsRange>,
    /// The errors of the calls that failed, by number, and how many had each: most first.
    pub errors: Vec<(u32, u64)>,
}

/// The support of an estimated number of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallsRange {
    /// The calls that were sampled.
    pub samples: u64,
    /// Half of the range of the number (95 %).
    pub calls: u64,
}

/// The system calls of a selection, the longest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Syscalls {
    /// By call.
    pub calls: Vec<SyscallRow>,
    /// By call and line.
    pub lines: Vec<SyscallRow>,
    /// The total.
    pub total: SyscallAmount,
    /// The part of the total's calls of which no line is known, because none was sampled.
    pub unplaced: SyscallAmount,
    /// Whether calls were counted, for this selection.
    pub is_counted: bool,
    /// Whether some of them were sampled, so that lines have a number of calls.
    pub is_sampled: bool,
}

/// The time of a selection, which `filter` made, in system calls; and their number.
pub fn syscalls(
    profile: &Profile,
    selection: &Selection,
    filter: &Filter,
    shown: Shown,
) -> Syscalls {
    let counts = Counts::new(profile, selection, filter);
    let own = OwnLines::new(profile, shown);
    let mut known: FxHashMap<(StackId, bool), Option<Option<&str>>> = FxHashMap::default();
    let mut places: FxHashMap<StackId, Option<Place>> = FxHashMap::default();
    let mut calls: FxHashMap<Option<&str>, SyscallAmount> = FxHashMap::default();
    let mut lines: FxHashMap<(Option<&str>, Option<Place>), SyscallAmount> = FxHashMap::default();
    let mut total = SyscallAmount::default();
    selection.each(profile, |row, sample: &Sample| {
        let waits = match sample.state {
            State::WallWaiting | State::Sleeping => true,
            State::System => false,
            _ => return,
        };
        let call = known.entry((sample.stack, waits));
        let Some(call) = *call.or_insert_with(|| {
            let call = match waits {
                true => waiting(profile, sample.stack),
                false => Some(named(profile, sample.stack)),
            };
            call.map(|call| call.map(|call| counts.name_of(call)))
        }) else {
            return;
        };
        let mut amount = SyscallAmount {
            samples: profile.samples_of_row(row as usize),
            ..SyscallAmount::default()
        };
        match waits {
            true => amount.waited = sample.weight.0,
            false => amount.cpu = sample.weight.0,
        }
        let at = *(places.entry(sample.stack)).or_insert_with(|| own.of(sample.stack));
        total += amount;
        *calls.entry(call).or_default() += amount;
        *lines.entry((call, at)).or_default() += amount;
    });
    for (call, amount) in counts.amounts() {
        total += amount;
        *calls.entry(Some(call)).or_default() += amount;
    }
    let row = |call: Option<&str>, at: Option<Place>, amount| SyscallRow {
        call: call.map(str::to_owned),
        at,
        amount,
        range: None,
        errors: Vec::new(),
    };
    let with_errors = |(call, amount): (Option<&str>, _)| SyscallRow {
        errors: call.map(|call| counts.errors_of(call)).unwrap_or_default(),
        ..row(call, None, amount)
    };
    let admits = counts.admits();
    let sampled = profile.syscalls.iter().filter(|row| !row.is_exact());
    let sampled = sampled.filter(|row| admits.count(row.thread, row.to));
    let mut by_line = Lines::default();
    for row in sampled {
        let Some(stack) = row.stack else { continue };
        let call = named(profile, stack).map(|call| counts.name_of(call));
        let at = *(places.entry(stack)).or_insert_with(|| own.of(stack));
        by_line.add(call, at, row);
    }
    let is_sampled = !by_line.is_empty();
    let (mut ranges, mut unplaced) = (FxHashMap::default(), SyscallAmount::default());
    if is_sampled {
        for (call, amount) in counts.amounts() {
            let parts = by_line.divide(call, amount);
            if parts.is_empty() {
                unplaced += amount;
            }
            for (at, estimate, range) in parts {
                *lines.entry((Some(call), at)).or_default() += estimate;
                ranges.insert((Some(call), at), range);
            }
        }
    }
    let line = |((call, at), amount): ((Option<&str>, _), _)| SyscallRow {
        range: ranges.get(&(call, at)).copied(),
        ..row(call, at, amount)
    };
    Syscalls {
        calls: sorted(calls.into_iter().map(with_errors)),
        lines: sorted(lines.into_iter().map(line)),
        total,
        unplaced,
        is_counted: counts.is_any(),
        is_sampled,
    }
}

fn sorted(rows: impl Iterator<Item = SyscallRow>) -> Vec<SyscallRow> {
    let mut rows: Vec<SyscallRow> = rows.collect();
    rows.sort_by(|a, b| {
        let key = |row: &SyscallRow| (row.amount.time(), row.amount.calls);
        let most = key(b).cmp(&key(a));
        most.then_with(|| (&a.call, a.at).cmp(&(&b.call, b.at)))
    });
    rows
}

/// The call that a thread waits in. The outer `None`: it waits outside of any, for memory or a CPU.
fn waiting(profile: &Profile, stack: StackId) -> Option<Option<&str>> {
    let innermost = profile.stacks.locations(stack).next()?;
    let kind = profile.locations.get(innermost).kind;
    let LocationKind::Wait { wait, frame } = kind else {
        return Some(named(profile, stack));
    };
    match wait {
        Wait::Cpu | Wait::Fault => None,
        // Locks, joins and CPython's own lock are waited for in one call.
        Wait::Gil | Wait::Lock | Wait::Thread => Some(Some("futex")),
        Wait::Other => Some(Some(wait.what_of(profile.function_name(frame)))),
        _ => Some(named(profile, stack).or(Some(wait.name()))),
    }
}

/// The call by its functions near the end of a stack: the kernel's, or else the C library's.
fn named(profile: &Profile, stack: StackId) -> Option<&str> {
    /// The deepest stack of the kernel's.
    const MOST: usize = 64;
    let mut by_kernel = None;
    for location in profile.stacks.locations(stack).take(MOST) {
        match owner(profile, location) {
            Owner::Kernel => by_kernel = entry(profile, location).or(by_kernel),
            Owner::Wait => {}
            Owner::Library if by_kernel.is_none() => {
                // Since glibc 2.41, calls pass through functions that it does not export.
                let whole = innermost(profile, location).unwrap_or_default();
                if is_nameless(whole) {
                    continue;
                }
                let name = bare(whole);
                match names::is_call(name) {
                    true => return Some(name),
                    false if passes_on(name) => continue,
                    false => break,
                }
            }
            Owner::Library | Owner::Other => break,
        }
    }
    by_kernel
}

/// The owner of a frame near the end of a stack.
enum Owner {
    Kernel,
    Library,
    Wait,
    Other,
}

fn owner(profile: &Profile, location: LocationId) -> Owner {
    let location = profile.locations.get(location);
    if matches!(location.kind, LocationKind::Wait { .. }) {
        return Owner::Wait;
    }
    let Some(module) = location.module.map(|module| profile.modules.get(module)) else {
        return Owner::Other;
    };
    match profile.strings.get(module.path) {
        "[kernel]" => Owner::Kernel,
        _ if module.role == Role::System => Owner::Library,
        _ => Owner::Other,
    }
}

/// The call whose entry a function of the kernel is: `__x64_sys_read` is that of `read`.
fn entry(profile: &Profile, location: LocationId) -> Option<&str> {
    let name = innermost(profile, location)?;
    let starts = ["__x64_sys_", "__arm64_sys_", "__se_sys_", "__ia32_sys_"];
    starts.iter().find_map(|start| name.strip_prefix(start))
}

fn innermost(profile: &Profile, location: LocationId) -> Option<&str> {
    let frame = profile.locations.get(location).frames.first()?;
    let name = profile.frames.get(*frame).function;
    (name != StringId::default()).then(|| profile.strings.get(name))
}

#[cfg(test)]
mod tests {
    use profundo_model::{Avma, CodeAddress, FrameKey, Nanos, SyscallCount, ThreadId};

    use super::*;
    use crate::Filter;

    #[test]
    fn time_is_by_call_and_by_line() {
        let mut profile = Profile::from_folded("main 4\nmain 1").unwrap();
        let it = &mut profile;
        let mut next = 0;
        let mut native = |it: &mut Profile, function, path: &str| {
            next += 16;
            let module = it.hand_made_module(path);
            let kind = LocationKind::Code(CodeAddress::Instruction(Avma(next)));
            let key = FrameKey {
                function,
                ..FrameKey::default()
            };
            it.hand_made_location(kind, Some(module), &[key])
        };
        let libc = "/usr/lib/libc.so.6";
        let read = native(it, "__GI___libc_read", libc);
        let passing = native(it, "__syscall_cancel_arch", libc);
        let nameless = native(it, "libc.so.6+0x9ced0", libc);
        let own_kernel = native(it, "vfs_write", "[kernel]");
        let entry = native(it, "__x64_sys_pwrite64", "[kernel]");
        let [one, two] = [1, 2].map(|line| it.hand_made_python("/home/me/app.py", "f", line, true));
        let wait = |it: &mut Profile, wait: Wait, what| {
            let name = wait.frame_name(what);
            let key = FrameKey {
                function: &name,
                ..FrameKey::default()
            };
            let frame = it.frame(key);
            it.hand_made_location(LocationKind::Wait { frame, wait }, None, &[key])
        };
        let reads = wait(it, Wait::Read, "/tmp/a");
        let mounts = wait(it, Wait::Other, "mount");
        let fault = wait(it, Wait::Fault, "");
        let rows = [
            (vec![one, read, passing, reads], State::WallWaiting, 5),
            (vec![two, read, nameless], State::System, 2),
            (vec![two, entry, own_kernel], State::System, 3),
            (vec![one, mounts], State::WallWaiting, 7),
            (vec![one, fault], State::WallWaiting, 100),
        ];
        for (sample, (path, state, weight)) in rows.into_iter().enumerate() {
            let stack = profile.hand_made_stack(&path);
            let sample = &mut profile.samples[sample];
            (sample.stack, sample.state, sample.weight) = (stack, state, Nanos(weight));
        }
        let selection = Selection::new(&profile, &Filter::default());
        let found = syscalls(&profile, &selection, &Filter::default(), Shown::COMMAND);
        let calls: Vec<_> = (found.calls.iter())
            .map(|row| {
                (
                    row.call.as_deref().unwrap(),
                    row.amount.waited,
                    row.amount.cpu,
                )
            })
            .collect();
        // A wait for memory is no call.
        assert_eq!(calls, [("mount", 7, 0), ("read", 5, 2), ("pwrite64", 0, 3)]);
        assert_eq!(found.lines.len(), 4);
        assert_eq!((found.total.time(), found.total.samples), (17, 4));
        let whole: u64 = found.lines.iter().map(|row| row.amount.time()).sum();
        assert_eq!(whole, found.total.time());
        assert!(!found.is_counted);
    }

    #[test]
    fn counts_and_errors_are_by_call() {
        let mut profile = Profile::from_folded("main 4").unwrap();
        let mut next = 0;
        let mut function = |it: &mut Profile, function: &str| {
            next += 16;
            let module = it.hand_made_module("/usr/lib/libc.so.6");
            let kind = LocationKind::Code(CodeAddress::Instruction(Avma(next)));
            let key = FrameKey {
                function,
                ..FrameKey::default()
            };
            it.hand_made_location(kind, Some(module), &[key])
        };
        let stat = function(&mut profile, "stat64");
        profile.samples[0].stack = profile.hand_made_stack(&[stat]);
        profile.samples[0].state = State::System;
        let count = |it: &mut Profile, call: &str, error, count, to| {
            let call = it.strings.intern(call);
            it.syscalls.push(SyscallCount {
                thread: ThreadId(0),
                to: Nanos(to),
                call,
                error,
                count,
                ..SyscallCount::default()
            });
        };
        count(&mut profile, "newfstatat", 0, 10, 1);
        count(&mut profile, "newfstatat", 2, 3, 1);
        count(&mut profile, "newfstatat", 2, 4, 2);
        count(&mut profile, "newfstatat", 13, 1, 2);
        count(&mut profile, "read", 11, 5, 2);
        let of = |filter: &Filter| {
            let selection = Selection::new(&profile, filter);
            syscalls(&profile, &selection, filter, Shown::COMMAND)
        };
        let found = of(&Filter::default());
        assert!(found.is_counted);
        let rows: Vec<_> = (found.calls.iter())
            .map(|row| {
                let amount = row.amount;
                (
                    row.call.as_deref().unwrap(),
                    amount.calls,
                    amount.failed,
                    amount.cpu > 0,
                )
            })
            .collect();
        // The C library's function is the call that it makes.
        assert_eq!(rows, [("newfstatat", 18, 8, true), ("read", 5, 5, false)]);
        assert_eq!(found.calls[0].errors, [(2, 7), (13, 1)]);
        assert_eq!((found.total.calls, found.total.failed), (23, 13));
        let late = of(&Filter {
            from: Some(Nanos(2)),
            ..Filter::default()
        });
        assert_eq!((late.total.calls, late.total.failed), (10, 10));
    }
}
