//! The steps of Python: the notation of a program for the reference from an object to another.

use profundo_model::graph::{EdgeId, Graph, Label, NodeId};

/// The kind of hold of one object on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Hold {
    /// Its `__dict__`.
    Namespace,
    /// An attribute, by the text of this row.
    Attribute(u32),
    /// A local variable, by the text of this row.
    Local(u32),
    /// The value of a text key of a dictionary, by the text of this row.
    Key(u32),
    /// The value of a whole number of a dictionary, or the one at this index of a list or a tuple.
    Index(u64),
    /// The value of a hidden key, by its position.
    HiddenKey(u64),
    /// A key of a dictionary, or an element of a set, by its position.
    Element(u64),
    /// Its class.
    Class,
    /// Without a name.
    Unnamed,
}

/// The root that leads to `sys.modules`. Only a snapshot of a Python process has it.
const MODULES: &[u8] = b"(Modules)";

/// The node below which all modules are; `None` for a snapshot of another language.
pub(super) fn modules(graph: &Graph) -> Option<NodeId> {
    let below = graph.edges_of(graph.root()).map(|edge| graph.edge_to(edge));
    let mut below = below.filter(|node| graph.kind_name(graph.kind(*node)) == "synthetic");
    below.find(|node| name(graph, *node) == MODULES)
}

pub(super) fn name(graph: &Graph, node: NodeId) -> &[u8] {
    graph.text(graph.name(node))
}

/// The name of a reference; empty for an index.
pub(super) fn label(graph: &Graph, edge: EdgeId) -> &[u8] {
    match graph.label(edge) {
        Label::Name(name) => graph.text(name),
        Label::Index(_) => b"",
    }
}

pub(super) fn is_internal(graph: &Graph, edge: EdgeId) -> bool {
    graph.edge_kind_name(graph.edge_kind(edge)) == "internal"
}

/// Whether a reference leads to a key of a dictionary. It comes right after the one to the value.
fn is_key(graph: &Graph, edge: EdgeId) -> bool {
    is_internal(graph, edge) && label(graph, edge) == b"key"
}

/// The reference to the key by which a dictionary holds the value of `edge`.
fn key_of(graph: &Graph, from: NodeId, edge: EdgeId) -> Option<EdgeId> {
    let (_, firsts) = graph.targets();
    let next = EdgeId(edge.0 + 1);
    let is_its = next.0 < firsts[from.index() + 1];
    (is_its && !is_key(graph, edge) && is_key(graph, next)).then_some(next)
}

/// The position of an item in its dictionary.
fn place(graph: &Graph, from: NodeId, edge: EdgeId) -> u64 {
    let before = graph.edges_of(from).take_while(|other| *other < edge);
    before.filter(|other| is_key(graph, *other)).count() as u64
}

/// The hold of `from` on the target of `edge`.
pub(super) fn hold(graph: &Graph, from: NodeId, edge: EdgeId) -> Hold {
    match alike(graph, from, edge) {
        Hold::HiddenKey(index) => {
            let key = key_of(graph, from, edge).map(|key| graph.edge_to(key));
            let is_number = key.is_some_and(|key| name(graph, key) == b"int");
            // Where numbers are hidden, or too large, the label is the position.
            match is_number && index != place(graph, from, edge) {
                true => Hold::Index(index),
                false => Hold::HiddenKey(index),
            }
        }
        Hold::Element(0) if is_key(graph, edge) => Hold::Element(place(graph, from, edge)),
        hold => hold,
    }
}

/// Like [`hold`], but without a search for the position among many: keys that are no texts are
/// hidden, and a key is the first.
pub(super) fn alike(graph: &Graph, from: NodeId, edge: EdgeId) -> Hold {
    if key_of(graph, from, edge).is_some() {
        return match graph.label(edge) {
            Label::Name(name) => Hold::Key(name.0),
            Label::Index(index) => Hold::HiddenKey(index),
        };
    }
    match graph.label(edge) {
        Label::Index(index) => match name(graph, from) {
            b"set" | b"frozenset" => Hold::Element(index),
            _ => Hold::Index(index),
        },
        Label::Name(_) if is_key(graph, edge) => Hold::Element(0),
        Label::Name(text) if is_internal(graph, edge) => match graph.text(text) {
            b"class" => Hold::Class,
            _ => Hold::Unnamed,
        },
        Label::Name(text) => match graph.text(text) {
            b"__dict__" => Hold::Namespace,
            attribute if has_locals(graph, from) && !is_of_frame(attribute) => Hold::Local(text.0),
            _ => Hold::Attribute(text.0),
        },
    }
}

/// Whether an object has local variables besides its attributes: a frame, a generator, a coroutine.
fn has_locals(graph: &Graph, node: NodeId) -> bool {
    match graph.kind_name(graph.kind(node)) {
        "synthetic" => true,
        "object" => frame_of(graph, node).is_some() || name(graph, node) == b"frame",
        _ => false,
    }
}

/// The attribute by which a generator or its like holds its frame.
pub(super) fn frame_of(graph: &Graph, node: NodeId) -> Option<&'static str> {
    match name(graph, node) {
        b"generator" => Some("gi_frame"),
        b"coroutine" => Some("cr_frame"),
        b"async_generator" => Some("ag_frame"),
        _ => None,
    }
}

/// Whether a frame, or an object with one, holds something by this name that is none of its
/// variables.
fn is_of_frame(attribute: &[u8]) -> bool {
    const OWN: [&[u8]; 16] = [
        b"f_back",
        b"f_code",
        b"f_builtins",
        b"f_globals",
        b"f_locals",
        b"f_trace",
        b"gi_frame",
        b"gi_code",
        b"cr_frame",
        b"cr_code",
        b"cr_origin",
        b"ag_frame",
        b"ag_code",
        b"__name__",
        b"__qualname__",
        b"__weakref__",
    ];
    OWN.contains(&attribute)
}

/// The object with the name of the function whose variables an object has: its code, or the frame
/// itself where it is no object.
pub(super) fn function_of(graph: &Graph, frame: NodeId) -> NodeId {
    let is_code = |edge: &EdgeId| {
        let is_named = label(graph, *edge).ends_with(b"_code") || is_internal(graph, *edge);
        is_named && graph.kind_name(graph.kind(graph.edge_to(*edge))) == "code"
    };
    match graph.edges_of(frame).find(is_code) {
        Some(edge) => graph.edge_to(edge),
        None => frame,
    }
}

/// True for the cell of a variable that inner functions use, too.
pub(super) fn is_cell(graph: &Graph, from: NodeId) -> bool {
    name(graph, from) == b"cell"
}

/// Whether a name can follow a dot.
pub(super) fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
}

/// A text as Python writes it.
pub(super) fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|letter| match letter {
        '\'' => "\\'".into(),
        '\\' => "\\\\".into(),
        other if other.is_control() => other.escape_default().to_string(),
        other => other.to_string(),
    });
    format!("'{}'", escaped.collect::<String>())
}
