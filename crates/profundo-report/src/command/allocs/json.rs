//! Allocations as JSON.

use profundo_analysis::{Allocations, Selection};
use profundo_model::{Profile, Sampling};

use super::Allocs;
use super::table::{self, Known, Row};
use crate::json::{Json, figure_members};
use crate::naming::statements::Statements;
use crate::table::undrawn;

/// Writes the report.
pub(super) fn members(view: &Allocs, profile: &Profile, _: &Selection, json: &mut Json<'_>) {
    let statements = view.statements_of(profile);
    match view.found(profile, &statements) {
        Some(found) => json.object("allocations", |json| {
            memory_members(json, &statements, &found, view.rows)
        }),
        None => json.null("allocations"),
    }
}

/// All members on memory, each table with at most so many rows.
pub(in crate::command) fn memory_members(
    json: &mut Json<'_>,
    statements: &Statements<'_>,
    found: &Allocations,
    rows: usize,
) {
    let profile = statements.profile();
    let mean = |sampling| match sampling {
        Sampling::Bytes(mean) => Some(mean),
        _ => None,
    };
    let how = match found.sampling {
        Sampling::All => "all",
        Sampling::Bytes(_) => "bytes",
        Sampling::Events(_) => "events",
        Sampling::None => "unknown",
    };
    json.text("sampling", how);
    json.number_or_null("bytes_between_samples", mean(found.sampling));
    json.number_or_null("most_bytes_between_samples", mean(found.coarsest));
    json.number("samples", found.total.allocated.seen());
    json.share("seconds", Some(found.seconds));
    let known = Known::new(found, 0);
    let total = table::held(known);
    json.row("total", |json| total.members(json, &found.total));
    json.array("peaks", |json| {
        for peak in &found.peaks {
            json.row("", |json| {
                let process = profile.processes.get(peak.process.index());
                json.number_or_null("pid", process.map(|process| u64::from(process.pid)));
                json.seconds("at_seconds", Some(peak.time.0));
                figure_members(json, "bytes", peak.held.bytes());
                figure_members(json, "blocks", peak.held.count());
            });
        }
    });
    let lines = table::lines(known, statements, 0, undrawn);
    json.array("lines", |json| {
        for row in found.lines.iter().take(rows) {
            json.object("", |json| lines.members(json, &Row::new(row, row.held)));
        }
    });
    let functions = table::functions(known, statements, undrawn);
    json.array("functions", |json| {
        for row in found.functions.iter().take(rows) {
            json.object("", |json| functions.members(json, &Row::new(row, row.held)));
        }
    });
    let types = table::types(known, undrawn);
    json.array("types", |json| {
        for row in found.types.iter().take(rows) {
            json.object("", |json| types.members(json, &Row::new(row, row.held)));
        }
    });
    json.row("types_untold", |json| {
        figure_members(json, "bytes", found.needs_debug_info.bytes());
    });
    let threads = table::threads(known, profile);
    json.array("threads", |json| {
        for row in &found.threads {
            json.row("", |json| threads.members(json, &Row::new(row, row.held)));
        }
    });
    let processes = table::processes(known, profile);
    json.array("processes", |json| {
        for row in &found.processes {
            json.row("", |json| processes.members(json, &Row::new(row, row.held)));
        }
    });
    let copied = table::copied(found.seconds);
    json.row("copied", |json| copied.members(json, &found.copied));
    let copies = table::copies(found, statements, undrawn);
    json.array("copies", |json| {
        for row in found.copies.iter().take(rows) {
            json.object("", |json| copies.members(json, row));
        }
    });
    json.object("unreachable", |json| {
        unreachable_members(json, statements, found)
    });
    let leaks = table::leaks(statements, undrawn);
    json.array("leaks", |json| {
        for leak in &found.leaks {
            json.object("", |json| leaks.members(json, leak));
        }
    });
}

/// Writes the blocks that no pointer led to when their process ended.
fn unreachable_members(json: &mut Json<'_>, statements: &Statements<'_>, found: &Allocations) {
    json.number("searched_processes", found.searched as u64);
    // Where all blocks are known, also what only lost ones point to.
    json.is("with_chains", found.sampling == Sampling::All);
    let total = &found.total.unreachable;
    figure_members(json, "bytes", total.bytes());
    figure_members(json, "blocks", total.count());
    let table = table::unreachable(found, statements, undrawn);
    json.array("lines", |json| {
        for row in super::text::unreachable(found) {
            json.object("", |json| table.members(json, row));
        }
    });
}
