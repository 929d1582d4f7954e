//! What each thread, each process and each command took.

use profundo_model::{Kind, ProcessId, Profile, ThreadId};

use rustc_hash::FxHashMap;

use crate::Selection;
use crate::selection::{square_of, weight_of};
use crate::tally::Amount;

/// What one thread took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThreadTotal {
    /// The thread.
    pub thread: ThreadId,
    /// What its samples add up to.
    pub amount: Amount,
}

/// What one process took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessTotal {
    /// The process.
    pub process: ProcessId,
    /// How many threads of it were looked at.
    pub threads: u64,
    /// What its samples add up to.
    pub amount: Amount,
}

/// What all processes took that ran a program of one name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommandTotal {
    /// The first of them; [`command_name`] says what it is called.
    pub first: ProcessId,
    /// How many processes ended as this program. One that goes on as another program by `exec` is
    /// counted there.
    pub processes: u64,
    /// What their samples add up to.
    pub amount: Amount,
}

/// The name of the program that a process runs: its first word, without the folder.
pub fn command_name(profile: &Profile, process: ProcessId) -> &str {
    let process = profile.processes.get(process.index());
    let command = process.map_or("", |it| profile.strings.get(it.command));
    let program = command.split_whitespace().next().unwrap_or_default();
    program.rsplit('/').next().unwrap_or(program)
}

/// For each process, the first that runs a program of the same name.
pub(crate) fn first_of_each(profile: &Profile) -> Vec<ProcessId> {
    let mut firsts: FxHashMap<&str, ProcessId> = FxHashMap::default();
    let ids = (0..profile.processes.len()).map(ProcessId::from_index);
    ids.map(|id| *firsts.entry(command_name(profile, id)).or_insert(id))
        .collect()
}

/// What all of them took.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Totals {
    /// The threads that were looked at, the one that took most first.
    pub threads: Vec<ThreadTotal>,
    /// Their processes, the one that took most first.
    pub processes: Vec<ProcessTotal>,
    /// The same by the name of the program.
    pub commands: Vec<CommandTotal>,
}

/// What each thread and process of a selection took, those without samples included.
pub fn totals(profile: &Profile, selection: &Selection) -> Totals {
    let mut by_thread = vec![Amount::default(); profile.threads.len()];
    if let [thread] = selection.threads() {
        // What is all one thread's is added up already.
        for stack in selection.stacks(profile) {
            by_thread[thread.index()].add(stack);
        }
    } else {
        count(profile, selection, &mut by_thread);
    }
    let mut by_process = vec![(0, Amount::default()); profile.processes.len()];
    for &thread in selection.threads() {
        let process = profile.threads.get(thread).process;
        if let Some((threads, amount)) = by_process.get_mut(process.index()) {
            *threads += 1;
            *amount += by_thread[thread.index()];
        }
    }
    let mut threads: Vec<ThreadTotal> = (selection.threads().iter())
        .map(|&thread| ThreadTotal {
            thread,
            amount: by_thread[thread.index()],
        })
        .collect();
    // A process of which no thread is known took part all the same, and is counted as a process elsewhere.
    let is_whole = selection.is_whole(profile);
    let mut processes: Vec<ProcessTotal> = (by_process.into_iter().enumerate())
        .filter(|(_, (threads, _))| *threads > 0 || is_whole)
        .map(|(index, (threads, amount))| ProcessTotal {
            process: ProcessId::from_index(index),
            threads,
            amount,
        })
        .collect();
    threads.sort_by_key(|it| {
        let number = profile.threads.get(it.thread).number;
        (std::cmp::Reverse(it.amount.weight), number, it.thread)
    });
    processes.sort_by_key(|it| (std::cmp::Reverse(it.amount.weight), it.process));
    let commands = by_command(profile, &processes);
    Totals {
        threads,
        processes,
        commands,
    }
}

/// Adds up processes by the names of their programs.
fn by_command(profile: &Profile, processes: &[ProcessTotal]) -> Vec<CommandTotal> {
    let firsts = first_of_each(profile);
    let mut goes_on = vec![false; profile.processes.len()];
    for id in (0..profile.processes.len()).map(ProcessId::from_index) {
        if let Some(before) = profile.program_before(id) {
            goes_on[before.index()] = true;
        }
    }
    let mut rows: FxHashMap<ProcessId, CommandTotal> = FxHashMap::default();
    for total in processes {
        let first = firsts[total.process.index()];
        let row = rows.entry(first).or_insert(CommandTotal {
            first,
            processes: 0,
            amount: Amount::default(),
        });
        row.processes += u64::from(!goes_on[total.process.index()]);
        row.amount += total.amount;
    }
    let mut rows: Vec<CommandTotal> = rows.into_values().collect();
    rows.sort_by_key(|it| (std::cmp::Reverse(it.amount.weight), it.first));
    rows
}

/// Adds up the samples by thread.
fn count(profile: &Profile, selection: &Selection, by_thread: &mut [Amount]) {
    let kinds = selection.kinds(profile);
    let mut last = None;
    selection.each(profile, |_, sample| {
        let weight = weight_of(profile, sample);
        let count = match last {
            Some((known, count)) if known == sample.weight => count,
            _ => profile.count_of(sample),
        };
        last = Some((sample.weight, count));
        let amount = &mut by_thread[sample.thread.index()];
        amount.samples += u64::from(!profile.is_counted(sample.stack));
        amount.count = amount.count.saturating_add(count);
        amount.weight = amount.weight.saturating_add(weight);
        amount.squares += square_of(profile, sample);
        let kind = match kinds.kind(sample) {
            Kind::Python => &mut amount.split.python,
            Kind::Native => &mut amount.split.native,
            Kind::System => &mut amount.split.system,
            Kind::Waiting => &mut amount.split.waiting,
            Kind::Unreadable => &mut amount.split.unreadable,
        };
        *kind = kind.saturating_add(weight);
    });
}
