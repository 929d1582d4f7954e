//! The members of every report's JSON: its name and schema, the recording, and the selection.

use profundo_analysis::{
    Amount, Estimate, Figure, Intervals, KindShares, Missing, Place, Selection, Whole, cells,
    cpu_used, energy, garbage, joules_per_nanosecond, missing_beside, quality,
};
use profundo_model::{
    Energy, Engine, FileId, Language, Measure, Origin, Part, Profile, SampleKind, Tracing,
};

use crate::Choices;
use crate::command::cpus::cpus;
use crate::json::Json;
use crate::naming::label::Label;
use crate::naming::weighs::Weighs;
use crate::quality::{graves_beside, words};

/// The version of the schema: it grows when a member goes or means something else.
pub(crate) const SCHEMA: u64 = 2;

/// The first member of every document: the name of the report.
pub(crate) fn header_member(json: &mut Json<'_>, report: &str) {
    json.row("profundo", |json| {
        json.number("schema", SCHEMA);
        json.text("report", report);
    });
}

/// The members that every document on a profile starts with.
pub(crate) fn head_members(
    json: &mut Json<'_>,
    report: &str,
    profile: &Profile,
    choices: &Choices,
    selection: &Selection,
) {
    json.weighs = Weighs::of(profile);
    header_member(json, report);
    json.object("recording", |json| {
        recording_members(json, profile, selection)
    });
    json.object("selection", |json| {
        match choices.words() {
            Some(words) => json.text("filter", &words),
            None => json.null("filter"),
        }
        json.number("samples", selection.taken(profile));
        let weight = selection.weight(profile);
        json.weight("", weight);
        kinds_members(json, "", selection.split(profile).shares(weight));
        if let Some(cpus) = cpus(profile, choices, selection) {
            json.share("cpus", Some(cpus));
        }
        let garbage = garbage(profile, selection);
        if garbage > 0 {
            json.share("garbage_share", Some(garbage as f64 / weight.max(1) as f64));
        }
        let quality = quality(profile, selection);
        json.share("share_margin", quality.margin);
        match quality.intervals {
            Intervals::Samples => {}
            Intervals::SamplesOfSeveral => json.text("intervals_from", "samples"),
            Intervals::Runs(_) => json.text("intervals_from", "runs"),
        }
    });
}

fn recording_members(json: &mut Json<'_>, profile: &Profile, selection: &Selection) {
    let meta = &profile.meta;
    let quality = quality(profile, selection);
    let command = profile.processes.first();
    // Of all processes of a machine, or of many machines, none is the program.
    let command = command.filter(|_| !meta.is_of_machine && meta.question.is_none());
    let command = command.map_or("", |process| profile.strings.get(process.command));
    json.text_or_null("command", command);
    if let Some(question) = &meta.question {
        json.object("query", |json| {
            json.text("text", &question.text);
            json.text("title", &question.title);
            json.text("rest", &question.rest);
            json.array("counted", |json| {
                for part in &question.from {
                    json.text("", part);
                }
            });
        });
    }
    json.text(
        "measures",
        match meta.kind {
            SampleKind::Cpu => "cpu",
            SampleKind::Wall => "wall",
            SampleKind::Traced => "traced",
            SampleKind::Events => "events",
            SampleKind::Heap(measure) => measured(measure),
        },
    );
    if meta.kind == SampleKind::Events {
        let event = &meta.event[..];
        json.text("event", if event.is_empty() { "samples" } else { event });
    }
    // Where every call or line was counted, nothing has sampled.
    let tracing = profile.traced.tracing;
    let is_counted = meta.kind == SampleKind::Traced
        || matches!(
            tracing,
            Tracing::Lines | Tracing::LinesOnce | Tracing::Exceptions
        )
        || tracing == Tracing::Calls && profile.samples.is_empty();
    let engine = match is_counted {
        true => "none",
        false => Engine::name(meta.engine),
    };
    json.text("engine", engine);
    let period = quality.period.filter(|_| json.weighs == Weighs::Time);
    json.seconds("period_seconds", period.map(|time| time.0));
    json.seconds(
        "started_unix_seconds",
        (meta.started_at_unix > 0).then_some(meta.started_at_unix),
    );
    json.seconds(
        "duration_seconds",
        (meta.duration.0 > 0).then_some(meta.duration.0),
    );
    let used = cpu_used(profile);
    json.seconds("cpu_seconds", used.map(|(all, _)| all.0));
    json.seconds(
        "cpu_kernel_seconds",
        used.and_then(|(_, in_kernel)| in_kernel).map(|time| time.0),
    );
    json.is("cpu_kernel_is_rough", quality.kernel_is_rough());
    // On the wall clock, and where allocations or calls are weighed, samples do not add up to CPU
    // time.
    let is_time = json.weighs == Weighs::Time && quality.used.is_some();
    let sampled = |time: u64| is_time.then_some(time);
    json.seconds("cpu_sampled_seconds", sampled(quality.sampled));
    json.seconds(
        "cpu_kernel_sampled_seconds",
        sampled(quality.sampled_in_kernel),
    );
    json.share(
        "cpu_sampled_share",
        quality.sampled_share().filter(|_| is_time),
    );
    missing_members(json, profile, selection);
    json.array("missing", |json| {
        for whole in Whole::ALL {
            if let Some(missing) = missing_beside(profile, whole, selection) {
                json.row("", |json| missing_of_members(json, &missing));
            }
        }
    });
    if profile.meta.is_of_machine {
        json.is("of_machine", true);
    }
    json.number("processes", profile.process_count() as u64);
    json.number("threads", profile.thread_count() as u64);
    json.number("samples", quality.samples);
    json.number("samples_counted", quality.counted);
    json.share("samples_expected", quality.expected);
    json.number("samples_lost", quality.lost);
    json.number("stacks_truncated", quality.truncated);
    json.number("stacks_broken", quality.broken);
    json.share("own_cost_share", quality.own_cost);
    let is_least = quality.not_in_own_cost.is_some() && quality.own_cost.is_some();
    json.is("own_cost_is_least", is_least);
    json.seconds("recorder_cpu_seconds", quality.recorder_cpu);
    json.seconds("by_ticks_seconds", quality.by_ticks);
    if !profile.origins.is_empty() {
        json.array("merged", |json| {
            for (origin, name) in profile.origins.iter().zip(profile.origin_names()) {
                json.row("", |json| origin_members(json, profile, origin, &name));
            }
        });
    }
    let cells: Vec<_> = cells(profile).collect();
    if !cells.is_empty() {
        json.array("cells", |json| {
            for (path, name) in cells {
                json.row("", |json| {
                    json.text("file", path);
                    json.text("name", name);
                });
            }
        });
    }
    match &meta.energy {
        Some(recorded) => json.object("energy", |json| energy_members(json, profile, recorded)),
        None => json.null("energy"),
    }
    json.is("buffer_was_full", meta.buffer_was_full);
    json.array("warnings", |json| {
        for missing in graves_beside(profile, &Whole::ALL, selection) {
            json.text("", &words(&missing));
        }
    });
    json.array("notes", |json| {
        for note in &meta.notes {
            json.text("", note);
        }
    });
}

/// One of the recordings that were merged, or the labels of a recording.
fn origin_members(json: &mut Json<'_>, profile: &Profile, origin: &Origin, name: &str) {
    json.text("name", name);
    json.text_or_null("file", profile.strings.get(origin.name));
    json.array("labels", |json| {
        for &(key, value) in &origin.labels {
            json.row("", |json| {
                json.text("key", profile.strings.get(key));
                json.text("value", profile.strings.get(value));
            });
        }
    });
    json.seconds("begins_seconds", Some(origin.begins.0));
    let known = |number: u64| (number > 0).then_some(number);
    json.seconds("duration_seconds", known(origin.duration.0));
    json.seconds("started_unix_seconds", known(origin.started_at_unix));
    json.seconds("period_seconds", known(origin.period.0));
}

/// The CPU time of which nothing is known, and why.
fn missing_members(json: &mut Json<'_>, profile: &Profile, selection: &Selection) {
    let missing = missing_beside(profile, Whole::Cpu, selection);
    let Some(missing) = missing.filter(|_| json.weighs == Weighs::Time) else {
        return json.null("cpu_missing");
    };
    json.object("cpu_missing", |json| {
        let sum = missing.sum();
        json.seconds("seconds", Some(sum));
        json.share("share", Some(missing.share(sum)));
        json.array("causes", |json| {
            for &(cause, part) in &missing.causes {
                json.row("", |json| {
                    json.text("cause", cause.words());
                    json.seconds("seconds", Some(part));
                    json.share("share", Some(missing.share(part)));
                });
            }
        });
    });
}

/// Writes how much is missing of one whole, and why.
fn missing_of_members(json: &mut Json<'_>, missing: &Missing) {
    let of = match missing.of {
        Whole::Cpu => "cpu_seconds",
        Whole::Threads => "thread_seconds",
        Whole::Allocated => "allocated_bytes",
        Whole::Traffic => "read_and_written_bytes",
    };
    json.text("of", of);
    let amount = |json: &mut Json<'_>, part: u64| {
        match missing.of.is_time() {
            true => json.seconds("amount", Some(part)),
            false => json.number("amount", part),
        }
        json.share("share", Some(missing.share(part)));
    };
    amount(json, missing.sum());
    json.array("causes", |json| {
        for &(cause, part) in &missing.causes {
            json.row("", |json| {
                json.text("cause", cause.words());
                amount(json, part);
            });
        }
    });
}

/// The unit of a heap's samples.
fn measured(measure: Measure) -> &'static str {
    match (measure.part, measure.counts) {
        (Part::Allocated, false) => "allocated_bytes",
        (Part::Allocated, true) => "allocated_blocks",
        (Part::Live, false) => "live_bytes",
        (Part::Live, true) => "live_blocks",
        (Part::Peak, false) => "peak_bytes",
        (Part::Peak, true) => "peak_blocks",
        (Part::Copied, false) => "copied_bytes",
        (Part::Copied, true) => "copies",
        (Part::Temporary, false) => "temporary_bytes",
        (Part::Temporary, true) => "temporary_blocks",
    }
}

fn energy_members(json: &mut Json<'_>, profile: &Profile, recorded: &Energy) {
    let used = energy(profile);
    json.share("joules", used.map(|energy| energy.joules));
    json.seconds("seconds", Some(recorded.duration.0));
    json.share("program_share", used.and_then(|energy| energy.share));
    json.share("program_joules", used.and_then(|energy| energy.program()));
    json.share(
        "joules_per_cpu_second",
        joules_per_nanosecond(profile).map(|each| each * 1e9),
    );
    json.seconds("machine_cpu_seconds", Some(recorded.machine_cpu.0));
    json.seconds("program_cpu_seconds", Some(recorded.program_cpu.0));
    json.array("zones", |json| {
        for zone in &recorded.zones {
            json.row("", |json| {
                json.text("name", &zone.name);
                json.share("joules", Some(zone.microjoules as f64 / 1e6));
                json.is("counted", zone.is_counted);
            });
        }
    });
}

/// The members of a place.
pub(crate) fn place(json: &mut Json<'_>, profile: &Profile, place: Place) {
    place_at(json, profile, place, None);
}

/// The same of a place that counts for a line, if there is one, in place of its own.
pub(crate) fn place_at(json: &mut Json<'_>, profile: &Profile, place: Place, of: Option<u32>) {
    let (function, file, line, language) = match Label::of(profile, place) {
        Label::Frame(frame) => (
            profile.strings.get(frame.function),
            frame.file,
            frame.line,
            language(frame.language),
        ),
        Label::Reason(reason) => (reason, FileId(0), 0, "none"),
        Label::Unknown => ("", FileId(0), 0, "native"),
    };
    json.text_or_null("function", function);
    json.text_or_null("file", profile.strings.get(profile.files.get(file).path));
    let line = of.unwrap_or(line);
    json.number_or_null("line", (line > 0).then_some(u64::from(line)));
    json.text("language", language);
}

fn language(language: Language) -> &'static str {
    match language {
        Language::Rust => "rust",
        Language::Python => "python",
        Language::JavaScript => "javascript",
        Language::Julia => "julia",
        Language::Generated => "generated",
        Language::Runtime => "runtime",
        Language::Synthetic => "none",
        _ => "native",
    }
}

/// The members of a share, each with `name` before it. `all` is the weight of what was selected.
pub(crate) fn share_members(
    json: &mut Json<'_>,
    name: &str,
    estimate: &Estimate,
    amount: &Amount,
    all: u64,
) {
    json.number(&format!("{name}samples"), amount.samples);
    json.weight(name, amount.weight);
    json.share(&format!("{name}share"), Some(estimate.share));
    let interval = estimate.known();
    json.share(&format!("{name}share_low"), interval.map(|range| range.low));
    json.share(
        &format!("{name}share_high"),
        interval.map(|range| range.high),
    );
    kinds_members(json, name, amount.split.shares(all));
}

/// The members of something's own time and of its total time.
pub(crate) fn amounts_members(
    json: &mut Json<'_>,
    own: (&Estimate, &Amount),
    total: (&Estimate, &Amount),
    all: u64,
) {
    share_members(json, "self_", own.0, own.1, all);
    share_members(json, "total_", total.0, total.1, all);
}

/// The members of the kinds of time.
pub(crate) fn kinds_members(json: &mut Json<'_>, name: &str, shares: KindShares) {
    json.share(&format!("{name}python_share"), Some(shares.python));
    json.share(&format!("{name}native_share"), Some(shares.native));
    json.share(&format!("{name}system_share"), Some(shares.system));
    if shares.waiting > 0.0 {
        json.share(&format!("{name}waiting_share"), Some(shares.waiting));
    }
    if shares.unreadable > 0.0 {
        json.share(&format!("{name}unreadable_share"), Some(shares.unreadable));
    }
}

/// A number, and its range where it is a guess.
pub(crate) fn figure_members(json: &mut Json<'_>, name: &str, figure: Figure) {
    json.number(name, figure.value);
    if !figure.is_exact() {
        json.number(&format!("{name}_low"), figure.low);
        json.number(&format!("{name}_high"), figure.high);
    }
}
