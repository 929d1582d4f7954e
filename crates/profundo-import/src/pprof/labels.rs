//! The labels of a sample: its process, its thread, its task, its time, and what the program says
//! of its work. Each writer has its own keys.
//!
//! A text under any other key is an attribute of a span, named by all of them: `endpoint=/a`. Go's
//! programs set them for the time that a function runs, as ours set spans.

use profundo_model::{Gil, SpanId, SpanPath, State, StringId, TaskId, ThreadId};
use rustc_hash::FxHashMap;

use super::tables::Tables;
use crate::Builder;
use crate::encoding::protobuf::Fields;

mod owners;

use owners::Owners;

/// Whose sample it is, and when it was taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner {
    pub thread: ThreadId,
    pub task: Option<TaskId>,
    pub span: SpanId,
    pub gil: Gil,
    /// The activity, where the labels have it.
    pub state: Option<State>,
}

/// A label as it stands in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Label {
    key: u64,
    text: u64,
    number: i64,
}

/// The use of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Pid,
    Tid,
    Process,
    Thread,
    /// The thread's name in the kernel, where there is no other.
    Command,
    /// Our own number of the thread.
    ThreadNumber,
    TaskNumber,
    Task,
    Kind,
    State,
    Gil,
    Time,
    /// The name of one of our own spans.
    Span,
    /// An attribute of one of our own spans.
    SpanAttribute,
    /// The program's own.
    Attribute,
    Unused,
}

/// The labels so far.
#[derive(Debug)]
pub(super) struct Labels<'a> {
    tables: &'a Tables<'a>,
    roles: FxHashMap<u64, Role>,
    /// The owner of each set of labels, without the times.
    known: FxHashMap<Box<[Label]>, Owner>,
    owners: Owners,
    labels: Vec<Label>,
    previous: Option<Owner>,
    previous_labels: Vec<Label>,
}

/// Spans of a program that labels each request by a number of its own would be without end.
const MOST_SPANS: usize = 10_000;

impl<'a> Labels<'a> {
    pub(super) fn new(tables: &'a Tables<'a>) -> Self {
        Self {
            tables,
            roles: FxHashMap::default(),
            known: FxHashMap::default(),
            owners: Owners::default(),
            labels: Vec::new(),
            previous: None,
            previous_labels: Vec::new(),
        }
    }

    /// The owner of a sample with these labels, and its time in nanoseconds.
    pub(super) fn owner(
        &mut self,
        builder: &mut Builder,
        messages: &[&[u8]],
    ) -> (Owner, Option<u64>) {
        let mut time = None;
        self.labels.clear();
        for message in messages {
            let label = Label::of(message);
            match self.role(label.key) {
                Role::Time => time = u64::try_from(label.number).ok().filter(|&time| time > 0),
                Role::Unused => {}
                _ => self.labels.push(label),
            }
        }
        if let Some(owner) = self.previous
            && self.previous_labels == self.labels
        {
            return (owner, time);
        }
        let owner = match self.known.get(&self.labels[..]) {
            Some(&owner) => owner,
            None => {
                let owner = self.owner_of_labels(builder);
                self.known.insert(self.labels[..].into(), owner);
                owner
            }
        };
        self.previous = Some(owner);
        self.previous_labels.clone_from(&self.labels);
        (owner, time)
    }

    /// Adds what is known only at the end.
    pub(super) fn finish(self, builder: &mut Builder) {
        self.owners.finish(builder);
    }

    fn role(&mut self, key: u64) -> Role {
        let tables = self.tables;
        *(self.roles.entry(key)).or_insert_with(|| Role::of(&tables.text(key)))
    }

    fn owner_of_labels(&mut self, builder: &mut Builder) -> Owner {
        let labels = std::mem::take(&mut self.labels);
        let mut wanted = owners::Wanted::default();
        let (mut gil, mut state, mut kind_is_system) = (Gil::None, None, false);
        let mut command = None;
        for label in &labels {
            let text = || self.tables.text(label.text);
            // Some write numbers as texts.
            let number = || match label.text {
                0 => u64::try_from(label.number).ok(),
                _ => text().trim().parse().ok(),
            };
            match self.roles.get(&label.key) {
                Some(Role::Pid) => wanted.pid = number().and_then(|pid| pid.try_into().ok()),
                Some(Role::Tid) => wanted.tid = number(),
                Some(Role::Process) => wanted.process = text(),
                Some(Role::Thread) => wanted.thread = text(),
                Some(Role::Command) => command = Some(text()),
                Some(Role::ThreadNumber) => wanted.number = number(),
                Some(Role::TaskNumber) => wanted.task_number = number(),
                Some(Role::Task) => wanted.task = text(),
                Some(Role::Kind) => kind_is_system = text() == "system",
                Some(Role::State) => state = state_of(&text()),
                Some(Role::Gil) => gil = gil_of(&text()),
                _ => {}
            }
        }
        if let (true, Some(command)) = (wanted.thread.is_empty(), command) {
            wanted.thread = command;
        }
        let (thread, task) = self.owners.get(builder, &wanted);
        let owner = Owner {
            thread,
            task,
            span: self.span(builder, &labels),
            gil,
            state: state.or(kind_is_system.then_some(State::System)),
        };
        self.labels = labels;
        owner
    }

    /// The span of a sample: our own, or one of the program's labels.
    fn span(&mut self, builder: &mut Builder, labels: &[Label]) -> SpanId {
        let has = |label: &Label, role| self.roles.get(&label.key) == Some(&role);
        let strings = &mut builder.profile.strings;
        // Ours stand with the innermost first.
        let names = labels.iter().rev().filter(|label| has(label, Role::Span));
        let mut names: Vec<StringId> = names
            .map(|label| strings.intern(&self.tables.text(label.text)))
            .collect();
        let attribute = match names.is_empty() {
            true => Role::Attribute,
            false => Role::SpanAttribute,
        };
        let mut rows: Vec<_> = (labels.iter())
            .filter(|label| has(label, attribute) && label.text != 0)
            .map(|label| (self.tables.text(label.key), self.tables.text(label.text)))
            .collect();
        // Go writes them in any order.
        rows.sort_unstable();
        let mut words = Vec::new();
        let mut attributes: Vec<(StringId, StringId)> = Vec::new();
        for (key, value) in &rows {
            let key = key.strip_prefix("span.").unwrap_or(key);
            words.push(format!("{key}={value}"));
            attributes.push((strings.intern(key), strings.intern(value)));
        }
        if names.is_empty() && !words.is_empty() {
            names.push(strings.intern(&words.join(", ")));
        }
        if builder.profile.spans.paths.len() > MOST_SPANS {
            builder.note(format!(
                "the samples have more than {MOST_SPANS} different sets of labels: some are left out"
            ));
            return SpanId::default();
        }
        let count = names.len();
        let mut parent = None;
        for (number, name) in names.into_iter().enumerate() {
            // It is not known which of the spans around each other has which attribute.
            let is_innermost = number + 1 == count;
            parent = Some(builder.profile.spans.paths.intern(SpanPath {
                parent,
                name,
                attributes: match is_innermost {
                    true => std::mem::take(&mut attributes).into(),
                    false => Box::default(),
                },
            }));
        }
        parent.unwrap_or_default()
    }
}

impl Label {
    fn of(message: &[u8]) -> Self {
        let mut label = Self::default();
        for field in Fields::new(message).flatten() {
            match field.number {
                1 => label.key = field.value.number(),
                2 => label.text = field.value.number(),
                3 => label.number = field.value.number() as i64,
                _ => {}
            }
        }
        label
    }
}

impl Role {
    fn of(key: &str) -> Self {
        if key.starts_with("span.") {
            return Self::SpanAttribute;
        }
        let key = key.to_ascii_lowercase().replace(['-', ' ', '.'], "_");
        match &key[..] {
            "pid" | "process_id" => Self::Pid,
            "tid" | "thread_id" | "threadid" | "thread_native_id" | "native_thread_id"
            | "os_thread_id" => Self::Tid,
            "process" | "process_name" | "process_executable_name" => Self::Process,
            "thread" | "thread_name" | "threadname" => Self::Thread,
            "comm" | "thread_comm" | "task_comm" => Self::Command,
            "thread_number" => Self::ThreadNumber,
            "task_number" => Self::TaskNumber,
            "task" => Self::Task,
            "kind" => Self::Kind,
            "state" => Self::State,
            "gil" => Self::Gil,
            "end_timestamp_ns" | "timestamp_ns" | "timestampns" => Self::Time,
            "span" => Self::Span,
            // Each is another one: the sizes of blocks, the numbers of requests.
            "bytes" | "request" | "alignment" => Self::Unused,
            key if key == "id" || key.ends_with("_id") => Self::Unused,
            _ => Self::Attribute,
        }
    }
}

/// Our own words.
fn state_of(text: &str) -> Option<State> {
    match text {
        "sleeping" => Some(State::Sleeping),
        "waiting" => Some(State::WallWaiting),
        "running" => Some(State::WallRunning),
        _ => None,
    }
}

fn gil_of(text: &str) -> Gil {
    match text {
        "held" => Gil::Held,
        "waiting" => Gil::Waiting,
        "released" => Gil::Released,
        _ => Gil::None,
    }
}
