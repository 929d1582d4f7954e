//! Groups: a selection split by thread, by task, by both, by process, or by the name of the
//! program.
//!
//! Processes and threads come in the order of their numbers. Tasks are many and short-lived, so the
//! one that ran last comes first.

use std::cmp::Reverse;
use std::hash::Hash;
use std::sync::Arc;

use profundo_model::{ProcessId, Profile, StringId, TaskId, ThreadId};
use rustc_hash::FxHashMap;

use crate::totals::first_of_each;
use crate::{Filter, Selection, UnknownChoice, choose};

/// The breakdown of a report.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum GroupBy {
    /// No breakdown.
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
    /// By the labels of recordings: all processes of recordings with the same labels are together.
    Label,
    /// By one label of recordings: all processes of recordings with the same value of this key are
    /// together, and those of recordings without it.
    LabelOf(Arc<str>),
    /// By the name of the innermost span, and what is outside of spans.
    Span,
    /// By one attribute of spans: the innermost span that has this key decides, and what has none
    /// is together.
    SpanOf(Arc<str>),
}

impl GroupBy {
    /// The beginning of the name of [`Self::LabelOf`], before the key.
    const LABEL_OF: &str = "label:";
    /// That of [`Self::SpanOf`].
    const SPAN_OF: &str = "span:";

    /// Every value with its name, except [`Self::LabelOf`] and [`Self::SpanOf`], whose names are
    /// `label:KEY` and `span:KEY`.
    pub const CHOICES: [(&'static str, Self); 9] = [
        ("none", Self::None),
        ("thread", Self::Thread),
        ("task", Self::Task),
        ("thread,task", Self::ThreadTask),
        ("task,thread", Self::TaskThread),
        ("process", Self::Process),
        ("command", Self::Command),
        ("label", Self::Label),
        ("span", Self::Span),
    ];

    /// Whether groups are made of processes.
    pub fn is_of_processes(&self) -> bool {
        matches!(
            self,
            Self::Process | Self::Command | Self::Label | Self::LabelOf(_)
        )
    }
}

impl std::str::FromStr for GroupBy {
    type Err = UnknownChoice;

    fn from_str(value: &str) -> Result<Self, UnknownChoice> {
        let key = |before| value.strip_prefix(before).filter(|key| !key.is_empty());
        match (key(Self::LABEL_OF), key(Self::SPAN_OF)) {
            (Some(key), _) => Ok(Self::LabelOf(key.into())),
            (_, Some(key)) => Ok(Self::SpanOf(key.into())),
            _ => choose("group_by", value, &Self::CHOICES),
        }
    }
}

/// The samples of one process, one thread, one task, or one task on one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The process, if the groups are by process: its last program that was looked at; if they are
    /// by command, the first process of that name; if they are by labels or by one label, the first
    /// process of the recordings that have them alike.
    pub process: Option<ProcessId>,
    /// The thread, if the groups are by thread.
    pub thread: Option<ThreadId>,
    /// The task, if the groups are by task.
    pub task: Option<TaskId>,
    /// The name of the span, or the value of its attribute, if the groups are by span; the empty
    /// text stands for what is outside of such spans.
    pub span: Option<StringId>,
    /// The samples.
    pub selection: Selection,
}

/// The samples that pass `filter`, in groups. Not grouped, they are one group without thread or
/// task. A thread or task without samples has no group.
pub fn groups(profile: &Profile, filter: &Filter, by: &GroupBy) -> Vec<Group> {
    let all = Selection::new(profile, &filter.for_groups(by));
    let (by_process, by_thread, by_task) = match by {
        GroupBy::None => {
            return vec![Group {
                process: None,
                thread: None,
                task: None,
                span: None,
                selection: all,
            }];
        }
        GroupBy::Process | GroupBy::Command | GroupBy::Label | GroupBy::LabelOf(_) => {
            (true, false, false)
        }
        GroupBy::Span | GroupBy::SpanOf(_) => (false, false, false),
        GroupBy::Thread => (false, true, false),
        GroupBy::Task => (false, false, true),
        GroupBy::ThreadTask | GroupBy::TaskThread => (false, true, true),
    };
    let firsts = match by {
        GroupBy::Command => Some(first_of_each(profile)),
        GroupBy::Label => Some(first_with_labels(profile)),
        GroupBy::LabelOf(key) => Some(first_with_label(profile, key)),
        _ => None,
    };
    let programs = profile.programs();
    let heads = |process: ProcessId| match &firsts {
        Some(firsts) => firsts[process.index()],
        None => programs.first(process),
    };
    let names = span_names(profile, by);
    type Key = (
        Option<ProcessId>,
        Option<ThreadId>,
        Option<TaskId>,
        Option<StringId>,
    );
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
            names.get(sample.span.index()).copied(),
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
        .map(|((process, thread, task, span), rows)| {
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
            // Its last program that was looked at represents it.
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
                span,
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
            _ if by.is_of_processes() => (group.process.map(heads), None, None, None),
            // The heaviest first, and last what is outside.
            GroupBy::Span | GroupBy::SpanOf(_) => {
                let is_outside = group.span == Some(StringId(0));
                let weight = group.selection.weight(profile);
                (
                    None,
                    None,
                    Some(Reverse(Some(if is_outside { 0 } else { weight.max(1) }))),
                    None,
                )
            }
            GroupBy::Thread => (None, thread, None, None),
            GroupBy::ThreadTask => (None, thread, Some(Reverse(last)), None),
            _ => (None, None, Some(Reverse(last)), thread),
        }
    });
    groups
}

/// By path of spans, the name of its group. Nothing where the groups are not by span.
pub(crate) fn span_names(profile: &Profile, by: &GroupBy) -> Vec<StringId> {
    let paths = &profile.spans.paths;
    match by {
        GroupBy::Span => paths.iter().map(|(_, path)| path.name).collect(),
        GroupBy::SpanOf(key) => {
            let key = profile.strings.find(key);
            let mut values: Vec<StringId> = Vec::with_capacity(paths.len());
            for (_, path) in paths.iter() {
                let own = path.attributes.iter().find(|(its, _)| Some(*its) == key);
                let around = path.parent.map(|parent| values[parent.index()]);
                values.push(own.map(|&(_, value)| value).or(around).unwrap_or_default());
            }
            values
        }
        _ => Vec::new(),
    }
}

/// For each process, the first with the same labels, in any order.
fn first_with_labels(profile: &Profile) -> Vec<ProcessId> {
    first_alike(profile, |process| profile.all_labels_of(process))
}

/// For each process, the first with the same value of a label, or none as well.
fn first_with_label(profile: &Profile, key: &str) -> Vec<ProcessId> {
    let key = profile.strings.find(key);
    first_alike(profile, |process| profile.label_of(process, key?))
}

/// For each process, the first that is alike in this.
fn first_alike<T: Eq + Hash>(profile: &Profile, what: impl Fn(ProcessId) -> T) -> Vec<ProcessId> {
    let mut firsts: FxHashMap<T, ProcessId> = FxHashMap::default();
    let ids = (0..profile.processes.len()).map(ProcessId::from_index);
    ids.map(|id| *firsts.entry(what(id)).or_insert(id))
        .collect()
}
