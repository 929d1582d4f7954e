//! What each thread, each process and each command took.
//!
//! A process that becomes another program by `exec` is one row among the processes, named after the last program, and its
//! main thread is one row among the threads. Its time is counted by program among the commands.

use profundo_model::{Kind, Nanos, ProcessId, Profile, Programs, Thread, ThreadId};

use rustc_hash::FxHashMap;

use crate::Selection;
use crate::gathered::squares_of_row;
use crate::selection::weight_of;
use crate::tally::Amount;

/// What one thread took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThreadTotal {
    /// The thread, in the last program of its process.
    pub thread: ThreadId,
    /// How long it was alive, where that is known.
    pub alive: Option<Nanos>,
    /// The CPU time that it used, by the kernel's count, where that is known.
    pub cpu: Option<Nanos>,
    /// How long it waited for the interpreter's lock, where that is known.
    pub gil_wait: Option<Nanos>,
    /// What its samples add up to.
    pub amount: Amount,
}

/// What one process took.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessTotal {
    /// The process, as the last program that it ran.
    pub process: ProcessId,
    /// What it was, in the order of time: the last of them is `process`.
    pub programs: Vec<ProgramTotal>,
    /// How many threads of it were looked at.
    pub threads: u64,
    /// User and system time that it used by the kernel's count, where that is known.
    pub user: Option<Nanos>,
    /// System time.
    pub system: Option<Nanos>,
    /// What its samples add up to.
    pub amount: Amount,
}

/// What one program took in one process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProgramTotal {
    /// The program.
    pub program: ProcessId,
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
    let programs = profile.programs();
    let mut by_program = vec![(false, Amount::default()); profile.processes.len()];
    for &thread in selection.threads() {
        let program = profile.threads.get(thread).process;
        if let Some((is_met, amount)) = by_program.get_mut(program.index()) {
            *is_met = true;
            *amount += by_thread[thread.index()];
        }
    }
    // A process of which no thread is known took part all the same, and is counted as a process elsewhere.
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
        // What was selected of it last stands for it.
        row.thread = id;
        row.alive = sum(row.alive, thread.alive);
        row.cpu = sum(row.cpu, thread.cpu);
        row.gil_wait = sum(row.gil_wait, thread.gil_wait);
        row.amount += by_thread[id.index()];
    }
    rows.sort_by_key(|it| {
        let number = profile.threads.get(it.thread).number;
        (std::cmp::Reverse(it.amount.weight), number, it.thread)
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
    in_order.sort_by_key(|it| programs.before(it.program));
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
    rows.sort_by_key(|it| (std::cmp::Reverse(it.amount.weight), it.process));
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
    rows.sort_by_key(|it| (std::cmp::Reverse(it.amount.weight), it.first));
    rows
}

/// Adds up the samples by thread.
fn count(profile: &Profile, selection: &Selection, by_thread: &mut [Amount]) {
    let kinds = selection.kinds(profile);
    let mut last = None;
    let is_gathered = profile.gathered.is_any();
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
        amount.squares += squares_of_row(profile, row, sample);
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
