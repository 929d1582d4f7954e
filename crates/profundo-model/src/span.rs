//! Spans and marks: stretches of work and instants that a program has named.
//!
//! A *path* is the name of a span with its attributes, below the path of the span around it.
//! Samples and blocks point at the path of their innermost span, so the table grows with distinct
//! paths. The first spans of a recording have a row each ([`Span`]), and the others are in sums by
//! path and thread ([`SpanSum`]).

use rustc_hash::FxHashMap;

use crate::{Lengths, Nanos, ProcessId, SpanId, StringId, TaskId, ThreadId};

/// The name of a span below the path of the span around it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct SpanPath {
    /// The path around it.
    pub parent: Option<SpanId>,
    /// Its name.
    pub name: StringId,
    /// Keys and values of its attributes, in the order of the program.
    pub attributes: Box<[(StringId, StringId)]>,
}

/// Paths by id. Row 0 stands for "outside of spans".
#[derive(Debug, Clone)]
pub struct SpanTable {
    paths: Vec<SpanPath>,
    ids: FxHashMap<SpanPath, SpanId>,
}

impl Default for SpanTable {
    fn default() -> Self {
        let mut table = Self {
            paths: Vec::new(),
            ids: FxHashMap::default(),
        };
        table.intern(SpanPath::default());
        table
    }
}

impl SpanTable {
    /// The id of a path, which is added when it is new. The path around it is there already. A span
    /// without a name and attributes is row 0, which is no path's parent.
    pub fn intern(&mut self, mut path: SpanPath) -> SpanId {
        path.parent = path.parent.filter(|parent| parent.index() > 0);
        if let Some(&id) = self.ids.get(&path) {
            return id;
        }
        let id = SpanId::from_index(self.paths.len());
        debug_assert!(path.parent.is_none_or(|parent| parent < id));
        self.paths.push(path.clone());
        self.ids.insert(path, id);
        id
    }

    /// The row of `id`.
    pub fn get(&self, id: SpanId) -> &SpanPath {
        &self.paths[id.index()]
    }

    /// The number of paths, the one outside of spans included.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Never true: row 0 exists from the start.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Whether there is any span.
    pub fn is_any(&self) -> bool {
        self.paths.len() > 1
    }

    /// All rows in the order of their ids: a path stands behind the one around it.
    pub fn iter(&self) -> impl Iterator<Item = (SpanId, &SpanPath)> {
        let rows = self.paths.iter().enumerate();
        rows.map(|(index, row)| (SpanId::from_index(index), row))
    }

    /// A path and those around it, the innermost first. Nothing outside of spans.
    pub fn outwards(&self, id: SpanId) -> impl Iterator<Item = SpanId> {
        let mut next = (id.index() > 0).then_some(id);
        std::iter::from_fn(move || {
            let id = next?;
            next = self.get(id).parent;
            Some(id)
        })
    }
}

/// One span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Its path.
    pub path: SpanId,
    /// The thread that entered it.
    pub thread: ThreadId,
    /// The task that entered it.
    pub task: TaskId,
    /// Its number, unique in its process, from 1.
    pub number: u64,
    /// The number of the span around it; 0 if there is none.
    pub parent: u64,
    /// Its start, since the start of the recording.
    pub from: Nanos,
    /// Its end; `None` if it was open at the end of the recording.
    pub to: Option<Nanos>,
}

impl Span {
    /// Its length, if it has ended.
    pub fn length(&self) -> Option<u64> {
        Some(self.to?.0.saturating_sub(self.from.0))
    }
}

/// Spans of one path that have no rows of their own. All have ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpanSum {
    /// Their path.
    pub path: SpanId,
    /// Their process.
    pub process: ProcessId,
    /// Their thread; `None` for several.
    pub thread: Option<ThreadId>,
    /// Their lengths in nanoseconds.
    pub lengths: Lengths,
}

/// A named instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark {
    /// Its name.
    pub name: StringId,
    /// The time, since the start of the recording.
    pub time: Nanos,
    /// The thread.
    pub thread: ThreadId,
    /// The task.
    pub task: TaskId,
    /// The path around it.
    pub span: SpanId,
}

/// What was not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpanLoss {
    /// Marks.
    pub marks: u64,
    /// Spans whose attributes were not kept, because there were too many distinct ones.
    pub attributes: u64,
    /// Spans that were not distinguished at all, because there were too many names, or because they
    /// were too deep.
    pub names: u64,
}

impl SpanLoss {
    /// Both together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            marks: self.marks.saturating_add(other.marks),
            attributes: self.attributes.saturating_add(other.attributes),
            names: self.names.saturating_add(other.names),
        }
    }
}

/// All spans and marks.
#[derive(Debug, Clone, Default)]
pub struct Spans {
    /// Paths.
    pub paths: SpanTable,
    /// Spans with a row each, in the order of arrival.
    pub each: Vec<Span>,
    /// The other spans.
    pub sums: Vec<SpanSum>,
    /// Marks, in the order of arrival.
    pub marks: Vec<Mark>,
    /// What was not kept.
    pub loss: SpanLoss,
}

impl Spans {
    /// True if there is neither a span nor a mark.
    pub fn is_empty(&self) -> bool {
        self.each.is_empty() && self.sums.is_empty() && self.marks.is_empty()
    }
}
