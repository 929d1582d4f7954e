//! The samples that count: those of some threads, tasks or processes, of some span of time, and
//! those with some file or function on their stack. By default all of them.
//!
//! Options add up: a sample has to pass each of them. Several values of one option are
//! alternatives. A filter also holds the [`Transforms`] of what passes, and has one text for
//! everything ([`text`]).

mod text;

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeToInclusive};

use profundo_model::{Gil, Nanos, Profile, SpanPath, StackId};

use crate::{Expression, GroupBy, Pattern, Transforms};

pub use text::FilterError;

/// A set of thread or task numbers: a number, a range, a list, or all (`..`).
///
/// ```
/// use profundo_analysis::Numbers;
///
/// assert!(Numbers::from(1..=2).contains(2));
/// assert!(Numbers::from([1, 5]).contains(5));
/// assert!(!Numbers::from(3).contains(5));
/// assert!(Numbers::from(..).contains(5));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers(Vec<RangeInclusive<u64>>);

impl Numbers {
    /// Every number.
    pub fn all() -> Self {
        Self(vec![0..=u64::MAX])
    }

    /// Whether `number` is in the set.
    pub fn contains(&self, number: u64) -> bool {
        self.0.iter().any(|range| range.contains(&number))
    }

    /// Whether every number is in the set.
    pub fn is_all(&self) -> bool {
        self.0.contains(&(0..=u64::MAX))
    }
}

impl Default for Numbers {
    fn default() -> Self {
        Self::all()
    }
}

impl From<u64> for Numbers {
    fn from(number: u64) -> Self {
        Self(vec![number..=number])
    }
}

impl From<RangeInclusive<u64>> for Numbers {
    fn from(range: RangeInclusive<u64>) -> Self {
        Self(vec![range])
    }
}

impl From<Range<u64>> for Numbers {
    fn from(range: Range<u64>) -> Self {
        if range.is_empty() {
            Self(Vec::new())
        } else {
            Self(vec![range.start..=range.end - 1])
        }
    }
}

impl From<RangeFrom<u64>> for Numbers {
    fn from(range: RangeFrom<u64>) -> Self {
        Self(vec![range.start..=u64::MAX])
    }
}

impl From<RangeToInclusive<u64>> for Numbers {
    fn from(range: RangeToInclusive<u64>) -> Self {
        Self(vec![0..=range.end])
    }
}

impl From<RangeFull> for Numbers {
    fn from(_: RangeFull) -> Self {
        Self::all()
    }
}

impl<const N: usize> From<[u64; N]> for Numbers {
    fn from(numbers: [u64; N]) -> Self {
        numbers.into_iter().collect()
    }
}

impl From<&[u64]> for Numbers {
    fn from(numbers: &[u64]) -> Self {
        numbers.iter().copied().collect()
    }
}

impl From<Vec<u64>> for Numbers {
    fn from(numbers: Vec<u64>) -> Self {
        numbers.into_iter().collect()
    }
}

impl FromIterator<u64> for Numbers {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        Self(numbers.into_iter().map(|number| number..=number).collect())
    }
}

/// A thread, in the user's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadChoice {
    /// By the number that reports show, or where no thread has it, by the kernel's id.
    Number(u64),
    /// By its name.
    Name(Pattern),
}

/// A process, in the user's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessChoice {
    /// By the kernel's id, whatever programs ran in it.
    Pid(u32),
    /// By its command line.
    Command(Pattern),
}

/// A task, in the user's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskChoice {
    /// By the number that reports show.
    Number(u64),
    /// By its name.
    Name(Pattern),
}

/// A label in the user's words: a key, and a value or a glob for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelChoice {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Pattern,
}

impl LabelChoice {
    /// Whether a label of this key with this value is meant. Other text than a glob is the whole
    /// value: `run=1` is not `run=10`.
    pub fn is_value(&self, value: &str) -> bool {
        match self.value.is_glob() {
            true => self.value.is_in(value),
            false => self.value.text() == value,
        }
    }
}

/// A span in the user's words: its name, or one of its attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanChoice {
    /// The key of the attribute; `None` means the name.
    pub key: Option<String>,
    /// The whole name or value, or a glob for it.
    pub value: Pattern,
}

impl SpanChoice {
    /// The choice in the text `NAME` or `KEY=VALUE`.
    pub fn new(text: &str) -> Self {
        match text.split_once('=') {
            Some((key, value)) => Self {
                key: Some(key.to_owned()),
                value: value.into(),
            },
            None => Self {
                key: None,
                value: text.into(),
            },
        }
    }

    fn is_text(&self, text: &str) -> bool {
        match self.value.is_glob() {
            true => self.value.is_in(text),
            false => self.value.text() == text,
        }
    }

    /// Whether the innermost span of a path is meant.
    pub fn is_path(&self, profile: &Profile, path: &SpanPath) -> bool {
        let text = |id| profile.strings.get(id);
        match &self.key {
            None => self.is_text(text(path.name)),
            Some(key) => (path.attributes.iter())
                .any(|&(its, value)| text(its) == key && self.is_text(text(value))),
        }
    }
}

impl std::fmt::Display for SpanChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{key}={}", self.value.text()),
            None => f.write_str(self.value.text()),
        }
    }
}

/// The samples to look at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Samples of these threads.
    pub threads: Numbers,
    /// Samples of these tasks.
    pub tasks: Numbers,
    /// Samples of any of these threads, where there are any.
    pub named_threads: Vec<ThreadChoice>,
    /// Samples of any of these tasks.
    pub named_tasks: Vec<TaskChoice>,
    /// Samples of any of these processes.
    pub processes: Vec<ProcessChoice>,
    /// Samples of recordings with any of these labels. Labels of different keys must all be there.
    pub labels: Vec<LabelChoice>,
    /// Samples in any of these spans, at whatever depth.
    pub spans: Vec<SpanChoice>,
    /// Samples with any of these files on their stack.
    pub files: Vec<Pattern>,
    /// Samples with any of these functions on their stack. A glob has to match the name; other text
    /// is the whole name or its last segments, and only where no name ends like that, a part of it.
    pub functions: Vec<Pattern>,
    /// Samples from this instant on.
    pub from: Option<Nanos>,
    /// Samples before this instant.
    pub to: Option<Nanos>,
    /// Samples in any of these states of the interpreter's lock, where there are any.
    pub gil: Vec<Gil>,
    /// Samples with a frame that matches any of these, where there are any.
    pub focus: Vec<Expression>,
    /// No samples with a frame that matches any of these.
    pub ignore: Vec<Expression>,
    /// The changes to the stacks of samples that pass. [`crate::transform`] applies them.
    pub transforms: Transforms,
    /// For a profile that was transformed, the stack of samples that were left out. Which stacks
    /// pass has been decided then.
    pub transformed: Option<StackId>,
    /// Sums over all threads, tasks, spans and times pass whatever is said about those: nothing but
    /// what is looked for is in them.
    pub whole_sums: bool,
}

impl Filter {
    /// Also the threads that `text` matches: a number, or a name or a part of it.
    pub fn thread(mut self, text: &str) -> Self {
        self.named_threads.push(match text.parse() {
            Ok(number) => ThreadChoice::Number(number),
            Err(_) => ThreadChoice::Name(text.into()),
        });
        self
    }

    /// Also the tasks that `text` matches: a number (`0x…` too), or a name or a part of it.
    pub fn task(mut self, text: &str) -> Self {
        let number = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        self.named_tasks.push(match number {
            Some(number) => TaskChoice::Number(number),
            None => TaskChoice::Name(text.into()),
        });
        self
    }

    /// Also the processes that `text` matches: a process id, or a part of the command line.
    pub fn process(mut self, text: &str) -> Self {
        self.processes.push(match text.parse() {
            Ok(pid) => ProcessChoice::Pid(pid),
            Err(_) => ProcessChoice::Command(text.into()),
        });
        self
    }

    /// Also the recordings with this label, in a merged profile.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.push(LabelChoice {
            key: key.to_owned(),
            value: value.into(),
        });
        self
    }

    /// Also the samples in spans of this name, or with an attribute `KEY=VALUE`. Name and value are
    /// whole ones, or globs.
    pub fn span(mut self, text: &str) -> Self {
        self.spans.push(SpanChoice::new(text));
        self
    }

    /// Also the samples with this file on their stack.
    pub fn file(mut self, text: &str) -> Self {
        self.files.push(text.into());
        self
    }

    /// Also the samples with this function on their stack.
    pub fn function(mut self, text: &str) -> Self {
        self.functions.push(text.into());
        self
    }

    /// Only the samples from this many seconds after the start of the recording on.
    pub fn from_seconds(mut self, seconds: f64) -> Self {
        self.from = Some(nanos(seconds));
        self
    }

    /// Only the samples before this many seconds after the start of the recording.
    pub fn to_seconds(mut self, seconds: f64) -> Self {
        self.to = Some(nanos(seconds));
        self
    }

    /// Whether every sample passes.
    pub fn is_all(&self) -> bool {
        let Self {
            threads,
            tasks,
            named_threads,
            named_tasks,
            processes,
            labels,
            spans,
            files,
            functions,
            from,
            to,
            gil,
            focus,
            ignore,
            transforms: _,
            transformed,
            whole_sums: _,
        } = self;
        threads.is_all()
            && tasks.is_all()
            && named_threads.is_empty()
            && named_tasks.is_empty()
            && processes.is_empty()
            && labels.is_empty()
            && spans.is_empty()
            && files.is_empty()
            && functions.is_empty()
            && from.is_none()
            && to.is_none()
            && gil.is_empty()
            && focus.is_empty()
            && ignore.is_empty()
            && transformed.is_none()
    }

    /// Whether it is about all samples, and their stacks as recorded.
    pub fn is_nothing(&self) -> bool {
        self.is_all() && self.transforms.is_empty()
    }

    /// Whether samples are chosen by their stacks.
    pub fn is_of_stacks(&self) -> bool {
        !(self.files.is_empty()
            && self.functions.is_empty()
            && self.focus.is_empty()
            && self.ignore.is_empty())
            || self.transforms.drops_samples()
    }

    /// True if the filter names no thread, task, span or time, or does not mean sums over all of
    /// these by that, so that they can pass.
    pub fn is_timeless(&self) -> bool {
        if self.whole_sums {
            return true;
        }
        let only_these = Self {
            processes: Vec::new(),
            labels: Vec::new(),
            files: Vec::new(),
            functions: Vec::new(),
            focus: Vec::new(),
            ignore: Vec::new(),
            transformed: None,
            ..self.clone()
        };
        only_these.is_all()
    }

    /// The filter that holds in a grouped report, after Julia's rule: a report by thread shows
    /// all tasks, and one by task shows all threads. Grouped by both, both filters hold.
    pub fn for_groups(&self, by: &GroupBy) -> Self {
        let mut filter = self.clone();
        match by {
            GroupBy::Thread => {
                filter.tasks = Numbers::all();
                filter.named_tasks.clear();
            }
            GroupBy::Task => {
                filter.threads = Numbers::all();
                filter.named_threads.clear();
            }
            GroupBy::None
            | GroupBy::ThreadTask
            | GroupBy::TaskThread
            | GroupBy::Process
            | GroupBy::Command
            | GroupBy::Label
            | GroupBy::LabelOf(_)
            | GroupBy::Span
            | GroupBy::SpanOf(_) => {}
        }
        filter
    }
}

fn nanos(seconds: f64) -> Nanos {
    // The cast saturates: NaN and negative numbers are 0.
    Nanos((seconds * 1e9).round() as u64)
}
