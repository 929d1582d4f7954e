//! A picture as data: boxes with their places, in lanes, and the words around them.
//!
//! A flame graph has one lane. A picture in the order of time has one for each thread, and a
//! comparison one for each recording. The static drawing and the script both start from this, so
//! they show the same.

use rustc_hash::FxHashMap;

use super::theme::Look;
use super::words::Amounts;

/// A picture, see the module.
#[derive(Debug)]
pub(super) struct Picture {
    pub title: String,
    /// The lines below the title.
    pub lines: Vec<String>,
    /// Whether the root is at the top.
    pub is_icicle: bool,
    pub amounts: Amounts,
    pub frames: Frames,
    /// In the order of a walk: a box stands before its callees.
    pub nodes: Vec<Node>,
    pub lanes: Vec<Lane>,
    /// The width of all, in the unit of [`Node::start`].
    pub span: u64,
    /// The instant of the left edge, where the picture is one of time.
    pub origin: u64,
    /// Whether `start` and `width` are instants and durations, with amounts of their own.
    pub is_timed: bool,
    /// The places of the boxes in the second lane of a comparison, by node.
    pub before: Vec<Before>,
    /// The ways to colour, the shown one first.
    pub looks: Vec<Look>,
}

/// A drawn call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Node {
    /// The row in [`Picture::frames`].
    pub frame: u32,
    /// The level; 0 is the whole of a lane.
    pub level: u32,
    /// Its start, from the left.
    pub start: u64,
    pub width: u64,
    /// Its amount, callees included. The same as `width`, unless the picture is one of time.
    pub weight: u64,
    pub own: u64,
    pub count: u64,
    /// The colour of a comparison: a row of its only look.
    pub class: u8,
}

/// A node in the recording before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Before {
    pub start: u64,
    pub width: u64,
    pub own: u64,
}

/// A part of the picture with a root of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lane {
    /// The words above it; empty for none.
    pub label: String,
    /// Its nodes.
    pub from: usize,
    pub to: usize,
    /// Whether its boxes are those of [`Picture::before`].
    pub is_before: bool,
    /// The level from which on no calls are folded into strips.
    pub folds_below: u32,
}

impl Lane {
    /// A lane without words, which folds wherever it can.
    pub(super) fn of(nodes: std::ops::Range<usize>) -> Self {
        Self {
            label: String::new(),
            from: nodes.start,
            to: nodes.end,
            is_before: false,
            folds_below: u32::MAX,
        }
    }
}

/// What boxes show: a function at lines of a file, and its colours.
#[derive(Debug, Default)]
pub(super) struct Frames {
    pub names: Vec<String>,
    pub files: Vec<String>,
    pub rows: Vec<Frame>,
    name_rows: FxHashMap<String, u32>,
    file_rows: FxHashMap<String, u32>,
    ids: FxHashMap<Frame, u32>,
}

/// A row of [`Frames`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    pub name: u32,
    pub file: u32,
    /// The first and the last line; 0 where unknown.
    pub lines: (u32, u32),
    /// The kind, as a row of the look of kinds.
    pub kind: u8,
    /// The package, as a row of a table of the layout's.
    pub package: u32,
}

impl Frames {
    /// The row of a frame.
    pub(super) fn add(
        &mut self,
        name: &str,
        file: &str,
        lines: (u32, u32),
        kind: u8,
        package: u32,
    ) -> u32 {
        let frame = Frame {
            name: row(&mut self.names, &mut self.name_rows, name),
            file: row(&mut self.files, &mut self.file_rows, file),
            lines,
            kind,
            package,
        };
        let rows = &mut self.rows;
        *self.ids.entry(frame).or_insert_with(|| {
            rows.push(frame);
            rows.len() as u32 - 1
        })
    }

    /// The name of a frame.
    pub(super) fn name(&self, frame: u32) -> &str {
        &self.names[self.rows[frame as usize].name as usize]
    }

    /// `path:line`, as far as known.
    pub(super) fn place(&self, frame: u32) -> String {
        let frame = &self.rows[frame as usize];
        let file = &self.files[frame.file as usize];
        match frame.lines {
            _ if file.is_empty() => String::new(),
            (0, _) => file.clone(),
            (first, last) if first == last => format!("{file}:{first}"),
            (first, last) => format!("{file}:{first}–{last}"),
        }
    }
}

fn row(texts: &mut Vec<String>, rows: &mut FxHashMap<String, u32>, text: &str) -> u32 {
    if let Some(&row) = rows.get(text) {
        return row;
    }
    texts.push(text.to_owned());
    let row = texts.len() as u32 - 1;
    rows.insert(text.to_owned(), row);
    row
}

impl Picture {
    /// The start and the width of a node in a lane.
    pub(super) fn extent(&self, lane: &Lane, node: usize) -> (u64, u64) {
        match lane.is_before {
            true => (self.before[node].start, self.before[node].width),
            false => (self.nodes[node].start, self.nodes[node].width),
        }
    }
}

/// The shortest run of calls that becomes one strip.
pub(super) const FOLDED: usize = 8;

/// The rows of the nodes, where each long run of calls with one and the same amount is one strip.
#[derive(Debug)]
pub(super) struct Rows {
    /// The row of each node in its lane; `None` inside a strip.
    pub of: Vec<Option<u32>>,
    /// By node, the number of calls in the strip that begins there; 0 where none does.
    pub strips: Vec<u32>,
}

impl Rows {
    /// The rows. A run begins and ends with a box of its own, so that the reader sees from where
    /// to where the strip leads.
    pub(super) fn new(picture: &Picture) -> Self {
        let nodes = &picture.nodes;
        let (mut of, mut strips) = (vec![None; nodes.len()], vec![0; nodes.len()]);
        // The rows of the path to the current node, by level.
        let mut path: Vec<u32> = Vec::new();
        for lane in &picture.lanes {
            let mut at = lane.from;
            while at < lane.to {
                let node = &nodes[at];
                path.truncate(node.level as usize);
                let row = path.last().map_or(0, |row| row + 1);
                of[at] = Some(row);
                path.push(row);
                let run = run_length(picture, lane, at);
                at += 1;
                if run < FOLDED + 2 {
                    continue;
                }
                // The nodes between the first and the last one.
                strips[at] = run as u32 - 2;
                of[at] = Some(row + 1);
                for _ in 0..run - 2 {
                    path.push(row + 1);
                }
                at += run - 2;
            }
        }
        Self { of, strips }
    }

    /// The number of rows of a lane.
    pub(super) fn height(&self, lane: &Lane) -> u32 {
        let rows = self.of[lane.from..lane.to].iter().flatten();
        rows.max().map_or(1, |row| row + 1)
    }
}

/// The number of nodes from one on of which each has the next as its only callee, and nothing of
/// its own.
fn run_length(picture: &Picture, lane: &Lane, first: usize) -> usize {
    let mut last = first;
    while last + 1 < lane.to
        && picture.nodes[last + 1].level < lane.folds_below
        && is_passed_on(picture, last)
    {
        last += 1;
    }
    last - first + 1
}

/// Whether all of a node is its first callee's.
fn is_passed_on(picture: &Picture, at: usize) -> bool {
    let (node, next) = (&picture.nodes[at], &picture.nodes[at + 1]);
    let before = |at: usize| picture.before.get(at).map_or(0, |before| before.width);
    next.level == node.level + 1
        && (next.width, next.weight) == (node.width, node.weight)
        && before(at) == before(at + 1)
        && (node.width > 0 || before(at) > 0)
}
