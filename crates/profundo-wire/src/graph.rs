//! A graph of objects on its way from the process that goes through them to the one that keeps
//! them.
//!
//! It is a sequence of items, each of some words. Texts and types have numbers in the order in
//! which they come, from 0 on, and so have nodes, which are called rows. An edge may come before
//! the row that it leads to.
//!
//! ```text
//!          63             32 31        8 7      0
//!         ┌─────────────────┬───────────┬────────┐
//! text    │ bytes           │           │ tag    │ and the bytes, in whole words
//! type    │ text: its name  │ kind      │ tag    │
//! node    │ text + 1, or 0  │ type      │ tag    │ and its address, and its size in bytes
//! edge    │ text or index   │ kind      │ tag    │ and from (high half) and to
//! end     │ failure         │           │ tag    │ and three numbers: see [`End`]
//!         └─────────────────┴───────────┴────────┘
//! ```

/// The sort of object that a type's nodes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum NodeKind {
    /// A root of the graph, or another node that is no object.
    Synthetic,
    /// An object.
    Object,
    /// A text.
    Text,
    /// A function.
    Function,
    /// A code object.
    Code,
    /// A class.
    Class,
    /// A module.
    Module,
}

impl NodeKind {
    /// All kinds, by their numbers.
    pub const ALL: [Self; 7] = [
        Self::Synthetic,
        Self::Object,
        Self::Text,
        Self::Function,
        Self::Code,
        Self::Class,
        Self::Module,
    ];
}

/// The kind of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum EdgeKind {
    /// A named attribute, variable or item.
    Named,
    /// The item at an index.
    Element,
    /// An internal reference without a name in the program; the text describes it.
    Internal,
    /// A weak reference.
    Weak,
}

impl EdgeKind {
    /// All kinds, by their numbers.
    pub const ALL: [Self; 4] = [Self::Named, Self::Element, Self::Internal, Self::Weak];
}

/// The end of the graph, and how it was reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct End {
    /// 0, or an error number of the system.
    pub failure: u32,
    /// The number of nodes.
    pub nodes: u64,
    /// The number of edges.
    pub edges: u64,
    /// Blocks of the interpreter's allocator in use, whatever their contents.
    pub blocks: u64,
}

/// One item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// A text, not always UTF-8. Its words are padded by less than eight bytes.
    Text {
        /// The length of the text in bytes.
        bytes: u32,
        /// The words that hold the text.
        words: &'a [u64],
    },
    /// A type.
    Type {
        /// The sort of its nodes.
        kind: NodeKind,
        /// Its name's number.
        name: u32,
    },
    /// A node: an object or a root.
    Node {
        /// Its type's number.
        ty: u32,
        /// The number of its own name, if it has one.
        name: Option<u32>,
        /// Its address.
        address: u64,
        /// Its size in bytes.
        size: u64,
    },
    /// An edge: a reference.
    Edge {
        /// The kind of reference.
        kind: EdgeKind,
        /// The name's number, or the index of an element.
        name: u32,
        /// Row of the node that holds.
        from: u32,
        /// Row of the node that is held.
        to: u32,
    },
    /// The end of the graph.
    End(End),
}

mod tag {
    pub const TEXT: u8 = 1;
    pub const TYPE: u8 = 2;
    pub const NODE: u8 = 3;
    pub const EDGE: u8 = 4;
    pub const END: u8 = 5;
}

/// The largest number of types.
pub const MOST_TYPES: u32 = 1 << 24;

/// The words of an item that is not a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemWords {
    words: [u64; 4],
    length: usize,
}

impl ItemWords {
    /// The words to be written.
    pub fn as_slice(&self) -> &[u64] {
        self.words.get(..self.length).unwrap_or(&self.words)
    }
}

fn words<const N: usize>(tag: u8, middle: u32, high: u32, rest: [u64; N]) -> ItemWords {
    let mut words = [0; 4];
    let head = u64::from(tag) | u64::from(middle) << 8 | u64::from(high) << 32;
    for (place, word) in words.iter_mut().zip(core::iter::once(head).chain(rest)) {
        *place = word;
    }
    ItemWords {
        words,
        length: 1 + N,
    }
}

/// The word before a text of `bytes` bytes.
pub fn text_head(bytes: u32) -> u64 {
    u64::from(tag::TEXT) | u64::from(bytes) << 32
}

/// The words of a type.
pub fn type_words(kind: NodeKind, name: u32) -> ItemWords {
    words(tag::TYPE, kind as u32, name, [])
}

/// The words of a node; its type's number is below [`MOST_TYPES`].
pub fn node_words(ty: u32, name: Option<u32>, address: u64, size: u64) -> ItemWords {
    let name = name.map_or(0, |name| name + 1);
    words(tag::NODE, ty, name, [address, size])
}

/// The words of an edge.
pub fn edge_words(kind: EdgeKind, name: u32, from: u32, to: u32) -> ItemWords {
    let ends = u64::from(from) << 32 | u64::from(to);
    words(tag::EDGE, kind as u32, name, [ends])
}

/// The words of the end.
pub fn end_words(end: End) -> ItemWords {
    words(tag::END, 0, end.failure, [end.nodes, end.edges, end.blocks])
}

/// The first item of `words`, and the words behind it. `Ok(None)`: the item is not whole yet.
/// `Err`: there is no such item.
pub fn first_item(words: &[u64]) -> Result<Option<(Item<'_>, &[u64])>, NotAnItem> {
    let Some((&head, rest)) = words.split_first() else {
        return Ok(None);
    };
    let (middle, high) = (head as u32 >> 8, (head >> 32) as u32);
    let take = |count: usize| rest.split_at_checked(count);
    let found = match head as u8 {
        tag::TEXT => take((high as usize).div_ceil(8)).map(|(words, rest)| {
            let bytes = high;
            (Item::Text { bytes, words }, rest)
        }),
        tag::TYPE => {
            let kind = NodeKind::ALL.get(middle as usize).copied();
            let kind = kind.ok_or(NotAnItem)?;
            Some((Item::Type { kind, name: high }, rest))
        }
        tag::NODE => match *rest {
            [address, size, ref rest @ ..] => {
                let name = high.checked_sub(1);
                let node = Item::Node {
                    ty: middle,
                    name,
                    address,
                    size,
                };
                Some((node, rest))
            }
            _ => None,
        },
        tag::EDGE => {
            let kind = EdgeKind::ALL.get(middle as usize).copied();
            let kind = kind.ok_or(NotAnItem)?;
            rest.split_first().map(|(&ends, rest)| {
                let edge = Item::Edge {
                    kind,
                    name: high,
                    from: (ends >> 32) as u32,
                    to: ends as u32,
                };
                (edge, rest)
            })
        }
        tag::END => match *rest {
            [nodes, edges, blocks, ref rest @ ..] => {
                let end = End {
                    failure: high,
                    nodes,
                    edges,
                    blocks,
                };
                Some((Item::End(end), rest))
            }
            _ => None,
        },
        _ => return Err(NotAnItem),
    };
    Ok(found)
}

/// The words of no known item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAnItem;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn what_was_written_is_read() {
        let end = End {
            failure: 12,
            nodes: 1,
            edges: u64::MAX,
            blocks: 7,
        };
        let mut all: Vec<u64> = Vec::new();
        all.extend([text_head(9), u64::from_le_bytes(*b"a.b.cdef"), b'g'.into()]);
        all.extend(type_words(NodeKind::Class, u32::MAX).as_slice());
        all.extend(node_words(MOST_TYPES - 1, Some(0), 0x7fff_0000, 48).as_slice());
        all.extend(node_words(0, None, 1, 2).as_slice());
        all.extend(edge_words(EdgeKind::Weak, 5, u32::MAX, 3).as_slice());
        all.extend(end_words(end).as_slice());
        let mut rest = all.as_slice();
        let mut found = Vec::new();
        while let Ok(Some((item, behind))) = first_item(rest) {
            found.push(item);
            rest = behind;
        }
        assert!(rest.is_empty());
        let expected = [
            Item::Text {
                bytes: 9,
                words: &all[1..3],
            },
            Item::Type {
                kind: NodeKind::Class,
                name: u32::MAX,
            },
            Item::Node {
                ty: MOST_TYPES - 1,
                name: Some(0),
                address: 0x7fff_0000,
                size: 48,
            },
            Item::Node {
                ty: 0,
                name: None,
                address: 1,
                size: 2,
            },
            Item::Edge {
                kind: EdgeKind::Weak,
                name: 5,
                from: u32::MAX,
                to: 3,
            },
            Item::End(end),
        ];
        assert_eq!(found, expected);
        for cut in 0..all.len() {
            let mut rest = &all[..cut];
            while let Some((_, behind)) = first_item(rest).expect("whole or cut") {
                rest = behind;
            }
        }
    }

    #[test]
    fn rubbish_is_no_item() {
        assert_eq!(first_item(&[0]), Err(NotAnItem));
        assert_eq!(first_item(&[0x0000_0000_0000_ff02]), Err(NotAnItem));
        assert_eq!(first_item(&[0x0000_0000_0000_0404, 0]), Err(NotAnItem));
        assert_eq!(first_item(&[]), Ok(None));
    }
}
