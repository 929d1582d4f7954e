//! The answers as JSON.

use profundo_analysis::graph::{Branch, Duplicates, Paths, TypeRow, expression};
use profundo_model::graph::{Graph, NodeId};

use super::{Answer, HeapSnapshot, Known, Rows, object};
use crate::json::Json;
use crate::json::SCHEMA;

pub(super) fn members(
    json: &mut Json<'_>,
    known: &Known<'_>,
    answer: &Answer,
    report: &HeapSnapshot,
) {
    let name = match answer {
        Answer::Summary(..) => "heap",
        Answer::Types(_) => "heap_types",
        Answer::Biggest(_) => "heap_biggest",
        Answer::Dominators(_) => "heap_dominators",
        Answer::Path(_) => "heap_path",
        Answer::Duplicates(_) => "heap_duplicates",
    };
    head_members(json, name);
    json.row("snapshot", |json| {
        snapshot_members(json, known.graph);
        json.number("unheld_objects", known.dominators.unreached() as u64);
    });
    match answer {
        Answer::Summary(types, most) => {
            types_members(json, known, types, report);
            biggest_members(json, known, most);
        }
        Answer::Types(types) => types_members(json, known, types, report),
        Answer::Biggest(most) => biggest_members(json, known, most),
        Answer::Dominators(branches) => tree_members(json, known, branches),
        Answer::Path(found) => paths_members(json, known, found, report.rows(usize::MAX)),
        Answer::Duplicates(found) => {
            duplicates_members(json, known.graph, found, report.rows(usize::MAX));
        }
    }
}

pub(super) fn head_members(json: &mut Json<'_>, name: &str) {
    json.row("profundo", |json| {
        json.number("schema", SCHEMA);
        json.text("report", name);
    });
}

pub(super) fn snapshot_members(json: &mut Json<'_>, graph: &Graph) {
    json.number("objects", graph.node_count() as u64);
    json.number("references", graph.edge_count() as u64);
    let sizes = graph.size_column().iter();
    json.number(
        "bytes",
        sizes.fold(0, |sum: u64, size| sum.saturating_add(*size)),
    );
}

fn types_members(json: &mut Json<'_>, known: &Known<'_>, types: &Rows, report: &HeapSnapshot) {
    let limit = report.rows(usize::MAX);
    json.array("types", |json| {
        for row in types.whole.iter().take(limit) {
            json.object("", |json| {
                json.text("type", known.types.name(row.of));
                figures_members(json, known, row);
                let parts = types.split.iter().filter_map(|part| {
                    let (whole, owner) = known.split.whole(part.of);
                    (whole == row.of).then_some((part, owner))
                });
                let parts: Vec<_> = parts.collect();
                // A type without any owner is one part, which adds nothing.
                let has_owners = parts.iter().any(|(_, owner)| owner.is_some());
                json.array("owners", |json| {
                    for (part, owner) in parts
                        .into_iter()
                        .filter(|_| has_owners)
                        .take(report.most_owners())
                    {
                        json.row("", |json| {
                            let owner = owner.map_or("", |owner| known.owners.name(owner));
                            json.text_or_null("owner", owner);
                            figures_members(json, known, part);
                        });
                    }
                });
            });
        }
    });
}

fn figures_members(json: &mut Json<'_>, known: &Known<'_>, row: &TypeRow) {
    json.number("objects", row.count);
    json.number("bytes", row.bytes);
    json.number("retained_bytes", row.retained);
    json.share("retained_share", Some(known.share(row.retained)));
}

fn biggest_members(json: &mut Json<'_>, known: &Known<'_>, most: &[NodeId]) {
    json.array("biggest", |json| {
        for node in most {
            json.row("", |json| retaining_members(json, known, *node));
        }
    });
}

fn retaining_members(json: &mut Json<'_>, known: &Known<'_>, node: NodeId) {
    object::placed_members(json, known, node);
    let retained = known.retained(node);
    json.number("retained_bytes", retained);
    json.share("retained_share", Some(known.share(retained)));
}

fn tree_members(json: &mut Json<'_>, known: &Known<'_>, branches: &[Branch]) {
    json.array("dominators", |json| {
        for branch in branches {
            json.row("", |json| {
                json.number("depth", u64::from(branch.depth));
                retaining_members(json, known, branch.node);
                json.number("children", branch.children);
                json.number("hidden_children", branch.hidden);
                json.number("hidden_bytes", branch.hidden_bytes);
            });
        }
    });
}

fn paths_members(json: &mut Json<'_>, known: &Known<'_>, found: &Paths, limit: usize) {
    json.number("objects", found.count);
    json.number("unheld_objects", found.unreached);
    json.array("ways", |json| {
        for held in found.held.iter().take(limit) {
            json.object("", |json| {
                json.number("objects", held.count);
                json.number("bytes", held.bytes);
                json.number("most_retained_bytes", held.most_retained);
                let path = expression(known.graph, &held.steps).unwrap_or_default();
                json.text_or_null("path", &path);
                json.array("steps", |json| {
                    for step in &held.steps {
                        json.row("", |json| {
                            object::step_members(json, known, *step);
                        });
                    }
                });
            });
        }
    });
}

fn duplicates_members(json: &mut Json<'_>, graph: &Graph, found: &Duplicates, limit: usize) {
    let (rows, strings) = match found {
        Duplicates::Hidden => {
            json.is("texts_are_hidden", true);
            json.null("strings");
            return json.array("duplicates", |_| {});
        }
        Duplicates::Found { rows, strings } => (rows, *strings),
    };
    json.is("texts_are_hidden", false);
    json.number("strings", strings);
    json.array("duplicates", |json| {
        for row in rows.iter().take(limit) {
            json.row("", |json| {
                json.text("text", &String::from_utf8_lossy(graph.text(row.text)));
                json.number("objects", row.count);
                json.number("bytes", row.bytes);
                json.number("wasted_bytes", row.wasted);
            });
        }
    });
}
