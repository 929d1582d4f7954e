//! pprof's `profile.proto`, packed or not: of Go's runtime, of Google's tools, of the agents and
//! libraries of many languages, and of our own export.
//!
//! A message has no mark at its start, so a file is known by the shape of all its first fields. Its
//! tables may stand before or behind the samples that need them, so they are read first, and the
//! samples in a second pass. A file has several values for each sample: [`values`] says which of
//! them are time, events and memory.

mod hidden;
mod labels;
mod memory;
mod places;
mod samples;
mod shape;
mod tables;
mod values;

use profundo_model::{Engine, SampleKind, Sampling, StringId};

use crate::quantities::value::Unit;
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source, Warning};
use tables::Tables;

pub(crate) const READER: Reader = Reader(&Table {
    name: "pprof",
    writers: "Go, Google's pprof, pprof-rs, agents and libraries of many languages",
    is_start: shape::is_start,
    fill,
});

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let (tables, damage) = Tables::of(source.bytes);
    if let Some(damage) = damage {
        builder.warn(Warning::Damaged {
            offset: damage as u64,
            what: "a field of the message".to_owned(),
        });
        // The tables stand behind the samples: nothing of them is known.
        if tables.locations.is_empty() {
            return Ok(());
        }
    }
    let values = values::Values::of(&tables, source.options.value.as_deref())?;
    about(&tables, &values, builder);
    let places = places::Places::new(&tables, builder);
    samples::read(source.bytes, &tables, &values, &places, builder);
    notes(&tables, &values, builder);
    Ok(())
}

/// What the file says of the recording.
fn about(tables: &Tables<'_>, values: &values::Values, builder: &mut Builder) {
    let meta = &mut builder.profile.meta;
    meta.started_at_unix = u64::try_from(tables.time).unwrap_or(0);
    meta.duration.0 = u64::try_from(tables.duration).unwrap_or(0);
    let unit = Unit::of_name(&tables.text(tables.period_type.unit));
    let period = tables.period.max(0);
    if let Some(main) = &values.main {
        builder.weighs(main.kind, &main.event);
        if let (Unit::Time(_), true) = (unit, main.is_time()) {
            builder.profile.meta.period.0 = unit.weight(period as f64);
        }
    }
    if values.memory.is_any() {
        builder.profile.heap.sampling = match unit {
            Unit::Bytes if period > 1 => Sampling::Bytes(period.unsigned_abs()),
            Unit::Bytes if period == 1 => Sampling::All,
            _ => Sampling::None,
        };
    }
}

fn notes(tables: &Tables<'_>, values: &values::Values, builder: &mut Builder) {
    /// A file may have a comment for each of the files that it was merged from.
    const MOST: usize = 20;
    let mut is_ours = false;
    for &comment in tables.comments.iter().take(MOST) {
        let comment = tables.text(comment);
        match engine(&comment) {
            Some(engine) => {
                builder.profile.meta.engine = engine;
                is_ours = true;
            }
            None if comment.trim().is_empty() => {}
            None => builder.note(comment.trim()),
        }
    }
    // The first file that was mapped is the program.
    let program = tables.mappings.first().map(|first| tables.text(first.path));
    if let ([process], Some(program), false) =
        (&mut builder.profile.processes[..], program, is_ours)
        && process.command == StringId::default()
        && program.starts_with('/')
    {
        process.command = builder.profile.strings.intern(&program);
    }
    if let Some(others) = values.others() {
        builder.note(format!("the file has other values, too: {others}"));
    }
    let is_sampled = values.main.as_ref();
    let is_sampled = is_sampled.is_some_and(|main| main.kind != SampleKind::Traced);
    if is_sampled && builder.profile.samples.iter().all(|row| row.time.0 == 0) {
        builder.note("a pprof has sums of samples, without their times");
    }
    if values.memory.is_any() && !values.memory.has_allocated() {
        builder.note("the file has memory in use only, and none that was freed");
    }
}

/// Our own comment: `profundo 0.3.0, engine cpu-timer`.
fn engine(comment: &str) -> Option<Engine> {
    const ENGINES: [Engine; 6] = [
        Engine::PerfSignal,
        Engine::CpuTimer,
        Engine::PerfRing,
        Engine::ProcPoll,
        Engine::Wall,
        Engine::Unknown,
    ];
    let (_, name) = comment.strip_prefix("profundo ")?.split_once(", engine ")?;
    ENGINES.into_iter().find(|engine| engine.name() == name)
}
