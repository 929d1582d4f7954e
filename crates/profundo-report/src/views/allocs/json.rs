//! Allocations as JSON.

use profundo_analysis::{Allocations, Figure, Holding, Place, Selection, Sum};
use profundo_model::{Domain, Profile, Sampling};

use super::Allocs;
use crate::json::Json;
use crate::views::place;

impl Allocs {
    pub(super) fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        match self.found(profile, selection) {
            Some(found) => json.object("allocations", |json| memory_members(json, profile, &found)),
            None => json.null("allocations"),
        }
    }
}

/// All of it.
pub(in crate::views) fn memory_members(
    json: &mut Json<'_>,
    profile: &Profile,
    found: &Allocations,
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
    json.row("total", |json| held_members(json, &found.total));
    json.array("peaks", |json| {
        for peak in &found.peaks {
            json.row("", |json| {
                let process = profile.processes.get(peak.process.index());
                json.number_or_null("pid", process.map(|it| u64::from(it.pid)));
                json.seconds("at_seconds", Some(peak.time.0));
                figure_members(json, "bytes", peak.held.bytes());
                figure_members(json, "blocks", peak.held.count());
            });
        }
    });
    json.array("lines", |json| {
        for row in &found.lines {
            json.object("", |json| {
                place_members(json, profile, row.of);
                held_members(json, &row.held);
                json.share("growth_bytes_per_second", Some(row.growth));
                json.row("trend", |json| {
                    json.array("live_bytes", |json| {
                        for &bytes in &row.trend {
                            json.number("", bytes);
                        }
                    });
                });
            });
        }
    });
    json.array("functions", |json| {
        for row in &found.functions {
            json.object("", |json| {
                place_members(json, profile, row.of);
                held_members(json, &row.held);
            });
        }
    });
    json.array("types", |json| {
        for row in &found.types {
            json.object("", |json| {
                json.text_or_null("type", &row.of.type_name);
                json.is("is_growing_buffer", row.of.is_buffer);
                held_members(json, &row.held);
            });
        }
    });
    json.row("types_untold", |json| {
        figure_members(json, "bytes", found.untold.bytes());
    });
    json.array("threads", |json| {
        for row in &found.threads {
            json.row("", |json| {
                let thread = profile.threads.get(row.of);
                json.number("thread", thread.number);
                json.text_or_null("name", profile.strings.get(thread.name));
                held_members(json, &row.held);
            });
        }
    });
    json.array("processes", |json| {
        for row in &found.processes {
            json.row("", |json| {
                let process = profile.processes.get(row.of.index());
                json.number_or_null("pid", process.map(|it| u64::from(it.pid)));
                held_members(json, &row.held);
            });
        }
    });
    json.row("copied", |json| copied_members(json, found, &found.copied));
    json.array("copies", |json| {
        for row in &found.copies {
            json.object("", |json| {
                place_members(json, profile, row.of);
                copied_members(json, found, &row.copied);
            });
        }
    });
    json.object("unreachable", |json| {
        unreachable_members(json, profile, found)
    });
    json.array("leaks", |json| {
        for leak in &found.leaks {
            json.object("", |json| {
                place_members(json, profile, leak.of);
                let process = profile.processes.get(leak.process.index());
                json.number_or_null("pid", process.map(|it| u64::from(it.pid)));
                json.share("probability", Some(leak.probability));
                figure_members(json, "bytes", leak.bytes);
                figure_members(json, "blocks", leak.count);
                json.share("bytes_per_second", Some(leak.rate));
                json.seconds(
                    "usual_lifetime_seconds",
                    leak.usual_lifetime.map(|lifetime| lifetime.0),
                );
            });
        }
    });
}

/// What nobody pointed to when its process ended.
fn unreachable_members(json: &mut Json<'_>, profile: &Profile, found: &Allocations) {
    json.number("searched_processes", found.searched as u64);
    // Where all blocks are known, also what only lost ones point to.
    json.is("with_chains", found.sampling == Sampling::All);
    let figures = |json: &mut Json<'_>, held: &Holding| {
        figure_members(json, "bytes", held.unreachable.bytes());
        figure_members(json, "blocks", held.unreachable.count());
    };
    figures(json, &found.total);
    json.array("lines", |json| {
        for row in super::text::unreachable(found) {
            json.object("", |json| {
                place_members(json, profile, row.of);
                figures(json, &row.held);
            });
        }
    });
}

fn copied_members(json: &mut Json<'_>, found: &Allocations, copied: &Sum) {
    figure_members(json, "bytes", copied.bytes());
    figure_members(json, "copies", copied.count());
    let rate = copied.bytes().value as f64 / found.seconds.max(1e-9);
    json.share("bytes_per_second", Some(rate));
}

fn place_members(json: &mut Json<'_>, profile: &Profile, of: Option<Place>) {
    match of {
        Some(at) => json.row("at", |json| place(json, profile, at)),
        None => json.null("at"),
    }
}

fn held_members(json: &mut Json<'_>, held: &Holding) {
    let parts = [
        ("allocated", held.allocated),
        ("live", held.live),
        ("peak", held.at_peak),
        ("temporary", held.temporary),
    ];
    for (name, sum) in parts {
        figure_members(json, &format!("{name}_bytes"), sum.bytes());
        figure_members(json, &format!("{name}_blocks"), sum.count());
    }
    json.number("samples", held.allocated.seen());
    json.seconds("lifetime_seconds", held.lifetime());
    json.share("python_share", Some(held.share_of(Domain::Python)));
    json.share("native_share", Some(held.share_of(Domain::Native)));
    json.share("mapped_share", Some(held.share_of(Domain::Mapped)));
}

/// A number, and its range where it is a guess.
fn figure_members(json: &mut Json<'_>, name: &str, figure: Figure) {
    json.number(name, figure.value);
    if !figure.is_exact() {
        json.number(&format!("{name}_low"), figure.low);
        json.number(&format!("{name}_high"), figure.high);
    }
}
