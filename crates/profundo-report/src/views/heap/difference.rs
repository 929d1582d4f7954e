//! What is different in a later snapshot.

use std::io;

use profundo_analysis::graph::{Difference, Types};
use profundo_model::graph::Graph;

use super::object;
use super::sheet::Sheet;
use super::text::write_more;
use super::told::{tell_head, tell_snapshot};
use crate::json::Json;
use crate::units::{bytes, counted, short_count};

pub(super) fn write(
    sheet: &mut Sheet<'_>,
    [before, now]: [&Graph; 2],
    types: &Types,
    found: &Difference,
    limit: usize,
) -> io::Result<()> {
    let [before_bytes, now_bytes] = found.bytes;
    // As many as each snapshot has by itself, those without a size among them.
    let [before_count, now_count] = [before, now].map(|it| it.node_count() as u64);
    sheet.heading(&format!(
        "Heap snapshots: {} then, {} now ({}); {} then, {} now ({})",
        counted(before_count, "object"),
        now_count,
        signed(
            i128::from(now_count) - i128::from(before_count),
            short_count
        ),
        bytes(before_bytes),
        bytes(now_bytes),
        signed(i128::from(now_bytes) - i128::from(before_bytes), bytes),
    ))?;
    if !found.has_stable_ids {
        sheet.warning(
            "hardly any object has the same id in both, as if they were of different processes: which objects are new is not told.",
        )?;
    }
    sheet.plain("")?;
    if found.types.is_empty() {
        return sheet.plain("Nothing has changed.");
    }
    sheet.heading("Types, by how much they have grown")?;
    match found.has_stable_ids {
        true => sheet.titles(&["Bytes", "Objects", "New", "Gone", "Now"], "Type")?,
        false => sheet.titles(&["Bytes", "Objects", "Now"], "Type")?,
    }
    for row in found.types.iter().take(limit) {
        sheet.number(&signed(row.grown(), bytes));
        let more = i128::from(row.count[1]) - i128::from(row.count[0]);
        sheet.number(&signed(more, short_count));
        if found.has_stable_ids {
            sheet.number(&short_count(row.new[0]));
            sheet.number(&short_count(row.gone[0]));
        }
        sheet.number(&short_count(row.count[1]));
        sheet.text(&row.name)?;
    }
    write_more(sheet, found.types.len().saturating_sub(limit), "type")?;
    if found.largest_new.is_empty() {
        return Ok(());
    }
    sheet.plain("")?;
    sheet.heading("The largest objects that are new")?;
    sheet.titles(&["Bytes"], "Object")?;
    for node in &found.largest_new {
        sheet.bytes(now.size(*node));
        sheet.text(&object::shown(now, types, *node))?;
    }
    Ok(())
}

/// A number with its sign, in the words of `shown`.
fn signed(number: i128, shown: fn(u64) -> String) -> String {
    let size = u64::try_from(number.unsigned_abs()).unwrap_or(u64::MAX);
    match number {
        0 => shown(0),
        more if more > 0 => format!("+{}", shown(size)),
        _ => format!("-{}", shown(size)),
    }
}

pub(super) fn tell(
    json: &mut Json<'_>,
    graphs: [&Graph; 2],
    types: &Types,
    found: &Difference,
    limit: usize,
) {
    tell_head(json, "heap_difference");
    for (key, graph) in ["before", "now"].into_iter().zip(graphs) {
        json.row(key, |json| tell_snapshot(json, graph));
    }
    json.is("has_stable_ids", found.has_stable_ids);
    json.array("types", |json| {
        for row in found.types.iter().take(limit) {
            json.row("", |json| {
                json.text("type", &row.name);
                json.number("objects_before", row.count[0]);
                json.number("objects_now", row.count[1]);
                json.number("bytes_before", row.bytes[0]);
                json.number("bytes_now", row.bytes[1]);
                let known = |number| found.has_stable_ids.then_some(number);
                json.number_or_null("new_objects", known(row.new[0]));
                json.number_or_null("new_bytes", known(row.new[1]));
                json.number_or_null("gone_objects", known(row.gone[0]));
                json.number_or_null("gone_bytes", known(row.gone[1]));
            });
        }
    });
    json.array("largest_new", |json| {
        for node in &found.largest_new {
            json.row("", |json| object::tell(json, graphs[1], types, *node));
        }
    });
}
