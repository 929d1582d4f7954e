//! A tree of nodes, each with its children inside. It may be deep, so it is read without recursion.

use super::Nodes;
use crate::Builder;
use crate::encoding::json::{Json, Read};

/// What is read next.
enum Next {
    /// A key of the innermost node.
    Key,
    /// A child of it.
    Child,
}

/// Reads the tree that begins here.
pub(crate) fn read_tree(nodes: &mut Nodes, json: &mut Json<'_>, builder: &mut Builder) -> Read<()> {
    if !json.enter(b'{')? {
        return Ok(());
    }
    let mut open = vec![nodes.open(None)];
    let mut next = Next::Key;
    while let Some(&row) = open.last() {
        next = match next {
            Next::Key => match json.key()?.as_deref() {
                None => {
                    open.pop();
                    Next::Child
                }
                Some("children") if json.enter(b'[')? => Next::Child,
                Some("children") => Next::Key,
                Some(key) => {
                    nodes.field(row, key, json, builder)?;
                    Next::Key
                }
            },
            Next::Child if json.element()? => {
                if json.enter(b'{')? {
                    open.push(nodes.open(Some(row)));
                    Next::Key
                } else {
                    Next::Child
                }
            }
            Next::Child => Next::Key,
        };
    }
    Ok(())
}
