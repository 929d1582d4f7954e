//! The time of each thread, each process and each command.
//!
//! A process that becomes another program by `exec` is one row among the processes, named after the
//! last program, and its main thread is one row among the threads. Its time is counted by program
//! among the commands.

use profundo_model::{Kind, Nanos, ProcessId, Profile, Programs, Thread, ThreadId};

use rustc_hash::FxHashMap;

use crate::Selection;
use crate::amount::Amount;
use crate::weights::{Squares, weight_of};

/// The time of one thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThreadTotal {
    /// The thread, in the last program of its process.
    pub thread: ThreadId,
    /// Its lifetime, where known.
    pub alive: Option<Nanos>,
    /// Its CPU time by the kernel's count, where known.
    pub cpu: Option<Nanos>,
    /// Its wait for the interpreter's lock, where known.
    pub gil_wait: Option<Nanos>,
    /// The total of its samples.
    pub amount: Amount,
}

/// The time of one process.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessTotal {
    /// The process, as the last program that it ran.
    pub process: ProcessId,
    /// Its programs, in the order of time: the last of them is `process`.
    pub programs: Vec<ProgramTotal>,
    /// The number of its threads that were observed.
    pub threads: u64,
    /// Its user time by the kernel's count, where known.
    pub user: Option<Nanos>,
    /// Its system time by the kernel's count, where known.
    pub system: Option<Nanos>,
    /// The total of its samples.
    pub amount: Amount,
}

/// The time of one program in one process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProgramTotal {
    /// The program.
    pub program: ProcessId,
    /// The total of its samples.
    pub amount: Amount,
}

/// The time of all processes that ran a program of one name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommandTotal {
    /// The first of them; [`command_name`] gives its name.
    pub first: ProcessId,
    /// The number of processes that ended as this program. One that goes on as another program by
    /// `exec` is counted there.
    pub processes: u64,
    /// The total of their samples.
    pub amount: Amount,
}

/// The name of the program that a process runs: its first word, without the folder.
pub fn command_name(profile: &Profile, process: ProcessId) -> &str {
    let process = profile.processes.get(process.index());
    let command = process.map_or("", |process| profile.strings.get(process.command));
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

/// All totals.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Totals {
    /// The threads that were looked at, the one with most time first.
    pub threads: Vec<ThreadTotal>,
    /// Their processes, the one with most time first.
    pub processes: Vec<ProcessTotal>,
    /// Their commands, by the name of the program.
    pub commands: Vec<CommandTotal>,
}

/// The time of each thread and process of a selection, those without samples included.
pub fn totals(profile: &Profile, selection: &Selection) -> Totals {
    let mut by_thread = vec![Amount::default(); profile.threads.len()];
    if let [thread] = selection.threads() {
        // Weights of a single thread are added up already.
        for stack in selection.stacks(profile) {
            by_thread[thread.index()].add(stack);
        }
    } else {
        count(profile, selection, &mut by_thread);
    }
    let programs = profile.programs();
    let mut by_program = vec![(false, Amount::default()); profile.processes.len()];
    for &thread in selection.threads() {
        let program = profile.threads.get(thread).process;
        if let Some((is_met, amount)) = by_program.get_mut(program.index()) {
            *is_met = true;
            *amount += by_thread[thread.index()];
        }
    }
    // A process without known threads took part all the same, and counts as a process elsewhere.
    let is_whole = selection.is_whole(profile);
    let by_program: Vec<ProgramTotal> = (by_program.into_iter().enumerate())
        .filter(|(_, (is_met, _))| *is_met || is_whole)
        .map(|(index, (_, amount))| ProgramTotal {
            program: ProcessId::from_index(index),
            amount,
        })
        .collect();
    let threads = whole_threads(profile, &programs, selection, &by_thread);
    let processes = whole_processes(profile, &programs, &by_program, &threads);
    let commands = by_command(profile, &programs, &by_program);
    Totals {
        threads,
        processes,
        commands,
    }
}

/// Adds up the rows that a thread has in several programs.
fn whole_threads(
    profile: &Profile,
    programs: &Programs,
    selection: &Selection,
    by_thread: &[Amount],
) -> Vec<ThreadTotal> {
    let mut numbers: FxHashMap<ThreadId, usize> = FxHashMap::default();
    let mut rows: Vec<ThreadTotal> = Vec::new();
    let mut in_order = selection.threads().to_vec();
    in_order.sort_by_key(|&id| programs.before(profile.threads.get(id).process));
    for id in in_order {
        let number = *numbers.entry(programs.thread(id)).or_insert_with(|| {
            rows.push(ThreadTotal {
                thread: id,
                alive: None,
                cpu: None,
                gil_wait: None,
                amount: Amount::default(),
            });
            rows.len() - 1
        });
        let (row, thread) = (&mut rows[number], profile.threads.get(id));
        // The last selected row represents it.
        row.thread = id;
        row.alive = sum(row.alive, thread.alive);
        row.cpu = sum(row.cpu, thread.cpu);
        row.gil_wait = sum(row.gil_wait, thread.gil_wait);
        row.amount += by_thread[id.index()];
    }
    rows.sort_by_key(|total| {
        let number = profile.threads.get(total.thread).number;
        (std::cmp::Reverse(total.amount.weight), number, total.thread)
    });
    rows
}

/// Adds up the programs of each process.
fn whole_processes(
    profile: &Profile,
    programs: &Programs,
    by_program: &[ProgramTotal],
    threads: &[ThreadTotal],
) -> Vec<ProcessTotal> {
    let mut numbers: FxHashMap<ProcessId, usize> = FxHashMap::default();
    let mut rows: Vec<ProcessTotal> = Vec::new();
    let mut in_order = by_program.to_vec();
    in_order.sort_by_key(|total| programs.before(total.program));
    for total in in_order {
        let id = total.program;
        let number = *numbers.entry(programs.first(id)).or_insert_with(|| {
            rows.push(ProcessTotal {
                process: id,
                programs: Vec::new(),
                threads: 0,
                user: None,
                system: None,
                amount: Amount::default(),
            });
            rows.len() - 1
        });
        let (row, process) = (&mut rows[number], &profile.processes[id.index()]);
        row.process = id;
        row.programs.push(total);
        row.user = sum(row.user, process.user);
        row.system = sum(row.system, process.system);
        row.amount += total.amount;
    }
    for total in threads {
        let Thread { process, .. } = *profile.threads.get(total.thread);
        if let Some(&number) = numbers.get(&programs.first(process)) {
            rows[number].threads += 1;
        }
    }
    rows.sort_by_key(|total| (std::cmp::Reverse(total.amount.weight), total.process));
    rows
}

fn sum(one: Option<Nanos>, other: Option<Nanos>) -> Option<Nanos> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Nanos(one.0.saturating_add(other.0))),
        (one, other) => one.or(other),
    }
}

/// Adds up programs by their names.
fn by_command(
    profile: &Profile,
    programs: &Programs,
    by_program: &[ProgramTotal],
) -> Vec<CommandTotal> {
    let firsts = first_of_each(profile);
    let mut rows: FxHashMap<ProcessId, CommandTotal> = FxHashMap::default();
    for total in by_program {
        let first = firsts[total.program.index()];
        let row = rows.entry(first).or_insert(CommandTotal {
            first,
            processes: 0,
            amount: Amount::default(),
        });
        row.processes += u64::from(programs.last(total.program) == total.program);
        row.amount += total.amount;
    }
    let mut rows: Vec<CommandTotal> = rows.into_values().collect();
    rows.sort_by_key(|total| (std::cmp::Reverse(total.amount.weight), total.first));
    rows
}

/// Adds up the samples by thread.
fn count(profile: &Profile, selection: &Selection, by_thread: &mut [Amount]) {
    let kinds = selection.kinds(profile);
    let mut last = None;
    let is_gathered = profile.gathered.is_any();
    let squares = Squares::new(profile);
    selection.each(profile, |row, sample| {
        let row = row as usize;
        let weight = weight_of(profile, sample);
        let count = match last {
            Some((known, count)) if known == sample.weight && !is_gathered => count,
            _ => profile.count_of_row(row, sample),
        };
        last = Some((sample.weight, count));
        let amount = &mut by_thread[sample.thread.index()];
        if !profile.is_counted(sample.stack) {
            amount.samples += profile.samples_of_row(row);
        }
        amount.count = amount.count.saturating_add(count);
        amount.weight = amount.weight.saturating_add(weight);
        amount.squares += squares.of_row(profile, row, sample);
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
