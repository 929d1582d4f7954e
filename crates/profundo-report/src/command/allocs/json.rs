//! Allocations as JSON.

use profundo_analysis::{Allocations, Selection};
use profundo_model::{Profile, Sampling};

use super::Allocs;
use super::table::{self, Known, Row};
use crate::json::{Json, figure_members};
use crate::table::undrawn;

/// Writes the report.
pub(super) fn members(
    view: &Allocs,
    profile: &Profile,
    selection: &Selection,
    json: &mut Json<'_>,
) {
    match view.found(profile, selection) {
        Some(found) => json.object("allocations", |json| {
            memory_members(json, profile, &found, view.rows)
        }),
        None => json.null("allocations"),
    }
}

/// All members on memory, each table with at most so many rows.
pub(in crate::command) fn memory_members(
    json: &mut Json<'_>,
    profile: &Profile,
    found: &Allocations,
    rows: usize,
) {
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
    let lines = table::lines(known, profile, 0, undrawn);
    json.array("lines", |json| {
        for row in found.lines.iter().take(rows) {
            json.object("", |json| lines.members(json, &Row::new(row, row.held)));
        }
    });
    let functions = table::functions(known, profile, undrawn);
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
    let copies = table::copies(found, profile, undrawn);
    json.array("copies", |json| {
        for row in found.copies.iter().take(rows) {
            json.object("", |json| copies.members(json, row));
        }
    });
    json.object("unreachable", |json| {
        unreachable_members(json, profile, found)
    });
    let leaks = table::leaks(profile, undrawn);
    json.array("leaks", |json| {
        for leak in &found.leaks {
            json.object("", |json| leaks.members(json, leak));
        }
    });
}

/// Writes the blocks that no pointer led to when their process ended.
fn unreachable_members(json: &mut Json<'_>, profile: &Profile, found: &Allocations) {
    json.number("searched_processes", found.searched as u64);
    // Where all blocks are known, also what only lost ones point to.
    json.is("with_chains", found.sampling == Sampling::All);
    let total = &found.total.unreachable;
    figure_members(json, "bytes", total.bytes());
    figure_members(json, "blocks", total.count());
    let table = table::unreachable(found, profile, undrawn);
    json.array("lines", |json| {
        for row in super::text::unreachable(found) {
            json.object("", |json| table.members(json, row));
        }
    });
}
