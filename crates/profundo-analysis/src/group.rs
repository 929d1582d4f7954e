//! Groups: a selection split by thread, by task, by both, by process, or by the name of the program.
//!
//! Processes and threads come in the order of their numbers. Tasks are many and short-lived, so the one that
//! ran last comes first.

use std::cmp::Reverse;

use profundo_model::{ProcessId, Profile, TaskId, ThreadId};
use rustc_hash::FxHashMap;

use crate::totals::first_of_each;
use crate::{Filter, Selection, UnknownChoice, choose};

/// How a report is broken down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GroupBy {
    /// Not at all.
    #[default]
    None,
    /// By thread.
    Thread,
    /// By task.
    Task,
    /// By thread, and each thread by task.
    ThreadTask,
    /// By task, and each task by thread.
    TaskThread,
    /// By process.
    Process,
    /// By the name of the program: all processes that run one are together.
    Command,
}

impl GroupBy {
    /// Every value with its name.
    pub const CHOICES: [(&'static str, Self); 7] = [
        ("none", Self::None),
        ("thread", Self::Thread),
        ("task", Self::Task),
        ("thread,task", Self::ThreadTask),
        ("task,thread", Self::TaskThread),
        ("process", Self::Process),
        ("command", Self::Command),
    ];
}

impl std::str::FromStr for GroupBy {
    type Err = UnknownChoice;

    fn from_str(value: &str) -> Result<Self, UnknownChoice> {
        choose("group_by", value, &Self::CHOICES)
    }
}

/// The samples of one process, one thread, one task, or one task on one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The process, where the grouping tells processes apart: the last program of it that was looked at; where
    /// it tells commands apart, the first process of that name.
    pub process: Option<ProcessId>,
    /// The thread, where the grouping tells threads apart.
    pub thread: Option<ThreadId>,
    /// The task, where the grouping tells tasks apart.
    pub task: Option<TaskId>,
    /// The samples.
    pub selection: Selection,
}

/// The samples that pass `filter`, in groups. Not grouped, they are one group without thread or
/// task. A thread or task without samples has no group.
pub fn groups(profile: &Profile, filter: &Filter, by: GroupBy) -> Vec<Group> {
    let all = Selection::new(profile, &filter.for_groups(by));
    let (by_process, by_thread, by_task) = match by {
        GroupBy::None => {
            return vec![Group {
                process: None,
                thread: None,
                task: None,
                selection: all,
            }];
        }
        GroupBy::Process | GroupBy::Command => (true, false, false),
        GroupBy::Thread => (false, true, false),
        GroupBy::Task => (false, false, true),
        GroupBy::ThreadTask | GroupBy::TaskThread => (false, true, true),
    };
    let firsts = (by == GroupBy::Command).then(|| first_of_each(profile));
    let programs = profile.programs();
    let heads = |process: ProcessId| match &firsts {
        Some(firsts) => firsts[process.index()],
        None => programs.first(process),
    };
    type Key = (Option<ProcessId>, Option<ThreadId>, Option<TaskId>);
    let mut numbers: FxHashMap<Key, usize> = FxHashMap::default();
    let mut keys: Vec<(Key, Vec<u32>)> = Vec::new();
    let mut last_of_task: FxHashMap<TaskId, u64> = FxHashMap::default();
    let mut last_key: Option<(Key, usize)> = None;
    all.each(profile, |row, sample| {
        if by_task {
            let last = last_of_task.entry(sample.task).or_default();
            *last = profile.order_of_row(row as usize).max(*last);
        }
        let key = (
            by_process.then(|| heads(profile.threads.get(sample.thread).process)),
            by_thread.then(|| programs.thread(sample.thread)),
            by_task.then_some(sample.task),
        );
        // Samples of one thread mostly follow one another.
        let number = match last_key {
            Some((last, number)) if last == key => number,
            _ => *numbers.entry(key).or_insert_with(|| {
                keys.push((key, Vec::new()));
                keys.len() - 1
            }),
        };
        last_key = Some((key, number));
        keys[number].1.push(row);
    });
    let mut groups: Vec<Group> = (keys.into_iter())
        .map(|((process, thread, task), rows)| {
            let with = |is_its: &dyn Fn(&ThreadId) -> bool| -> Vec<ThreadId> {
                all.threads().iter().copied().filter(is_its).collect()
            };
            let threads = match (process, thread) {
                (_, Some(thread)) => Some(with(&|id| programs.thread(*id) == thread)),
                (Some(process), None) => Some(with(&|id| {
                    heads(profile.threads.get(*id).process) == process
                })),
                (None, None) => None,
            };
            // What was looked at of it last stands for it.
            let program = |id: ThreadId| profile.threads.get(id).process;
            let its = threads.as_deref().unwrap_or_default().iter().copied();
            let last = its.max_by_key(|&id| programs.before(program(id)));
            let process = match by {
                GroupBy::Process => last.map(program),
                _ => process,
            };
            let selection = all.part(rows, threads, task);
            Group {
                process,
                thread: thread.and(last),
                task,
                selection,
            }
        })
        .collect();
    groups.sort_by_key(|group| {
        let thread = group
            .thread
            .map(|thread| (profile.threads.get(thread).number, thread));
        // Within a thread it matters when the task last ran there, else when it last ran at all.
        let last = match (by, group.task) {
            (GroupBy::TaskThread, Some(task)) => last_of_task.get(&task).copied(),
            _ => group.selection.last_order(profile),
        };
        match by {
            GroupBy::Process | GroupBy::Command => (group.process.map(heads), None, None, None),
            GroupBy::Thread => (None, thread, None, None),
            GroupBy::ThreadTask => (None, thread, Some(Reverse(last)), None),
            _ => (None, None, Some(Reverse(last)), thread),
        }
    });
    groups
}
