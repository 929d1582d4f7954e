//! The changes between two snapshots of one program: by type, and where objects keep their ids, the
//! new ones.

use std::cmp::Ordering;

use profundo_model::graph::{Graph, NodeId};
use rustc_hash::FxHashMap;

use super::{SplitTypes, Types};

/// The change of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeChange {
    /// The type's name.
    pub name: Box<str>,
    /// The number of objects, before and now.
    pub count: [u64; 2],
    /// Their own bytes, before and now.
    pub bytes: [u64; 2],
    /// Objects that were not there before, and their bytes.
    pub new: [u64; 2],
    /// Objects that are not there any more, and their bytes.
    pub gone: [u64; 2],
}

impl TypeChange {
    /// The growth in bytes.
    pub fn grown(&self) -> i128 {
        i128::from(self.bytes[1]) - i128::from(self.bytes[0])
    }

    fn is_nothing(&self) -> bool {
        self.count[0] == self.count[1]
            && self.bytes[0] == self.bytes[1]
            && self.new[0] == 0
            && self.gone[0] == 0
    }
}

/// The differences in a later snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The types with a change, the one that has grown most first.
    pub types: Vec<TypeChange>,
    /// Whether objects keep their ids: only then `new` and `gone` have a meaning.
    pub has_stable_ids: bool,
    /// Objects with a size, before and now.
    pub count: [u64; 2],
    /// Their bytes, before and now.
    pub bytes: [u64; 2],
    /// The largest new objects of the types that have grown.
    pub largest_new: Vec<NodeId>,
}

/// An object of one of the snapshots.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Object {
    /// The number of its type in both snapshots.
    kind: u32,
    id: u64,
    size: u64,
    node: u32,
    /// The number of its row in both: that of its type, or of its type with its owner.
    of: u32,
}

/// Numbers for names, the same in both snapshots.
#[derive(Default)]
struct Shared {
    names: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, u32>,
}

impl Shared {
    fn numbers(&mut self, types: &Types) -> Vec<u32> {
        let number = |name: &str| {
            *self.numbers.entry(name.into()).or_insert_with(|| {
                self.names.push(name.into());
                self.names.len() as u32 - 1
            })
        };
        types.names().map(number).collect()
    }
}

/// Compares two snapshots with their types. Lists at most `limit` new objects.
///
/// An object is the same if its id and its type are. If hardly any are the same, the snapshots are
/// of different processes, and only numbers of objects are compared.
pub fn difference(before: (&Graph, &Types), now: (&Graph, &Types), limit: usize) -> Difference {
    compare_by([before, now], [before.1, now.1], limit)
}

/// Like [`difference`], but with containers in rows by their owners. One that has changed its owner
/// is neither new nor gone.
pub fn difference_by_owner(
    before: (&Graph, &Types, &SplitTypes),
    now: (&Graph, &Types, &SplitTypes),
    limit: usize,
) -> Difference {
    let rows = [&before.2.types, &now.2.types];
    compare_by([(before.0, before.1), (now.0, now.1)], rows, limit)
}

/// Compares two snapshots: objects by their types, in rows by other types.
fn compare_by(sides: [(&Graph, &Types); 2], rows_of: [&Types; 2], limit: usize) -> Difference {
    let (mut kinds, mut shared) = (Shared::default(), Shared::default());
    let sides = [(sides[0], rows_of[0]), (sides[1], rows_of[1])];
    let mut objects = sides.map(|((graph, types), rows)| {
        let kinds = kinds.numbers(types);
        let shared = shared.numbers(rows);
        let mut objects: Vec<Object> = (graph.nodes())
            .filter(|node| graph.size(*node) > 0)
            .map(|node| Object {
                kind: kinds[types.of(node).0 as usize],
                id: graph.id(node),
                size: graph.size(node),
                node: node.0,
                of: shared[rows.of(node).0 as usize],
            })
            .collect();
        objects.sort_unstable();
        objects
    });
    let names = shared.names;
    let mut rows: Vec<TypeChange> = (names.into_iter())
        .map(|name| TypeChange {
            name,
            count: [0; 2],
            bytes: [0; 2],
            new: [0; 2],
            gone: [0; 2],
        })
        .collect();
    let mut count = [0; 2];
    let mut bytes = [0; 2];
    for (side, objects) in objects.iter().enumerate() {
        for object in objects {
            let row = &mut rows[object.of as usize];
            row.count[side] += 1;
            row.bytes[side] += object.size;
            count[side] += 1;
            bytes[side] += object.size;
        }
    }
    let same = compare(&mut rows, &mut objects);
    let fewer = count[0].min(count[1]);
    // In two runs of one program, the roots and little else have the same ids.
    let has_stable_ids = same * 10 >= fewer;
    if !has_stable_ids {
        for row in &mut rows {
            row.new = [0; 2];
            row.gone = [0; 2];
        }
    }
    let mut largest_new = Vec::new();
    if has_stable_ids {
        let [_, new] = &mut objects;
        new.sort_unstable_by(|a, b| b.size.cmp(&a.size).then(a.node.cmp(&b.node)));
        let nodes = new.iter().map(|object| NodeId(object.node));
        largest_new = nodes.take(limit).collect();
    }
    rows.retain(|row| !row.is_nothing());
    rows.sort_by(|a, b| {
        (b.grown().cmp(&a.grown()))
            .then((b.new[1]).cmp(&a.new[1]))
            .then_with(|| a.name.cmp(&b.name))
    });
    Difference {
        types: rows,
        has_stable_ids,
        count,
        bytes,
        largest_new,
    }
}

/// Counts new and gone objects, keeps only the new ones of the later objects, and returns the
/// number of unchanged ones.
fn compare(rows: &mut [TypeChange], objects: &mut [Vec<Object>; 2]) -> u64 {
    let [before, now] = objects;
    let key = |object: &Object| (object.kind, object.id);
    let mut same = 0;
    let mut new = Vec::new();
    let (mut left, mut right) = (before.iter().peekable(), now.iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) => key(a).cmp(&key(b)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        if order == Ordering::Equal {
            same += 1;
        }
        let gone = if order.is_le() { left.next() } else { None };
        let came = if order.is_ge() { right.next() } else { None };
        match (gone, came) {
            (Some(gone), None) => {
                let row = &mut rows[gone.of as usize];
                row.gone[0] += 1;
                row.gone[1] += gone.size;
            }
            (None, Some(came)) => {
                let row = &mut rows[came.of as usize];
                row.new[0] += 1;
                row.new[1] += came.size;
                new.push(*came);
            }
            _ => {}
        }
    }
    *now = new;
    same
}
