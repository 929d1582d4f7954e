//! The tree of a detailed snapshot.

use crate::code::valgrind::Frame;

/// A tree in the making: lines in their order.
#[derive(Debug, Default)]
pub(super) struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    is_open: bool,
}

#[derive(Debug)]
struct Node<'a> {
    depth: usize,
    bytes: u64,
    children: u64,
    what: What<'a>,
}

#[derive(Debug)]
enum What<'a> {
    Frame(Frame<'a>),
    /// Small ones together.
    BelowThreshold,
    /// All allocators together.
    Root,
}

/// The most frames of a stack.
const DEEPEST: usize = 256;

impl<'a> Tree<'a> {
    pub(super) fn opened() -> Self {
        Self {
            nodes: Vec::new(),
            is_open: true,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether no node lacks children at its end.
    pub(super) fn is_whole(&self) -> bool {
        let mut missing = u64::from(self.is_open);
        for node in &self.nodes {
            missing = missing.saturating_sub(1).saturating_add(node.children);
        }
        missing == 0
    }

    /// Adds `  n1: 19 0x1093DF: main (work.c:45)`.
    pub(super) fn line(&mut self, line: &'a str) -> Option<()> {
        let rest = line.trim_start();
        let depth = line.len() - rest.len();
        let (children, rest) = rest.strip_prefix('n')?.split_once(": ")?;
        let (bytes, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let what = match text {
            _ if depth == 0 => What::Root,
            text if text.starts_with("0x") => What::Frame(Frame::of(text)),
            text if text.starts_with("in ") => What::BelowThreshold,
            text => What::Frame(Frame::of(text)),
        };
        self.nodes.push(Node {
            depth: depth.min(DEEPEST),
            bytes: bytes.parse().ok()?,
            children: children.parse().ok()?,
            what,
        });
        Some(())
    }

    /// Calls `each` with the stacks: the allocating function first, whether callers are missing,
    /// and the bytes.
    pub(super) fn leaves(self, mut each: impl FnMut(&[Frame<'a>], bool, u64)) {
        let mut own: Vec<u64> = self.nodes.iter().map(|node| node.bytes).collect();
        let mut open: Vec<(usize, usize)> = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            while open.last().is_some_and(|(depth, _)| *depth >= node.depth) {
                open.pop();
            }
            if let Some(&(_, parent)) = open.last() {
                own[parent] = own[parent].saturating_sub(node.bytes);
            }
            open.push((node.depth, at));
        }
        // By depth, the innermost first.
        let mut path: Vec<(usize, Frame<'a>)> = Vec::new();
        for (node, own) in self.nodes.iter().zip(own) {
            while path.last().is_some_and(|(depth, _)| *depth >= node.depth) {
                path.pop();
            }
            let is_small = match node.what {
                What::Root => false,
                What::Frame(frame) => {
                    path.push((node.depth, frame));
                    false
                }
                What::BelowThreshold => true,
            };
            if own > 0 {
                let frames: Vec<Frame<'a>> = path.iter().map(|(_, frame)| *frame).collect();
                each(
                    &frames,
                    is_small || node.children > 0 || frames.is_empty(),
                    own,
                );
            }
        }
    }
}
