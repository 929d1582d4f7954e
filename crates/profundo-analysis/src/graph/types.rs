//! The type of each object, as DevTools names classes: V8 writes `object` and keeps the constructor
//! in the name; a kind of V8's own is put in parentheses; and any other kind is a type's full name.

use profundo_model::graph::{Graph, NodeId};
use rustc_hash::FxHashMap;

use super::{OwnerId, Owners};

/// A type: its row in [`Types`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

/// The types of all objects.
#[derive(Debug, Clone)]
pub struct Types {
    names: Vec<Box<str>>,
    of: Vec<u32>,
}

/// Kinds of V8 with DevTools' names for them.
const KNOWN: [(&str, &str); 15] = [
    ("hidden", "(system)"),
    ("array", "(array)"),
    ("string", "(string)"),
    ("code", "(compiled code)"),
    ("closure", "Function"),
    ("regexp", "RegExp"),
    ("number", "(number)"),
    ("synthetic", "(synthetic)"),
    ("concatenated string", "(concatenated string)"),
    ("sliced string", "(sliced string)"),
    ("symbol", "(symbol)"),
    ("bigint", "(bigint)"),
    ("object shape", "(object shape)"),
    ("wasm object", "(wasm object)"),
    ("wasm", "(wasm)"),
];

impl Types {
    /// Finds the types of all objects.
    pub fn new(graph: &Graph) -> Self {
        let mut names = Names::default();
        // The type of all objects of a kind, where its name decides it.
        let by_kind: Vec<Option<u32>> = graph
            .kind_names()
            .map(|kind| {
                let known = KNOWN.iter().find(|(name, _)| *name == kind);
                match (kind, known) {
                    ("object" | "native", _) => None,
                    (_, Some((_, shown))) => Some(names.number(shown)),
                    _ => Some(names.number(kind)),
                }
            })
            .collect();
        let mut by_name: FxHashMap<u32, u32> = FxHashMap::default();
        let of = graph
            .nodes()
            .map(|node| match by_kind[graph.kind(node).0 as usize] {
                Some(number) => number,
                None => {
                    let name = graph.name(node);
                    *by_name.entry(name.0).or_insert_with(|| {
                        let text = String::from_utf8_lossy(graph.text(name));
                        names.number(&of_element(&text))
                    })
                }
            })
            .collect();
        Self {
            names: names.names,
            of,
        }
    }

    /// The type of an object.
    pub fn of(&self, node: NodeId) -> TypeId {
        TypeId(self.of[node.index()])
    }

    /// The name of a type.
    pub fn name(&self, of: TypeId) -> &str {
        &self.names[of.0 as usize]
    }

    /// The number of types.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if there are no types.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// All names, in the order of the types.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// The type with this name.
    pub fn find(&self, name: &str) -> Option<TypeId> {
        let found = self.names.iter().position(|known| **known == *name);
        found.map(|number| TypeId(number as u32))
    }
}

/// The types, with those of containers split by owner.
#[derive(Debug, Clone)]
pub struct SplitTypes {
    /// The parts as types, usable like any others: `dict of app.Session`.
    pub types: Types,
    whole: Vec<(TypeId, Option<OwnerId>)>,
}

impl SplitTypes {
    /// Splits the types of the containers that have an owner. The others stay whole.
    pub fn new(graph: &Graph, types: &Types, owners: &Owners) -> Self {
        let mut whole: Vec<(TypeId, Option<OwnerId>)> = (0..types.len() as u32)
            .map(|row| (TypeId(row), None))
            .collect();
        let mut numbers: FxHashMap<(TypeId, OwnerId), u32> = FxHashMap::default();
        let of = graph.nodes().map(|node| {
            let of = types.of(node);
            let Some(owner) = owners.of(node) else {
                return of.0;
            };
            *numbers.entry((of, owner)).or_insert_with(|| {
                whole.push((of, Some(owner)));
                whole.len() as u32 - 1
            })
        });
        let of = of.collect();
        let names = whole.iter().map(|(of, owner)| {
            let name = types.name(*of);
            match owner {
                None => name.into(),
                Some(owner) => format!("{name} {}", owners.phrase(*owner)).into(),
            }
        });
        Self {
            types: Types {
                names: names.collect(),
                of,
            },
            whole,
        }
    }

    /// The type of a part, and the owner of its objects.
    pub fn whole(&self, part: TypeId) -> (TypeId, Option<OwnerId>) {
        self.whole[part.0 as usize]
    }
}

#[derive(Default)]
struct Names {
    names: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, u32>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }
}

/// An element of a page is named with all of its attributes: its type is its tag.
fn of_element(name: &str) -> std::borrow::Cow<'_, str> {
    match name.split_once(' ') {
        Some((tag, _)) if tag.starts_with('<') => format!("{tag}>").into(),
        _ => name.into(),
    }
}
