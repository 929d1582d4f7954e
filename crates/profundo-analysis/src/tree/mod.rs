//! The call tree: all stacks laid over one another from the root, as in Julia's Profile.
//!
//! The stacks of a profile are a prefix tree already, of locations. The call tree has another shape
//! (several addresses of one line fall together, inlined functions come apart, C frames are
//! skipped), but the end of a stack in it depends on the stack alone. So each row of the stack
//! table is placed once, below where its caller's stack was placed, and the samples of a stack are
//! added where it ends.

mod build;

use std::cmp::Ordering;

use profundo_model::{LocationId, Profile};

use crate::{Place, Selection, Shown, UnknownChoice, choose};

/// The treatment of recursion in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Recur {
    /// Each call is a level of its own.
    #[default]
    Off,
    /// A call of an address that is on the stack already goes back to its level, as if the
    /// recursion were a loop. C frames are left alone.
    Flat,
    /// Like `Flat`, but with C frames.
    FlatC,
}

impl Recur {
    /// Every value with its name.
    pub const CHOICES: [(&'static str, Self); 3] = [
        ("off", Self::Off),
        ("flat", Self::Flat),
        ("flatc", Self::FlatC),
    ];
}

impl std::str::FromStr for Recur {
    type Err = UnknownChoice;

    fn from_str(value: &str) -> Result<Self, UnknownChoice> {
        choose("recur", value, &Self::CHOICES)
    }
}

/// The options of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeOptions {
    /// The shown frames. The time of hidden ones is their caller's.
    pub shown: Shown,
    /// Whether several addresses of one line are one node.
    pub combine: bool,
    /// Whether all lines of a function are one node, where addresses are combined.
    pub by_function: bool,
    /// The treatment of recursion.
    pub recur: Recur,
    /// Whether a function that calls itself, directly or by a cycle of calls, is one node. Its time
    /// at any depth is that node's, so siblings still add up to their parent. A node whose cycle
    /// was known only later may be left without samples. Only with [`Recur::Off`].
    pub fold_recursion: bool,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self {
            shown: Shown::default(),
            combine: true,
            by_function: false,
            recur: Recur::Off,
            fold_recursion: false,
        }
    }
}

/// A node of a [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A function at a line, called along one path.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The node's function, by one of its lines where these are combined. The root has
    /// [`Place::Unknown`].
    pub place: Place,
    /// The address, in a tree that does not combine addresses.
    pub location: Option<LocationId>,
    /// The caller; the root is its own.
    pub parent: NodeId,
    /// The distance from the root, which is at 0.
    pub level: u32,
    /// The count of samples that passed through here; a sample that visited several times, as in
    /// flattened recursion, is counted once.
    pub count: u64,
    /// The count of samples that ended here.
    pub overhead: u64,
    /// The count of samples that ended here or below: the counts of siblings add up to their
    /// parent's even where recursion is flattened.
    pub flat_count: u64,
    /// Whether the thread slept in each of these samples.
    pub sleeping: bool,
    /// The largest number of visits by one sample.
    pub max_recur: u32,
    /// The number of repeated visits of samples.
    pub count_recur: u64,
    /// The weight of the samples that ended here or below.
    pub weight: u64,
    /// The weight of the samples that ended here.
    pub own_weight: u64,
    /// The part of that weight that belongs to library functions folded into it.
    pub folded_weight: u64,
    /// The number of its calls from here, where calls were counted.
    pub calls: u64,
    children: (u32, u32),
}

/// A call tree. Parents are stored before their children.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    nodes: Vec<Node>,
    children: Vec<NodeId>,
}

/// Builds the call tree of a selection.
pub fn tree(profile: &Profile, selection: &Selection, options: &TreeOptions) -> Tree {
    build::build(profile, selection, options)
}

impl Tree {
    /// The root, which stands for no function. Its count is that of all samples, its overhead
    /// that of samples without any frame that is shown.
    pub fn root(&self) -> NodeId {
        NodeId(0)
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The nodes called from `id`.
    pub fn children(&self, id: NodeId) -> &[NodeId] {
        let (start, end) = self.nodes[id.index()].children;
        &self.children[start as usize..end as usize]
    }

    /// All nodes, the root first.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0..).map(NodeId).zip(&self.nodes)
    }

    /// True if the tree has only its root.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }

    /// Puts the children of every node in order. Nodes that compare equal stay as they are.
    pub fn sort_children(&mut self, mut order: impl FnMut(&Node, &Node) -> Ordering) {
        for node in &self.nodes {
            let (start, end) = node.children;
            let siblings = &mut self.children[start as usize..end as usize];
            if siblings.len() > 1 {
                siblings.sort_by(|a, b| order(&self.nodes[a.index()], &self.nodes[b.index()]));
            }
        }
    }
}
