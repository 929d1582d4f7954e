//! The names of objects and references.

use profundo_analysis::graph::{Step, Types, expression};
use profundo_model::graph::{EdgeId, Graph, Label, NodeId, REDACTED};

use super::Known;
use crate::json::Json;
use crate::page::width::keep_head;

/// The rest of a name that is longer than this is not shown.
const LONGEST: usize = 60;

/// An object's type, its name where that is not in the type's, and its id.
pub(super) fn shown(graph: &Graph, types: &Types, node: NodeId) -> String {
    let of = types.name(types.of(node));
    let name = String::from_utf8_lossy(graph.text(graph.name(node)));
    let id = id(graph.id(node));
    if name.is_empty() && node == graph.root() {
        return "(root)".into();
    }
    // The end of the type's full name would only repeat it.
    if name.is_empty() || of.ends_with(&*name) || name.as_bytes() == REDACTED {
        return format!("{of} {id}");
    }
    let is_text = matches!(
        graph.kind_name(graph.kind(node)),
        "string" | "concatenated string" | "sliced string" | "String" | "str" | "bytes"
    );
    let name = keep_head(&name, LONGEST);
    match is_text {
        true => format!("{of} {name:?} {id}"),
        false => format!("{of} {name} {id}"),
    }
}

/// The name, with the owner of a `__dict__`.
pub(super) fn owned(known: &Known<'_>, node: NodeId) -> String {
    let shown = shown(known.graph, known.types, node);
    match known.owners.of(node) {
        Some(owner) if known.owners.is_namespace(owner) => {
            let at = shown.rfind(" @").unwrap_or(shown.len());
            let (of, id) = shown.split_at(at);
            format!("{of} {}{id}", known.owners.phrase(owner))
        }
        _ => shown,
    }
}

/// The name, with the Python expression that leads to the object if its name does not show its
/// place.
pub(super) fn placed(known: &Known<'_>, node: NodeId) -> String {
    let shown = owned(known, node);
    match kind_has_name(known.graph, node) {
        true => shown,
        false => match path(known, node) {
            Some(path) => format!("{shown}  {path}"),
            None => shown,
        },
    }
}

fn kind_has_name(graph: &Graph, node: NodeId) -> bool {
    matches!(
        graph.kind_name(graph.kind(node)),
        "module" | "class" | "closure"
    )
}

/// The Python expression that leads to an object, in a snapshot of a Python process.
fn path(known: &Known<'_>, node: NodeId) -> Option<String> {
    expression(known.graph, &known.owners.steps(known.graph, node))
}

/// Writes the owner of a container: the member `owner`.
fn owner_members(json: &mut Json<'_>, known: &Known<'_>, node: NodeId) {
    let owner = known.owners.of(node);
    json.text_or_null("owner", owner.map_or("", |owner| known.owners.name(owner)));
}

/// V8 counts its objects; addresses are written as such.
pub(super) fn id(id: u64) -> String {
    match u32::try_from(id) {
        Ok(small) => format!("@{small}"),
        Err(_) => format!("@{id:#x}"),
    }
}

/// A reference's name.
pub(super) fn label(graph: &Graph, edge: EdgeId) -> String {
    match graph.label(edge) {
        Label::Index(index) => format!("[{index}]"),
        Label::Name(name) => {
            let text = String::from_utf8_lossy(graph.text(name)).into_owned();
            match text.is_empty() {
                true => "(no name)".into(),
                false => keep_head(&text, LONGEST),
            }
        }
    }
}

pub(super) fn members(json: &mut Json<'_>, graph: &Graph, types: &Types, node: NodeId) {
    json.number("id", graph.id(node));
    json.text("type", types.name(types.of(node)));
    let name = String::from_utf8_lossy(graph.text(graph.name(node)));
    json.text("name", &name);
    json.number("bytes", graph.size(node));
}

pub(super) fn placed_members(json: &mut Json<'_>, known: &Known<'_>, node: NodeId) {
    members(json, known.graph, known.types, node);
    owner_members(json, known, node);
    json.text_or_null("path", &path(known, node).unwrap_or_default());
}

pub(super) fn step_members(json: &mut Json<'_>, known: &Known<'_>, step: Step) {
    let graph = known.graph;
    match step.edge {
        Some(edge) => {
            json.text("by_kind", graph.edge_kind_name(graph.edge_kind(edge)));
            match graph.label(edge) {
                Label::Name(name) => {
                    json.text("by", &String::from_utf8_lossy(graph.text(name)));
                    json.null("by_index");
                }
                Label::Index(index) => {
                    json.null("by");
                    json.number("by_index", index);
                }
            }
        }
        None => {
            json.null("by_kind");
            json.null("by");
            json.null("by_index");
        }
    }
    members(json, graph, known.types, step.node);
    owner_members(json, known, step.node);
}
