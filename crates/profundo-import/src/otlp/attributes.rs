//! The attributes of resources and samples that say whose sample it is, by the names of
//! OpenTelemetry's conventions; and our own for what these lack.

use std::borrow::Cow;

use profundo_model::{Gil, State, Task, TaskId, ThreadId};
use rustc_hash::FxHashMap;

use super::message::{Any, Dictionary, Int, Resource};
use crate::Builder;

/// Whose sample it is.
#[derive(Debug, Clone, Default)]
pub(super) struct About {
    pid: Option<u64>,
    command: String,
    /// How much the command says: a command line says more than a name.
    rank: usize,
    tid: Option<u64>,
    thread: String,
    task: Option<u64>,
    task_name: String,
    state: Option<State>,
    gil: Gil,
}

/// A thread, its task and its activity.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner {
    pub thread: ThreadId,
    pub task: Option<TaskId>,
    pub state: Option<State>,
    pub gil: Gil,
}

/// The number of a task.
const TASK: &str = "profundo.task.id";

/// Names of a process, the best last.
const COMMANDS: &[&str] = &[
    "service.name",
    "process.executable.name",
    "process.executable.path",
    "process.command",
    "process.command_line",
];

impl About {
    pub(super) fn of_resource(resource: &Resource<'_>, dictionary: &Dictionary<'_>) -> Self {
        let mut about = Self::default();
        for pair in &resource.attributes {
            let key = match pair.key_strindex.0 {
                0 => &pair.key[..],
                _ => text_at(dictionary, pair.key_strindex),
            };
            about.take(key, &pair.value, dictionary);
        }
        about
    }

    fn take(&mut self, key: &str, value: &Any<'_>, dictionary: &Dictionary<'_>) {
        let text = || text_of(value, dictionary).into_owned();
        let number = || value.int_value.map(|number| number.0);
        match key {
            "process.pid" => self.pid = number(),
            "thread.id" => self.tid = number(),
            "thread.name" => self.thread = text(),
            TASK => self.task = number(),
            "profundo.task.name" => self.task_name = text(),
            "profundo.state" => {
                self.state = match &text()[..] {
                    "sleeping" => Some(State::Sleeping),
                    "waiting" => Some(State::WallWaiting),
                    "running" => Some(State::WallRunning),
                    "system" => Some(State::System),
                    _ => None,
                };
            }
            "profundo.gil" => {
                self.gil = match &text()[..] {
                    "held" => Gil::Held,
                    "waiting" => Gil::Waiting,
                    "released" => Gil::Released,
                    _ => Gil::None,
                };
            }
            key => {
                let rank = COMMANDS.iter().position(|name| *name == key);
                if let Some(rank) = rank.filter(|&rank| rank + 1 > self.rank) {
                    (self.rank, self.command) = (rank + 1, text());
                }
            }
        }
    }
}

fn text_at<'d>(dictionary: &'d Dictionary<'_>, index: Int) -> &'d str {
    dictionary
        .string_table
        .get(index.index())
        .map_or("", |text| text)
}

/// The text of a value.
pub(super) fn text_of<'v>(value: &'v Any<'_>, dictionary: &'v Dictionary<'_>) -> Cow<'v, str> {
    match (
        &value.string_value,
        value.string_value_strindex,
        value.int_value,
    ) {
        (Some(text), ..) => Cow::Borrowed(text),
        (None, Some(index), _) => Cow::Borrowed(text_at(dictionary, index)),
        (None, None, Some(number)) => Cow::Owned(number.0.to_string()),
        _ => Cow::Borrowed(""),
    }
}

/// The owners of the samples of one resource.
pub(super) struct Owners<'d, 'a> {
    dictionary: &'d Dictionary<'a>,
    resource: About,
    known: FxHashMap<Box<[Int]>, Owner>,
    /// The tasks of threads outside of any, where the file has tasks.
    roots: Option<FxHashMap<ThreadId, TaskId>>,
    previous: Option<(Box<[Int]>, Owner)>,
}

impl<'d, 'a> Owners<'d, 'a> {
    pub(super) fn new(resource: &Resource<'a>, dictionary: &'d Dictionary<'a>) -> Self {
        Self {
            dictionary,
            resource: About::of_resource(resource, dictionary),
            known: FxHashMap::default(),
            roots: (dictionary.string_table.iter())
                .any(|text| text == TASK)
                .then(FxHashMap::default),
            previous: None,
        }
    }

    pub(super) fn owner(&mut self, builder: &mut Builder, attributes: &[Int]) -> Owner {
        if let Some((key, owner)) = &self.previous
            && **key == *attributes
        {
            return *owner;
        }
        let owner = match self.known.get(attributes) {
            Some(&owner) => owner,
            None => {
                let owner = self.add(builder, attributes);
                self.known.insert(attributes.into(), owner);
                owner
            }
        };
        self.previous = Some((attributes.into(), owner));
        owner
    }

    fn add(&mut self, builder: &mut Builder, attributes: &[Int]) -> Owner {
        let mut about = self.resource.clone();
        for &index in attributes {
            if let Some(row) = self.dictionary.attribute_table.get(index.index()) {
                let row = row.get();
                let key = text_at(self.dictionary, row.key_strindex);
                about.take(key, &row.value, self.dictionary);
            }
        }
        let pid = about
            .pid
            .and_then(|pid| u32::try_from(pid).ok())
            .unwrap_or(0);
        builder.process(pid, &about.command);
        let thread = builder.thread(pid, about.tid.unwrap_or(0), &about.thread);
        let task = match (about.task, &mut self.roots) {
            (Some(number), _) => {
                let tasks = &mut builder.profile.tasks;
                let task = tasks.find_number(number);
                let task = task.unwrap_or_else(|| builder.profile.hand_made_task(number));
                let name = builder.profile.strings.intern(&about.task_name);
                builder.profile.tasks.get_mut(task).name = name;
                Some(task)
            }
            (None, Some(roots)) => Some(*roots.entry(thread).or_insert_with(|| {
                builder.profile.tasks.push(Task {
                    number: builder.profile.threads.get(thread).number,
                    is_root: true,
                    ..Task::default()
                })
            })),
            (None, None) => None,
        };
        Owner {
            thread,
            task,
            state: about.state,
            gil: about.gil,
        }
    }
}
