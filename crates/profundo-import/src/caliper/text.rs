//! The `.cali` text: a record is a line.
//!
//! ```text
//! __rec=node,id=155,attr=20,data=main,parent=28     a node of the tree; attributes are nodes, too
//! __rec=ctx,ref=155,attr=97=105,data=0.000285=2     a record: nodes, and attributes with numbers
//! __rec=globals,ref=24                              facts about the run
//! ```
//!
//! A backslash stands before commas, equals signs and backslashes in values.

use std::borrow::Cow;

use memchr::{memchr, memchr2};
use profundo_model::{LocationId, StackId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::metric::{self, Choice, Metric};
use super::records::{Record, Records, is_callpath, is_rank, is_thread};
use crate::{Builder, Error, Named, Source};

/// The attributes that attributes are made of, by the numbers that all files have.
const NAME: u64 = 8;
const TYPE: u64 = 9;
const PROPERTIES: u64 = 10;

/// The nodes that no file writes: types, and the three attributes above.
const FIRST: [(u64, u64, &[u8], Option<u32>); 12] = [
    (0, TYPE, b"usr", None),
    (1, TYPE, b"int", None),
    (2, TYPE, b"uint", None),
    (3, TYPE, b"string", None),
    (4, TYPE, b"addr", None),
    (5, TYPE, b"double", None),
    (6, TYPE, b"bool", None),
    (7, TYPE, b"type", None),
    (NAME, NAME, b"cali.attribute.name", Some(3)),
    (TYPE, NAME, b"cali.attribute.type", Some(7)),
    (PROPERTIES, NAME, b"cali.attribute.prop", Some(1)),
    (11, TYPE, b"ptr", None),
];

/// About what the stack of a node takes besides its name.
const NODE: usize = 64;

/// A property of attributes: their values make paths.
const NESTED: u32 = 256;

pub(super) fn is_start(start: &[u8]) -> bool {
    [&b"__rec=node,"[..], b"__rec=ctx,", b"__rec=globals,"]
        .iter()
        .any(|mark| start.starts_with(mark))
}

/// The parts of a line: `node`, and the key and the text of each other part.
fn parts(line: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    split(line, b',').map(|part| match memchr(b'=', part) {
        Some(at) => (
            part.get(..at).unwrap_or_default(),
            part.get(at + 1..).unwrap_or_default(),
        ),
        None => (part, &b""[..]),
    })
}

/// The text between marks that have no backslash before them.
fn split(text: &[u8], mark: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut from = 0;
        loop {
            let found = memchr2(mark, b'\\', text.get(from..).unwrap_or_default());
            let Some(at) = found.map(|at| from + at) else {
                rest = None;
                return Some(text);
            };
            if text.get(at) == Some(&b'\\') {
                from = at + 2;
                continue;
            }
            rest = text.get(at + 1..);
            return text.get(..at);
        }
    })
}

/// A value without its backslashes.
fn plain(text: &[u8]) -> Cow<'_, str> {
    if memchr(b'\\', text).is_none() {
        return String::from_utf8_lossy(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(&byte) = rest.next() {
        let byte = match byte {
            b'\\' => match rest.next() {
                Some(b'n') => b'\n',
                Some(&byte) => byte,
                None => break,
            },
            byte => byte,
        };
        bytes.push(byte);
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// A node of the tree. Its caller's row is smaller than its own.
#[derive(Debug, Clone, Copy)]
struct Node<'a> {
    attribute: u64,
    data: &'a [u8],
    parent: Option<u32>,
    facts: Facts,
}

/// What a node and those above it say beside their path.
#[derive(Debug, Clone, Copy, Default)]
struct Facts {
    rank: Option<u32>,
    thread: Option<u64>,
    /// The node of a function, a kernel or a copy below the path.
    leaf: Option<u32>,
    /// The node of the place in the source: `a.c:12`.
    place: Option<u32>,
    /// Whether the records are of a channel of other numbers than those by region.
    is_other: bool,
}

impl Facts {
    fn with(self, inner: Self) -> Self {
        Self {
            rank: inner.rank.or(self.rank),
            thread: inner.thread.or(self.thread),
            leaf: inner.leaf.or(self.leaf),
            place: inner.place.or(self.place),
            is_other: inner.is_other || self.is_other,
        }
    }
}

/// What the values of an attribute say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Path,
    Rank,
    Thread,
    Leaf,
    Place,
    Channel,
    Number,
    Other,
}

/// What became of a line with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Added {
    Record,
    /// It is no record, or has no value that is wanted.
    Nothing,
    /// Its path would take too much memory.
    TooDeep,
}

#[derive(Debug)]
struct Attribute {
    role: Role,
    metric: Metric,
    /// The number among the metrics that records have.
    column: Option<usize>,
}

/// The tree of a file.
struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    rows: FxHashMap<u64, u32>,
    attributes: FxHashMap<u64, Attribute>,
    metrics: Vec<Metric>,
    /// The stacks of nodes below a stack.
    stacks: FxHashMap<(Option<StackId>, u32), Option<StackId>>,
    /// The functions below paths, by the nodes of the function and of its place.
    leaves: FxHashMap<(u32, Option<u32>), LocationId>,
    /// The nodes whose facts about the run are read.
    globals: FxHashSet<u32>,
    is_old: bool,
    /// What paths below others may still take: each pair of nodes may be a path of its own.
    budget: usize,
}

pub(super) fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    /// Real paths share most of their nodes.
    const BUDGET: usize = 16;
    let mut tree = Tree::new(source.bytes.len().saturating_mul(BUDGET));
    for (at, line) in lines(source.bytes) {
        if tree.define(builder, line).is_none() {
            builder.leave_out("lines", || format!("byte {at}"));
        }
    }
    let choice = metric::choice(&tree.metrics, source.options.value.as_deref())?;
    let Some(choice) = choice else {
        builder.note("the file has no numbers");
        return Ok(());
    };
    let unit = tree
        .metrics
        .get(choice.value)
        .map(|it| it.unit(tree.is_old));
    let mut records = Records::new(unit.unwrap_or(crate::Unit::Count));
    for (at, line) in lines(source.bytes) {
        if tree.record(builder, &mut records, line, choice) == Added::TooDeep {
            builder.leave_out("records", || format!("byte {at}"));
        }
    }
    records.finish(builder, &tree.metrics, choice);
    Ok(())
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let length = memchr(b'\n', rest).unwrap_or(rest.len());
        let start = at;
        at += length + 1;
        Some((start, rest.get(..length)?.trim_ascii_end()))
    })
    .filter(|(_, line)| !line.is_empty())
}

impl<'a> Tree<'a> {
    fn new(budget: usize) -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            rows: FxHashMap::default(),
            attributes: FxHashMap::default(),
            metrics: Vec::new(),
            stacks: FxHashMap::default(),
            leaves: FxHashMap::default(),
            globals: FxHashSet::default(),
            is_old: true,
            budget,
        };
        for (row, (id, attribute, data, parent)) in (0..).zip(FIRST) {
            tree.rows.insert(id, row);
            tree.nodes.push(Node {
                attribute,
                data,
                parent,
                facts: Facts::default(),
            });
        }
        tree
    }

    fn node(&self, id: u64) -> Option<(u32, &Node<'a>)> {
        let row = *self.rows.get(&id)?;
        Some((row, self.nodes.get(row as usize)?))
    }

    fn is_other(&self, id: &[u8]) -> bool {
        let node = number(id).and_then(|id| self.node(id));
        node.is_some_and(|(_, node)| node.facts.is_other)
    }

    /// Reads a line for the tree, and for the numbers that records have.
    fn define(&mut self, builder: &mut Builder, line: &'a [u8]) -> Option<()> {
        let mut parts = parts(line);
        let (b"__rec", kind) = parts.next()? else {
            return None;
        };
        match kind {
            b"node" => self.define_node(parts),
            b"ctx" => {
                for (key, ids) in parts {
                    match key {
                        // Its numbers are of another channel.
                        b"ref" if split(ids, b'=').any(|id| self.is_other(id)) => break,
                        b"attr" => {
                            for id in split(ids, b'=') {
                                self.use_column(number(id)?);
                            }
                        }
                        _ => {}
                    }
                }
                Some(())
            }
            b"globals" => {
                self.globals(builder, parts);
                Some(())
            }
            _ => None,
        }
    }

    fn define_node(&mut self, parts: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Option<()> {
        let (mut id, mut attribute, mut data, mut parent) = (None, None, &b""[..], None);
        for (key, text) in parts {
            match key {
                b"id" => id = number::<u64>(text),
                b"attr" => attribute = number::<u64>(text),
                b"data" => data = text,
                b"parent" => parent = Some(self.node(number(text)?)?.0),
                _ => {}
            }
        }
        let attribute = attribute?;
        let row = u32::try_from(self.nodes.len()).ok()?;
        let above = parent.and_then(|parent| self.nodes.get(parent as usize));
        let above = above.map(|node| node.facts).unwrap_or_default();
        let mut own = Facts::default();
        match self.attribute(attribute)?.role {
            Role::Rank => own.rank = number(data),
            Role::Thread => own.thread = number(data),
            Role::Leaf => own.leaf = Some(row),
            Role::Place => own.place = Some(row),
            Role::Channel => own.is_other = data != b"regionprofile",
            _ => {}
        }
        self.is_old &= self.attribute(attribute)?.metric.name != "cali.caliper.version";
        self.nodes.push(Node {
            attribute,
            data,
            parent,
            facts: above.with(own),
        });
        self.rows.insert(id?, row);
        Some(())
    }

    /// The attribute of this number.
    fn attribute(&mut self, id: u64) -> Option<&mut Attribute> {
        if !self.attributes.contains_key(&id) {
            let attribute = self.describe(id)?;
            self.attributes.insert(id, attribute);
        }
        self.attributes.get_mut(&id)
    }

    fn describe(&self, id: u64) -> Option<Attribute> {
        /// An attribute has a type, properties, a title, a unit and little else.
        const MOST_FACTS: usize = 256;
        let (_, node) = self.node(id)?;
        if node.attribute != NAME {
            return None;
        }
        let mut metric = Metric {
            name: plain(node.data).into_owned(),
            ..Metric::default()
        };
        let (mut kind, mut properties) = (&b""[..], 0);
        let mut above = node.parent;
        for _ in 0..MOST_FACTS {
            let Some(node) = above.and_then(|row| self.nodes.get(row as usize)) else {
                break;
            };
            match node.attribute {
                TYPE if kind.is_empty() => kind = node.data,
                PROPERTIES if properties == 0 => properties = number(node.data).unwrap_or(0),
                id => match self.node(id).map(|(_, node)| node.data) {
                    Some(b"attribute.alias") => metric.alias = plain(node.data).into_owned(),
                    Some(b"attribute.unit" | b"time.unit") => {
                        metric.unit = plain(node.data).into_owned();
                    }
                    _ => {}
                },
            }
            above = node.parent;
        }
        let is_number = matches!(kind, b"int" | b"uint" | b"double");
        let role = role(&metric.name, properties & NESTED != 0, is_number);
        Some(Attribute {
            role,
            metric,
            column: None,
        })
    }

    /// Takes an attribute of a record among the metrics.
    fn use_column(&mut self, id: u64) {
        let next = self.metrics.len();
        let Some(attribute) = self.attribute(id) else {
            return;
        };
        if attribute.role == Role::Number && attribute.column.is_none() {
            attribute.column = Some(next);
            let metric = attribute.metric.clone();
            self.metrics.push(metric);
        }
    }

    fn record(
        &mut self,
        builder: &mut Builder,
        records: &mut Records,
        line: &'a [u8],
        choice: Choice,
    ) -> Added {
        let mut parts = parts(line);
        if parts.next() != Some((b"__rec", b"ctx")) {
            return Added::Nothing;
        }
        let (mut refs, mut ids, mut data) = (&b""[..], &b""[..], &b""[..]);
        for (key, text) in parts {
            match key {
                b"ref" => refs = text,
                b"attr" => ids = text,
                b"data" => data = text,
                _ => {}
            }
        }
        let mut record = Record::default();
        let mut facts = Facts::default();
        let mut has_value = false;
        for (id, text) in split(ids, b'=').zip(split(data, b'=')) {
            let Some(attribute) = number(id).and_then(|id| self.attributes.get(&id)) else {
                continue;
            };
            match attribute.role {
                Role::Rank => facts.rank = number(text),
                Role::Thread => facts.thread = number(text),
                Role::Number if attribute.column.is_some() => {
                    let value = number(text).unwrap_or(0.0);
                    if attribute.column == Some(choice.value) {
                        record.value = value;
                        has_value = true;
                    }
                    if attribute.column == choice.count {
                        record.count = value;
                    }
                }
                _ => {}
            }
        }
        if !has_value {
            return Added::Nothing;
        }
        let mut stack = None;
        for id in split(refs, b'=') {
            let Some(row) = number(id).and_then(|id| self.rows.get(&id).copied()) else {
                continue;
            };
            if let Some(node) = self.nodes.get(row as usize) {
                facts = facts.with(node.facts);
            }
            let Some(inner) = self.stack(builder, stack, row) else {
                return Added::TooDeep;
            };
            stack = inner;
        }
        if facts.is_other {
            return Added::Nothing;
        }
        let Some(stack) = self.leaf(builder, stack, facts) else {
            return Added::TooDeep;
        };
        record.rank = facts.rank;
        record.thread = facts.thread;
        records.add(builder, stack, &record);
        Added::Record
    }

    /// The stack of a node below another stack. The outer `None`: there are too many of them.
    fn stack(
        &mut self,
        builder: &mut Builder,
        base: Option<StackId>,
        row: u32,
    ) -> Option<Option<StackId>> {
        let mut path = Vec::new();
        let mut above = Some(row);
        let mut stack = base;
        while let Some(row) = above {
            if let Some(&known) = self.stacks.get(&(base, row)) {
                stack = known;
                break;
            }
            let node = self.nodes.get(row as usize)?;
            if base.is_some() {
                self.budget = self.budget.checked_sub(NODE + node.data.len())?;
            }
            path.push(row);
            above = node.parent;
        }
        for row in path.into_iter().rev() {
            let node = *self.nodes.get(row as usize)?;
            let role = self.attributes.get(&node.attribute).map(|it| it.role);
            if role == Some(Role::Path) {
                let location = builder.location(Named {
                    function: &plain(node.data),
                    ..Named::default()
                });
                stack = Some(builder.stack(stack, location));
            }
            self.stacks.insert((base, row), stack);
        }
        Some(stack)
    }

    /// The stack with the function or the kernel below the path. The outer `None`: there are too
    /// many of them.
    fn leaf(
        &mut self,
        builder: &mut Builder,
        path: Option<StackId>,
        facts: Facts,
    ) -> Option<Option<StackId>> {
        let Some(row) = facts.leaf else {
            return Some(path);
        };
        if let Some(&location) = self.leaves.get(&(row, facts.place)) {
            return Some(Some(builder.stack(path, location)));
        }
        let leaf = self.nodes.get(row as usize)?;
        let place = facts.place.and_then(|row| self.nodes.get(row as usize));
        let place = place.map(|node| plain(node.data)).unwrap_or_default();
        let length = NODE + leaf.data.len() + place.len();
        self.budget = self.budget.checked_sub(length)?;
        let (file, line) = place.rsplit_once(':').unwrap_or((&place, ""));
        let location = builder.location(Named {
            function: &plain(leaf.data),
            file,
            line: line.parse().unwrap_or(0),
            ..Named::default()
        });
        self.leaves.insert((row, facts.place), location);
        Some(Some(builder.stack(path, location)))
    }

    /// Reads the facts about the run.
    fn globals(
        &mut self,
        builder: &mut Builder,
        parts: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) {
        let refs = parts.filter(|(key, _)| *key == b"ref");
        for id in refs.flat_map(|(_, ids)| split(ids, b'=')) {
            let mut above = number(id).and_then(|id| self.rows.get(&id).copied());
            while let Some(row) = above.filter(|&row| self.globals.insert(row)) {
                let Some(&Node {
                    attribute,
                    data,
                    parent,
                    ..
                }) = self.nodes.get(row as usize)
                else {
                    break;
                };
                let name = self.node(attribute).map(|(_, node)| node.data);
                let meta = &mut builder.profile.meta;
                if matches!(name, Some(b"launchdate" | b"starttime.sec"))
                    && meta.started_at_unix == 0
                {
                    let seconds: u64 = number(data).unwrap_or(0);
                    // `starttime` is of a clock that begins with the machine's start.
                    if seconds > 1_000_000_000 {
                        meta.started_at_unix = seconds.saturating_mul(1_000_000_000);
                    }
                }
                above = parent;
            }
        }
    }
}

/// What the values of an attribute say.
fn role(name: &str, is_nested: bool, is_number: bool) -> Role {
    match name {
        _ if is_rank(name) => Role::Rank,
        _ if is_thread(name) => Role::Thread,
        "sourceloc#cali.sampler.pc" => Role::Place,
        "spot.channel" => Role::Channel,
        _ if is_nested || is_callpath(name) => Role::Path,
        "source.function#cali.sampler.pc" | "cupti.kernel.name" | "rocm.kernel.name" => Role::Leaf,
        _ if is_number => Role::Number,
        _ => Role::Other,
    }
}
