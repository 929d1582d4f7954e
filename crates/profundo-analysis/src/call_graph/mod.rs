//! The call graph: which functions call which, each function once, however many ways lead to it.
//!
//! A graph of a whole program cannot be read, so it is pruned as pprof does it. The functions that
//! say most are kept. Where a removed function lies between two kept ones, a *bridge* joins these,
//! so that a callee does not lose its callers. The share of what is left out goes with the graph.
//!
//! A function that recurses is in a sample once, and so is each of its calls.

mod around;
mod build;
mod choose;
mod unit;

#[cfg(test)]
mod tests;

use profundo_model::Profile;

use crate::amount::Amount;
use crate::interval::Estimate;
use crate::kind::Split;
use crate::palette::Hue;
use crate::{Selection, Shown, UnknownChoice, choose as choose_name};

/// The meaning of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GraphBy {
    /// A function of a file.
    #[default]
    Function,
    /// A source file; a library where the file is unknown.
    File,
    /// A module of Python, a module of a Rust crate, or else a library or an executable.
    Module,
    /// A package of Python, a crate of Rust, or else a library or an executable.
    Package,
}

impl GraphBy {
    /// Every value with its name.
    pub const CHOICES: [(&'static str, Self); 5] = [
        ("function", Self::Function),
        ("file", Self::File),
        ("module", Self::Module),
        ("package", Self::Package),
        ("crate", Self::Package),
    ];

    /// Several nodes in a sentence.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Function => "functions",
            Self::File => "files",
            Self::Module => "modules",
            Self::Package => "packages",
        }
    }

    /// One node in a sentence.
    pub fn singular(self) -> &'static str {
        self.plural().trim_end_matches('s')
    }
}

impl std::str::FromStr for GraphBy {
    type Err = UnknownChoice;

    fn from_str(value: &str) -> Result<Self, UnknownChoice> {
        choose_name("by", value, &Self::CHOICES)
    }
}

/// The options of a call graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallGraphOptions {
    /// The shown frames. The time of hidden ones is their caller's.
    pub shown: Shown,
    /// The meaning of a node.
    pub by: GraphBy,
    /// The largest number of nodes.
    pub most_nodes: usize,
    /// The least share of a node in the whole, with its callees, from 0 to 1.
    pub min_share: f64,
    /// The least share of an edge in the whole, from 0 to 1.
    pub edge_share: f64,
}

impl CallGraphOptions {
    /// The nodes that fit a screen: pprof's number.
    pub const NODES: usize = 80;
    /// pprof's least share of a node.
    pub const MIN_SHARE: f64 = 0.005;
    /// pprof's least share of an edge.
    pub const EDGE_SHARE: f64 = 0.001;
}

impl Default for CallGraphOptions {
    fn default() -> Self {
        Self {
            shown: Shown::COMMAND,
            by: GraphBy::Function,
            most_nodes: Self::NODES,
            min_share: Self::MIN_SHARE,
            edge_share: Self::EDGE_SHARE,
        }
    }
}

/// A node that a graph is about: with its callers up to so many calls away, and its callees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Around {
    /// The name of the node.
    pub name: String,
    /// The path of its file, where functions of one name are to be told apart.
    pub file: Option<String>,
    /// The most calls between it and another node; `None` for any number.
    pub steps: Option<usize>,
}

/// A function, or what else the nodes are.
#[derive(Debug, Clone, PartialEq)]
pub struct CallNode {
    /// The name.
    pub name: String,
    /// The path of its file, in the short form of reports; empty where the name says it, or where
    /// it is unknown.
    pub file: String,
    /// The whole path of a function's file, or empty.
    pub path: String,
    /// The first line that was met, from 1; 0 where unknown.
    pub line: u32,
    /// The kind of code, where that is the same for all of the node.
    pub hue: Option<Hue>,
    /// The samples that end in it.
    pub own: Amount,
    /// The samples that contain it.
    pub total: Amount,
    /// Its own share.
    pub own_share: Estimate,
    /// Its share with its callees.
    pub total_share: Estimate,
    /// The number of its calls, where calls were counted.
    pub calls: u64,
}

/// The calls of one node by another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallEdge {
    /// The row of the caller.
    pub caller: usize,
    /// The row of the callee; the caller's own in a recursion.
    pub callee: usize,
    /// The samples that contain the call.
    pub amount: Amount,
    /// Their share.
    pub share: Estimate,
    /// The number of calls, where they were counted.
    pub calls: u64,
    /// Whether there are nodes between the two in all of these samples, which were left out.
    pub is_bridge: bool,
}

/// A call graph.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallGraph {
    /// The kept nodes, the one with the largest share first.
    pub nodes: Vec<CallNode>,
    /// The kept edges, the one with the largest share first.
    pub edges: Vec<CallEdge>,
    /// The number of nodes before pruning.
    pub all_nodes: usize,
    /// The number of edges between the kept nodes before pruning.
    pub all_edges: usize,
    /// The row of the node that the graph is around.
    pub centre: Option<usize>,
    /// The weight of the whole.
    pub whole: u64,
    /// The part of it that is the own weight of a kept node.
    pub kept: u64,
    /// The weight of the whole by kind.
    pub split: Split,
    /// Whether calls were counted.
    pub is_counted: bool,
}

impl CallGraph {
    /// The share of the whole that is the own share of a kept node.
    pub fn kept_share(&self) -> f64 {
        match self.whole {
            0 => 0.0,
            whole => self.kept as f64 / whole as f64,
        }
    }
}

/// The pruned call graph of a selection.
pub fn call_graph(
    profile: &Profile,
    selection: &Selection,
    options: &CallGraphOptions,
) -> CallGraph {
    build::build(profile, selection, options, None)
}

/// The pruned call graph around a node: of its callers and its callees. The node itself stays
/// whatever its share. Without such a node nothing is left.
pub fn call_graph_around(
    profile: &Profile,
    selection: &Selection,
    options: &CallGraphOptions,
    around: &Around,
) -> CallGraph {
    build::build(profile, selection, options, Some(around))
}
