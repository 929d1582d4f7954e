//! The answers as text.

use std::io;

use profundo_analysis::graph::{Branch, Duplicates, Held, Paths, TypeRow, expression};
use profundo_model::graph::NodeId;

use super::sheet::Sheet;
use super::{Answer, HeapQuestion, HeapSnapshot, Known, object};
use crate::page::units::{bytes, counted, short_count};
use crate::page::width::keep_head;

pub(super) fn write(
    sheet: &mut Sheet<'_>,
    known: &Known<'_>,
    answer: &Answer,
    report: &HeapSnapshot,
) -> io::Result<()> {
    let graph = known.graph;
    sheet.heading(&format!(
        "Heap snapshot: {}, {}, {}",
        counted(graph.node_count() as u64, "object"),
        counted(graph.edge_count() as u64, "reference"),
        bytes(known.bytes())
    ))?;
    match known.dominators.unreached() as u64 {
        0 => {}
        some => sheet.plain(&format!(
            "{} held by weak references only, or by one another; counted all the same.",
            counted(some, "object")
        ))?,
    }
    sheet.plain("")?;
    match answer {
        Answer::Summary(types, most) => {
            write_types(sheet, known, &types.split, report.rows(15))?;
            sheet.plain("")?;
            write_biggest(sheet, known, most)
        }
        Answer::Types(types) => write_types(sheet, known, &types.split, report.rows(40)),
        Answer::Biggest(most) => write_biggest(sheet, known, most),
        Answer::Dominators(branches) => write_tree(sheet, known, branches),
        Answer::Path(found) => {
            let HeapQuestion::Path(of) = &report.question else {
                return Ok(());
            };
            write_paths(sheet, known, of, found, report.rows(5))
        }
        Answer::Duplicates(found) => write_duplicates(sheet, known, found, report.rows(30)),
    }
}

fn write_types(
    sheet: &mut Sheet<'_>,
    known: &Known<'_>,
    types: &[TypeRow],
    limit: usize,
) -> io::Result<()> {
    sheet.heading("Types, by the bytes that would go with all of their objects")?;
    sheet.titles(&["Objects", "Bytes", "%", "Retained", "%"], "Type")?;
    for row in types.iter().take(limit) {
        sheet.number(&short_count(row.count));
        sheet.share(row.bytes, known.share(row.bytes));
        sheet.share(row.retained, known.share(row.retained));
        sheet.text(known.split.types.name(row.of))?;
    }
    write_more(sheet, types.len().saturating_sub(limit), "type")
}

/// Writes that rows were left out.
pub(super) fn write_more(sheet: &mut Sheet<'_>, more: usize, noun: &str) -> io::Result<()> {
    match more {
        0 => Ok(()),
        more => sheet.gray(&format!(
            "and {} more (--limit)",
            counted(more as u64, noun)
        )),
    }
}

fn write_biggest(sheet: &mut Sheet<'_>, known: &Known<'_>, most: &[NodeId]) -> io::Result<()> {
    sheet.heading("Objects, by the bytes that would go with each")?;
    sheet.titles(&["Retained", "%", "Bytes"], "Object")?;
    for node in most {
        let retained = known.retained(*node);
        sheet.share(retained, known.share(retained));
        sheet.bytes(known.graph.size(*node));
        sheet.text(&object::placed(known, *node))?;
    }
    Ok(())
}

fn write_tree(sheet: &mut Sheet<'_>, known: &Known<'_>, branches: &[Branch]) -> io::Result<()> {
    sheet.heading("What each object holds alone: without it, all below it would go")?;
    sheet.titles(&["Retained", "%", "Bytes"], "Object")?;
    for branch in branches {
        let retained = known.retained(branch.node);
        sheet.share(retained, known.share(retained));
        sheet.bytes(known.graph.size(branch.node));
        // Far down the depth itself would fill the line.
        let indent = match branch.depth {
            few if few <= 16 => "  ".repeat(few as usize),
            many => format!("{}({many}) ", "  ".repeat(14)),
        };
        let more = match branch.hidden {
            0 => String::new(),
            some => format!(
                "  ({} below, {})",
                short_count(some),
                bytes(branch.hidden_bytes)
            ),
        };
        let shown = object::placed(known, branch.node);
        sheet.text(&format!("{indent}{shown}{more}"))?;
    }
    Ok(())
}

fn write_paths(
    sheet: &mut Sheet<'_>,
    known: &Known<'_>,
    of: &str,
    found: &Paths,
    limit: usize,
) -> io::Result<()> {
    sheet.heading(&format!(
        "Who holds {of}: the shortest ways from the root to {}",
        counted(found.count, "object")
    ))?;
    for held in found.held.iter().take(limit) {
        sheet.plain("")?;
        write_way(sheet, known, held)?;
    }
    if found.held.len() > limit {
        sheet.plain("")?;
        write_more(sheet, found.held.len() - limit, "way")?;
    }
    match found.unreached {
        0 => Ok(()),
        some => {
            sheet.plain("")?;
            sheet.plain(&format!(
                "{} held by weak references only, or by one another.",
                counted(some, "object")
            ))
        }
    }
}

fn write_way(sheet: &mut Sheet<'_>, known: &Known<'_>, held: &Held) -> io::Result<()> {
    let graph = known.graph;
    let most = match held.count {
        1 => format!("retains {}", bytes(held.most_retained)),
        _ => format!("the largest retains {}", bytes(held.most_retained)),
    };
    sheet.plain(&format!(
        "{} held like this, {} of their own; {most}",
        counted(held.count, "object"),
        bytes(held.bytes)
    ))?;
    if let Some(expression) = expression(graph, &held.steps) {
        sheet.text(&expression)?;
    }
    let labels: Vec<String> = (held.steps.iter())
        .map(|step| {
            step.edge
                .map_or_else(String::new, |edge| object::label(graph, edge))
        })
        .collect();
    for (step, label) in held.steps.iter().zip(labels) {
        let shown = object::owned(known, step.node);
        let by = match step.edge {
            Some(_) => format!("{label} → "),
            None => String::new(),
        };
        sheet.text(&format!(" {by}{shown}"))?;
    }
    Ok(())
}

fn write_duplicates(
    sheet: &mut Sheet<'_>,
    known: &Known<'_>,
    found: &Duplicates,
    limit: usize,
) -> io::Result<()> {
    let (rows, strings) = match found {
        Duplicates::Hidden => {
            return sheet.warning(
                "this snapshot hides what strings hold (it was redacted when it was taken), so equal ones cannot be told.",
            );
        }
        Duplicates::Found { rows, strings } => (rows, *strings),
    };
    let wasted = rows.iter().map(|row| row.wasted).sum();
    sheet.heading(&format!(
        "Texts that are there more than once: {} of {} wasted, among {} in all",
        bytes(wasted),
        bytes(known.bytes()),
        counted(strings, "string")
    ))?;
    if rows.is_empty() {
        return sheet.plain(match strings {
            0 => "The snapshot has no strings whose text it tells.",
            _ => "None: no two strings are equal.",
        });
    }
    sheet.titles(&["Wasted", "%", "Objects", "Bytes"], "Text")?;
    for row in rows.iter().take(limit) {
        sheet.share(row.wasted, known.share(row.wasted));
        sheet.number(&short_count(row.count));
        sheet.bytes(row.bytes);
        let text = String::from_utf8_lossy(known.graph.text(row.text));
        sheet.text(&format!("{:?}", keep_head(&text, 200)))?;
    }
    write_more(sheet, rows.len().saturating_sub(limit), "text")
}
