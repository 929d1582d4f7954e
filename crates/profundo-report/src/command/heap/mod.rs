//! A heap snapshot: what fills the heap, what holds it, what is there twice, and what has changed
//! since an earlier snapshot.

mod difference;
mod json;
mod object;
mod sheet;
mod text;

use std::io::{self, Write};

use profundo_analysis::graph::{
    Alive, Branch, Dominators, Duplicates, Owners, Paths, SplitTypes, Target, TypeRow, Types,
    below, biggest, by_type, dominators, duplicates, paths, tree,
};
use profundo_model::graph::{Graph, NodeId};

use crate::json::Json;
use crate::{Error, Look};
use difference::Compared;
use sheet::Sheet;

/// A question about a heap snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeapQuestion {
    /// An overview: the types and the objects that retain most.
    #[default]
    Summary,
    /// All types.
    Types,
    /// The objects that retain most.
    Biggest,
    /// A tree: what each object alone holds.
    Dominators,
    /// One branch of that tree: the object of an id (`@12`, `@0x7f00`), and what it dominates
    /// immediately. Without an id it is the root.
    Below(String),
    /// The paths that hold the objects of a type, or the one of an id (`@12`, `@0x7f00`).
    Path(String),
    /// The texts that are there more than once.
    Duplicates,
}

/// A report on a heap snapshot, or on what is different in a later one.
#[derive(Debug, Clone, Default)]
pub struct HeapSnapshot {
    question: HeapQuestion,
    limit: Option<usize>,
    owners: Option<usize>,
    look: Look,
}

/// An answer, ready to be shown.
enum Answer {
    Summary(Rows, Vec<NodeId>),
    Types(Rows),
    Biggest(Vec<NodeId>),
    Dominators(Vec<Branch>),
    Path(Paths),
    Duplicates(Duplicates),
}

/// The rows of types.
struct Rows {
    whole: Vec<TypeRow>,
    /// Rows split by the owner of containers.
    split: Vec<TypeRow>,
}

/// The facts about a snapshot that all answers use, found once.
#[derive(Debug)]
pub struct HeapFacts {
    types: Types,
    /// The owners of the containers, in a snapshot of a Python process.
    owners: Owners,
    /// The types, split by these.
    split: SplitTypes,
    alive: Alive,
    dominators: Dominators,
}

impl HeapFacts {
    /// Finds the facts about a snapshot.
    pub fn new(graph: &Graph) -> Self {
        let alive = Alive::new(graph);
        let types = Types::new(graph);
        let owners = Owners::new(graph, &alive);
        Self {
            split: SplitTypes::new(graph, &types, &owners),
            types,
            owners,
            dominators: dominators(graph, &alive),
            alive,
        }
    }
}

/// A snapshot, and the facts about it.
struct Known<'a> {
    graph: &'a Graph,
    types: &'a Types,
    owners: &'a Owners,
    split: &'a SplitTypes,
    alive: &'a Alive,
    dominators: &'a Dominators,
}

impl<'a> Known<'a> {
    fn new(graph: &'a Graph, facts: &'a HeapFacts) -> Self {
        Self {
            graph,
            types: &facts.types,
            owners: &facts.owners,
            split: &facts.split,
            alive: &facts.alive,
            dominators: &facts.dominators,
        }
    }

    /// The bytes of all objects, those that nothing holds among them.
    fn bytes(&self) -> u64 {
        self.dominators.retained(self.graph.root())
    }

    fn share(&self, bytes: u64) -> f64 {
        bytes as f64 / self.bytes().max(1) as f64
    }

    fn retained(&self, node: NodeId) -> u64 {
        self.dominators.retained(node)
    }
}

impl HeapSnapshot {
    /// A report that begins with the overview.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the question.
    pub fn question(mut self, question: HeapQuestion) -> Self {
        self.question = question;
        self
    }

    /// Sets the number of rows that each table has at most.
    pub fn limit(mut self, rows: impl Into<Option<usize>>) -> Self {
        self.limit = rows.into();
        self
    }

    /// Sets the number of owners that each type has at most in JSON, which otherwise has all.
    pub fn owners(mut self, owners: usize) -> Self {
        self.owners = Some(owners);
        self
    }

    /// Sets the appearance.
    pub fn look(mut self, look: Look) -> Self {
        self.look = look;
        self
    }

    /// Writes the report on a snapshot as text.
    pub fn write(&self, graph: &Graph, out: impl Write) -> Result<(), Error> {
        let facts = HeapFacts::new(graph);
        let known = Known::new(graph, &facts);
        let answer = self.answer(&known)?;
        let mut out = io::BufWriter::new(out);
        let mut sheet = Sheet::new(&self.look, &mut out);
        text::write(&mut sheet, &known, &answer, self)?;
        Ok(out.flush()?)
    }

    /// Writes the report on a snapshot as JSON: the schema is in `docs/json.md`.
    pub fn write_json(&self, graph: &Graph, out: impl Write) -> Result<(), Error> {
        self.write_json_with(graph, &HeapFacts::new(graph), out)
    }

    /// Writes the report on a snapshot as JSON, with facts that were found before.
    pub fn write_json_with(
        &self,
        graph: &Graph,
        facts: &HeapFacts,
        mut out: impl Write,
    ) -> Result<(), Error> {
        let known = Known::new(graph, facts);
        let answer = self.answer(&known)?;
        Json::document(&mut out, |json| json::members(json, &known, &answer, self))?;
        Ok(out.flush()?)
    }

    /// Writes what is different in `now` as text.
    pub fn write_difference(
        &self,
        before: &Graph,
        now: &Graph,
        out: impl Write,
    ) -> Result<(), Error> {
        let compared = Compared::new(before, now, self.rows(10));
        let mut out = io::BufWriter::new(out);
        let mut sheet = Sheet::new(&self.look, &mut out);
        difference::write(&mut sheet, &compared, self.rows(30))?;
        Ok(out.flush()?)
    }

    /// Writes what is different in `now` as JSON: the schema is in `docs/json.md`.
    pub fn write_difference_json(
        &self,
        before: &Graph,
        now: &Graph,
        mut out: impl Write,
    ) -> Result<(), Error> {
        let compared = Compared::new(before, now, self.rows(100));
        let limit = self.rows(usize::MAX);
        Json::document(&mut out, |json| {
            difference::members(json, &compared, limit, self.most_owners());
        })?;
        Ok(out.flush()?)
    }

    /// The number of rows: `usual`, where nothing else was asked for.
    fn rows(&self, usual: usize) -> usize {
        self.limit.unwrap_or(usual)
    }

    fn most_owners(&self) -> usize {
        self.owners.unwrap_or(usize::MAX)
    }

    fn answer(&self, known: &Known<'_>) -> Result<Answer, Error> {
        let &Known {
            graph,
            types,
            split,
            alive,
            dominators,
            ..
        } = known;
        let by_type = || Rows {
            whole: by_type(graph, types, dominators),
            split: by_type(graph, &split.types, dominators),
        };
        Ok(match &self.question {
            HeapQuestion::Summary => {
                let most = biggest(graph, dominators, self.rows(10));
                Answer::Summary(by_type(), most)
            }
            HeapQuestion::Types => Answer::Types(by_type()),
            HeapQuestion::Biggest => Answer::Biggest(biggest(graph, dominators, self.rows(40))),
            HeapQuestion::Dominators => Answer::Dominators(tree(graph, dominators, self.rows(40))),
            HeapQuestion::Below(of) => {
                let node = object(known, of)?;
                Answer::Dominators(below(graph, dominators, node, self.rows(100)))
            }
            HeapQuestion::Path(of) => {
                if let Some(part) = split.types.find(of).filter(|_| types.find(of).is_none()) {
                    let target = Target::Type(part);
                    let found = paths(graph, alive, &split.types, dominators, target);
                    return Ok(Answer::Path(found));
                }
                let target = target(known, of)?;
                Answer::Path(paths(graph, alive, types, dominators, target))
            }
            HeapQuestion::Duplicates => Answer::Duplicates(duplicates(graph)),
        })
    }
}

/// The object of an id; the root, where there is none.
fn object(known: &Known<'_>, id: &str) -> Result<NodeId, Error> {
    if id.is_empty() {
        return Ok(known.graph.root());
    }
    let digits = id.strip_prefix('@').unwrap_or(id);
    let number = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    let found = number.ok().and_then(|number| {
        let mut nodes = known.graph.nodes();
        nodes.find(|node| known.graph.id(*node) == number)
    });
    found.ok_or_else(|| Error::NoObject { id: id.into() })
}

/// The objects that a word stands for.
fn target(known: &Known<'_>, word: &str) -> Result<Target, Error> {
    if let Some(found) = known.types.find(word) {
        return Ok(Target::Type(found));
    }
    if word.starts_with('@') {
        let node = object(known, word)?;
        return Ok(Target::Id(known.graph.id(node)));
    }
    // Without its module, where that is enough.
    let mut ends = known.types.names().filter(|name| {
        let module = name.strip_suffix(word).unwrap_or_default();
        module.ends_with('.') || module.ends_with("::")
    });
    if let (Some(only), None) = (ends.next(), ends.next())
        && let Some(found) = known.types.find(only)
    {
        return Ok(Target::Type(found));
    }
    let lower = word.to_lowercase();
    let near = known.types.names();
    let near = near.filter(|name| name.to_lowercase().contains(&lower));
    // What Python calls a type is a class to others.
    let class = (word == "type" && known.types.find("class").is_some()).then_some("class");
    let near: Vec<&str> = class.into_iter().chain(near).take(3).collect();
    Err(Error::NoType {
        name: word.into(),
        near: near.join(", "),
    })
}
