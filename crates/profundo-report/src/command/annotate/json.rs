//! Annotated functions as JSON.

use profundo_analysis::{Amount, Annotation, Estimate, InstructionShare, Place, Selection};
use profundo_model::{FileId, Profile};
use rustc_hash::FxHashMap;

use super::{Annotate, ListedInstruction, Listing};
use crate::json::{Json, amounts_members, place};
use crate::naming::source::Source;

/// Writes the report.
pub(super) fn members(
    view: &Annotate,
    profile: &Profile,
    selection: &Selection,
    json: &mut Json<'_>,
) {
    let rows = view.annotated(profile, selection);
    let all = selection.weight(profile);
    json.text("asked", view.name.text());
    json.array("nearest", |json| {
        if rows.is_empty() {
            let names = view.nearest(profile, selection);
            names.into_iter().for_each(|name| json.text("", name));
        }
    });
    let mut sources = Sources {
        of: FxHashMap::default(),
        from_disk: view.from_disk,
    };
    json.array("functions", |json| {
        for (listing, annotation) in &rows {
            json.object("", |json| {
                function(json, profile, listing, annotation, all, &mut sources);
            });
        }
    });
}

/// The source files that were opened.
struct Sources {
    of: FxHashMap<FileId, Source>,
    from_disk: bool,
}

fn function(
    json: &mut Json<'_>,
    profile: &Profile,
    listing: &Listing,
    annotation: &Annotation,
    all: u64,
    sources: &mut Sources,
) {
    place(json, profile, listing.place());
    let signature = profile.frames.get(listing.frame).signature;
    json.text_or_null("signature", profile.strings.get(signature));
    json.text_or_null("module", &listing.file);
    json.text_or_null("build_id", &hex(&listing.build_id, ""));
    json.text("start", &address(listing.code.starts[0]));
    json.text("end", &address(listing.code.end));
    amounts_members(
        json,
        (&annotation.own, &annotation.own_amount),
        (&annotation.total, &annotation.total_amount),
        all,
    );
    json.number("addresses_misplaced", annotation.misplaced as u64);
    json.array("instructions", |json| {
        let mut shares = annotation.instructions.iter().peekable();
        for (index, row) in listing.instructions.iter().enumerate() {
            let share = shares.next_if(|share| share.index == index);
            let at = listing.code.starts[index];
            json.row("", |json| {
                instruction(json, profile, row, at, share, sources)
            });
        }
    });
}

fn instruction(
    json: &mut Json<'_>,
    profile: &Profile,
    row: &ListedInstruction,
    at: u64,
    share: Option<&InstructionShare>,
    sources: &mut Sources,
) {
    json.text("address", &address(at));
    json.text("bytes", &hex(&row.bytes, " "));
    json.text("text", &row.text);
    match row.jump {
        Some(jump) => json.text("jump", &address(jump)),
        None => json.null("jump"),
    }
    let frame = profile.locations.get(row.location).frames.first().copied();
    place(json, profile, frame.map_or(Place::Unknown, Place::Frame));
    let source = frame.and_then(|frame| {
        let row = profile.frames.get(frame);
        let from_disk = sources.from_disk;
        let source = sources.of.entry(row.file);
        let source = source.or_insert_with(|| Source::of(profile, row.file, from_disk));
        source.line(profile, row.file, row.line)
    });
    match source {
        Some(source) => json.text("source", source),
        None => json.null("source"),
    }
    let nothing = (Estimate::exact(0.0), Amount::default());
    let (own, total) = match share {
        Some(share) => (
            (share.own, share.own_amount),
            (share.total, share.total_amount),
        ),
        None => (nothing, nothing),
    };
    for (name, (estimate, amount)) in [("self_", own), ("total_", total)] {
        json.number(&format!("{name}samples"), amount.samples);
        json.weight(name, amount.weight);
        // Of an instruction without samples it is not known how little it takes.
        let interval = estimate.known().filter(|_| amount.count > 0);
        json.share(&format!("{name}share_of_function"), Some(estimate.share));
        let low = interval.map(|range| range.low);
        json.share(&format!("{name}share_of_function_low"), low);
        let high = interval.map(|range| range.high);
        json.share(&format!("{name}share_of_function_high"), high);
    }
}

fn address(address: u64) -> String {
    format!("{address:#x}")
}

fn hex(bytes: &[u8], between: &str) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(between)
}
