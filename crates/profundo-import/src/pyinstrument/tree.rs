//! The tree of frames with the times of each, children included. Lines are the first ones of
//! functions, and paths may be those of several calls in one.

use std::borrow::Cow;

use profundo_model::{StackId, State};

use super::{Facts, named, nanos, state_of_mark};
use crate::encoding::json::{Json, Read};
use crate::{Builder, Row};

/// Deeper frames count for their callers.
const DEEPEST: u32 = 4096;

/// A frame of the tree.
#[derive(Debug, Default)]
struct Node<'a> {
    /// A row of the nodes.
    parent: Option<usize>,
    depth: u32,
    function: Cow<'a, str>,
    class: Cow<'a, str>,
    file: Cow<'a, str>,
    line: u32,
    time: u64,
}

pub(super) fn read(json: &mut Json<'_>, builder: &mut Builder, facts: &Facts) -> Read<()> {
    let mut nodes = Vec::new();
    let read = read_nodes(json, &mut nodes);
    add(builder, &nodes, facts);
    builder.note(
        "this form of pyinstrument's has sums: no times, no threads, and the first lines of functions; \
         -r session has all",
    );
    read
}

fn read_nodes<'a>(json: &mut Json<'a>, nodes: &mut Vec<Node<'a>>) -> Read<()> {
    if !json.enter(b'{')? {
        return Ok(());
    }
    nodes.push(Node::default());
    // The tree may be deeper than the stack of this program.
    let mut open = vec![0_usize];
    while let Some(&at) = open.last() {
        let Some(key) = json.key()? else {
            open.pop();
            if !open.is_empty() {
                enter_next(json, nodes, &mut open)?;
            }
            continue;
        };
        if key == "children" {
            if json.enter(b'[')? {
                enter_next(json, nodes, &mut open)?;
            }
            continue;
        }
        let Some(node) = nodes.get_mut(at) else {
            return Ok(());
        };
        match &key[..] {
            "function" => node.function = json.text()?.unwrap_or_default(),
            "class_name" => node.class = json.text()?.unwrap_or_default(),
            "file_path" => node.file = json.text()?.unwrap_or_default(),
            "line_no" => node.line = json.index()?.unwrap_or(0),
            "time" => node.time = nanos(json)?,
            _ => json.skip()?,
        }
    }
    Ok(())
}

/// Enters the next child of the frame that was entered last, or ends its children.
fn enter_next<'a>(
    json: &mut Json<'a>,
    nodes: &mut Vec<Node<'a>>,
    open: &mut Vec<usize>,
) -> Read<()> {
    while json.element()? {
        if json.enter(b'{')? {
            let parent = open.last().copied();
            nodes.push(Node {
                parent,
                depth: u32::try_from(open.len()).unwrap_or(u32::MAX),
                ..Node::default()
            });
            open.push(nodes.len() - 1);
            return Ok(());
        }
    }
    Ok(())
}

fn add(builder: &mut Builder, nodes: &[Node<'_>], facts: &Facts) {
    let mut of_children = vec![0_u64; nodes.len()];
    for node in nodes {
        if let Some(sum) = node.parent.and_then(|parent| of_children.get_mut(parent)) {
            *sum = sum.saturating_add(node.time);
        }
    }
    let thread = builder.only_thread();
    let interval = facts.duration.checked_div(facts.samples).unwrap_or(0);
    let mut stacks: Vec<Option<StackId>> = Vec::with_capacity(nodes.len());
    for (node, of_children) in nodes.iter().zip(of_children) {
        let parent = node
            .parent
            .and_then(|parent| stacks.get(parent).copied().flatten());
        let mark = state_of_mark(&node.function).filter(|_| parent.is_some());
        let is_cut = mark.is_some() || node.depth >= DEEPEST;
        let stack = match parent.filter(|_| is_cut) {
            Some(parent) => parent,
            None => push(builder, parent, node),
        };
        stacks.push(Some(stack));
        let own = node.time.saturating_sub(of_children);
        // The file has the times in microseconds.
        if own < 1000 {
            continue;
        }
        builder.sample(Row {
            stack,
            thread,
            weight: own,
            samples: own
                .saturating_add(interval / 2)
                .checked_div(interval)
                .unwrap_or(1),
            time: None,
            state: mark.unwrap_or(State::WallRunning),
        });
    }
}

fn push(builder: &mut Builder, parent: Option<StackId>, node: &Node<'_>) -> StackId {
    let mut named = named(&node.function, &node.file, node.line);
    let qualified;
    if !node.class.is_empty() {
        qualified = format!("{}.{}", node.class, node.function);
        named.signature = &qualified;
    }
    let location = builder.location(named);
    builder.stack(parent, location)
}
