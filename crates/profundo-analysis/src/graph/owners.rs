//! The owners of Python's containers: `dict` says little where there are a million of them.
//!
//! A dictionary that is an object's `__dict__` belongs to it. Any other container belongs to the
//! place that holds it: an attribute of a class's objects, a name in a module, a variable of a
//! function. Containers within containers are grouped by the place of the outer one, whatever the
//! index. Where several places hold it, names in modules come before variables of functions, and
//! shorter paths before longer ones.

use profundo_model::graph::{EdgeId, Graph, NameId, NodeId};
use rustc_hash::FxHashMap;

use super::python::{self, Hold, is_identifier, quoted};
use super::{Alive, Step};

/// The owner of a container: its row in [`Owners`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerId(pub u32);

/// The owners of all containers.
#[derive(Debug, Clone, Default)]
pub struct Owners {
    names: Vec<Box<str>>,
    is_namespace: Vec<bool>,
    /// By object: its owner. Empty for a snapshot of another language.
    of: Vec<u32>,
    /// By object: the reference by which it was first found.
    came_by: Vec<u32>,
}

/// No reference, no owner.
const NONE: u32 = u32::MAX;

/// With more items than this, a dictionary's items are alike.
const MOST_KEYS: usize = 64;

/// Containers nested deeper than this are alike.
const DEEPEST: u8 = 3;

impl Owners {
    /// Finds the owners of all containers, if the snapshot is Python's.
    pub fn new(graph: &Graph, alive: &Alive) -> Self {
        let Some(modules) = python::modules(graph) else {
            return Self::default();
        };
        let (order, came_by) = walk(graph, alive, modules);
        let mut search = Search {
            graph,
            places: Vec::new(),
            numbers: FxHashMap::default(),
            of: vec![NONE; graph.node_count()],
            kinds: graph.kind_names().map(Into::into).collect(),
        };
        search.namespaces();
        for node in order {
            search.held(NodeId(node), EdgeId(came_by[node as usize]));
        }
        let (names, is_namespace) = search.finish();
        Self {
            names,
            is_namespace,
            of: search.of,
            came_by,
        }
    }

    /// The owner of an object; `None` for other objects than containers, or an unknown owner.
    pub fn of(&self, node: NodeId) -> Option<OwnerId> {
        let of = self.of.get(node.index()).copied()?;
        (of != NONE).then_some(OwnerId(of))
    }

    /// The name of an owner.
    pub fn name(&self, owner: OwnerId) -> &str {
        &self.names[owner.0 as usize]
    }

    /// Whether the owned container is its `__dict__`.
    pub fn is_namespace(&self, owner: OwnerId) -> bool {
        self.is_namespace[owner.0 as usize]
    }

    /// The phrase for an owned container: `of app.Session`, `at app.rows[…]`.
    pub fn phrase(&self, owner: OwnerId) -> String {
        let word = if self.is_namespace(owner) { "of" } else { "at" };
        format!("{word} {}", self.name(owner))
    }

    /// The path to an object, with a preference for names in modules; empty where there is none.
    pub fn steps(&self, graph: &Graph, node: NodeId) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut node = node;
        while let Some(&edge) = self.came_by.get(node.index()) {
            if edge == NONE {
                if node != graph.root() {
                    return Vec::new();
                }
                steps.push(Step { edge: None, node });
                break;
            }
            let edge = EdgeId(edge);
            steps.push(Step {
                edge: Some(edge),
                node,
            });
            node = graph.edge_from(edge);
        }
        steps.reverse();
        steps
    }
}

/// All objects in the order in which they are found: those below the modules, then those below the
/// threads, then the others.
fn walk(graph: &Graph, alive: &Alive, modules: NodeId) -> (Vec<u32>, Vec<u32>) {
    let (targets, firsts) = graph.targets();
    let mut came_by = vec![NONE; graph.node_count()];
    let mut order = Vec::new();
    let mut roots: Vec<EdgeId> = graph.edges_of(graph.root()).collect();
    roots.sort_by_key(|edge| {
        let to = graph.edge_to(*edge);
        (to != modules, python::name(graph, to) != b"(Threads)")
    });
    for root in roots {
        let to = graph.edge_to(root);
        if to == graph.root() || came_by[to.index()] != NONE || !alive.keeps(root) {
            continue;
        }
        came_by[to.index()] = root.0;
        let mut next = order.len();
        order.push(to.0);
        while let Some(&node) = order.get(next) {
            next += 1;
            for edge in firsts[node as usize]..firsts[node as usize + 1] {
                let to = targets[edge as usize];
                if to != graph.root().0 && came_by[to as usize] == NONE && alive.keeps(EdgeId(edge))
                {
                    came_by[to as usize] = edge;
                    order.push(to);
                }
            }
        }
    }
    (order, came_by)
}

/// A place that owns containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    /// The `__dict__` of a module, a class or a function of this kind and name, or of objects of
    /// the type with this name.
    Namespace(u32, NameId),
    /// The contents of objects of this kind and name.
    Of(u32, NameId, Hold),
    /// The contents of a running function's frame, by the object that names it.
    Frame(NameId, Hold),
    /// The contents of a container with that owner.
    Within(u32, Option<Hold>),
    /// Only native code holds it, or it is garbage.
    Root(NameId),
}

struct Search<'a> {
    graph: &'a Graph,
    places: Vec<(Place, u8)>,
    numbers: FxHashMap<Place, u32>,
    of: Vec<u32>,
    kinds: Vec<Box<str>>,
}

impl Search<'_> {
    fn kind(&self, node: NodeId) -> &str {
        &self.kinds[self.graph.kind(node).0 as usize]
    }

    fn is_container(&self, node: NodeId) -> bool {
        const CONTAINERS: [&[u8]; 8] = [
            b"dict",
            b"list",
            b"tuple",
            b"set",
            b"frozenset",
            b"collections.deque",
            b"collections.OrderedDict",
            b"collections.defaultdict",
        ];
        self.kind(node) == "object" && CONTAINERS.contains(&python::name(self.graph, node))
    }

    /// True for a node that passes on its owner: a container, or the cell of a closure.
    fn passes_on(&self, node: NodeId) -> bool {
        self.is_container(node)
            || self.kind(node) == "object" && python::name(self.graph, node) == b"cell"
    }

    fn number(&mut self, place: Place, depth: u8) -> u32 {
        let next = self.places.len() as u32;
        let number = *self.numbers.entry(place).or_insert(next);
        if number == next {
            self.places.push((place, depth));
        }
        number
    }

    /// Notes the dictionaries that are a `__dict__`, however else they may be held.
    fn namespaces(&mut self) {
        let graph = self.graph;
        for holder in graph.nodes() {
            for edge in graph.edges_of(holder) {
                if python::label(graph, edge) != b"__dict__" {
                    continue;
                }
                let dict = graph.edge_to(edge);
                if self.of[dict.index()] == NONE
                    && self.is_container(dict)
                    && python::hold(graph, holder, edge) == Hold::Namespace
                {
                    let place = Place::Namespace(graph.kind(holder).0, graph.name(holder));
                    self.of[dict.index()] = self.number(place, 0);
                }
            }
        }
    }

    /// Notes the owner of a container that was found by this reference. Its holder was found
    /// before.
    fn held(&mut self, node: NodeId, edge: EdgeId) {
        if self.of[node.index()] != NONE || !self.passes_on(node) {
            return;
        }
        let graph = self.graph;
        let from = graph.edge_from(edge);
        let hold = self.alike(from, python::alike(graph, from, edge));
        let owner = self.of[from.index()];
        if self.passes_on(from) && owner != NONE {
            self.of[node.index()] = self.within(owner, from, hold);
            return;
        }
        let place = if matches!(hold, Hold::Local(_)) {
            Place::Frame(graph.name(python::function_of(graph, from)), hold)
        } else if self.kind(from) == "synthetic" {
            Place::Root(graph.name(from))
        } else {
            let name = match self.kind(from) {
                // There is as much code as there are functions, and it is of no interest.
                "code" => NameId(NONE),
                _ => graph.name(from),
            };
            Place::Of(graph.kind(from).0, name, hold)
        };
        self.of[node.index()] = self.number(place, 0);
    }

    /// The owner of the contents of a container or a cell, which has an owner itself.
    fn within(&mut self, owner: u32, from: NodeId, hold: Hold) -> u32 {
        let (of, depth) = self.places[owner as usize];
        match of {
            Place::Within(_, None) => owner,
            // The variable has the name already.
            Place::Frame(..) if python::is_cell(self.graph, from) => owner,
            Place::Namespace(..) => self.number(Place::Within(owner, Some(hold)), 0),
            _ if depth == DEEPEST => self.number(Place::Within(owner, None), depth),
            _ => self.number(Place::Within(owner, Some(hold)), depth + 1),
        }
    }

    /// The items of a sequence, or of a large dictionary, are alike.
    fn alike(&self, from: NodeId, hold: Hold) -> Hold {
        match hold {
            Hold::Index(_) | Hold::HiddenKey(_) => Hold::Index(0),
            Hold::Element(_) => Hold::Element(0),
            Hold::Key(_) if self.is_large(from) => Hold::Index(0),
            hold => hold,
        }
    }

    /// True for a dictionary with many items that is no `__dict__`.
    fn is_large(&self, dict: NodeId) -> bool {
        let owner = self.of[dict.index()];
        let place = self.places.get(owner as usize).map(|(place, _)| place);
        !matches!(place, Some(Place::Namespace(..)))
            && self.graph.edges_of(dict).len() > 2 * MOST_KEYS
    }

    /// The names of the owners, each once: an attribute is the same whether its object has a
    /// dictionary or not.
    fn finish(&mut self) -> (Vec<Box<str>>, Vec<bool>) {
        let mut all: Vec<Box<str>> = Vec::with_capacity(self.places.len());
        for (place, _) in &self.places {
            let name = self.name(*place, &all);
            all.push(name.into());
        }
        let (mut names, mut is_namespace) = (Vec::new(), Vec::new());
        let mut known: FxHashMap<(Box<str>, bool), u32> = FxHashMap::default();
        let rows = all.into_iter().zip(&self.places).map(|(name, (place, _))| {
            let is_its = matches!(place, Place::Namespace(..));
            *known.entry((name.clone(), is_its)).or_insert_with(|| {
                names.push(name);
                is_namespace.push(is_its);
                names.len() as u32 - 1
            })
        });
        let rows: Vec<u32> = rows.collect();
        for node in self.graph.nodes() {
            let owner = self.of[node.index()];
            self.of[node.index()] = match owner == NONE || !self.is_container(node) {
                true => NONE,
                false => rows[owner as usize],
            };
        }
        (names, is_namespace)
    }

    /// The name of a place. The owners of outer containers have lower numbers.
    fn name(&self, place: Place, known: &[Box<str>]) -> String {
        let text = |name: NameId| String::from_utf8_lossy(self.graph.text(name)).into_owned();
        let held = |hold: Hold| self.suffix(hold);
        match place {
            Place::Namespace(kind, name) => match &*self.kinds[kind as usize] {
                "module" => format!("module {}", text(name)),
                "class" => format!("class {}", text(name)),
                "closure" => format!("function {}", text(name)),
                _ => text(name),
            },
            Place::Of(kind, name, hold) => {
                let of = match &*self.kinds[kind as usize] {
                    "code" => "<code>".into(),
                    "class" | "closure" | "module" => text(name),
                    _ => format!("<{}>", text(name)),
                };
                format!("{of}{}", held(hold))
            }
            Place::Frame(name, hold) => format!("{}.<locals>{}", text(name), held(hold)),
            Place::Within(owner, hold) => {
                let outer = &known[owner as usize];
                let Some(hold) = hold else {
                    return format!("{outer}…");
                };
                match (self.places[owner as usize].0, hold) {
                    (Place::Namespace(kind, name), Hold::Key(key)) => {
                        let of = match &*self.kinds[kind as usize] {
                            "module" | "class" | "closure" => text(name),
                            _ => format!("<{}>", text(name)),
                        };
                        let key = text(NameId(key));
                        match is_identifier(&key) {
                            true => format!("{of}.{key}"),
                            false => format!("{of}.__dict__[{}]", quoted(&key)),
                        }
                    }
                    (Place::Namespace(..), hold) => format!("__dict__ of {outer}{}", held(hold)),
                    _ => format!("{outer}{}", held(hold)),
                }
            }
            Place::Root(name) => match self.graph.text(name) {
                b"(Modules)" => "sys.modules".into(),
                b"(Held by native code)" => "<native code>".into(),
                b"(Garbage, not collected yet)" => "<garbage>".into(),
                other => format!("<{}>", String::from_utf8_lossy(other)),
            },
        }
    }

    fn suffix(&self, hold: Hold) -> String {
        let text = |row: u32| String::from_utf8_lossy(self.graph.text(NameId(row))).into_owned();
        match hold {
            Hold::Namespace => ".__dict__".into(),
            Hold::Attribute(name) | Hold::Local(name) => format!(".{}", text(name)),
            Hold::Key(key) => format!("[{}]", quoted(&text(key))),
            Hold::Index(_) | Hold::HiddenKey(_) => "[…]".into(),
            Hold::Element(_) => "{…}".into(),
            Hold::Class => ".__class__".into(),
            Hold::Unnamed => ".<reference>".into(),
        }
    }
}
