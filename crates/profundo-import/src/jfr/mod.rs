//! Java Flight Recorder, as the JDK and async-profiler write it.
//!
//! A file is a series of chunks, each with a description of its own types, tables of constants, and
//! events ([`chunk`]). Each kind of event with a stack is a value of the file: samples of execution
//! by default, others by their names. Allocations go into the heap.

mod chunk;
mod constants;
mod events;
mod metadata;
mod settings;
mod stacks;
mod wire;

use rustc_hash::FxHashMap;

use crate::quantities::value::{self, Unit, Value};
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source, Warning};
use chunk::Chunk;
use events::{Form, Reading};
use metadata::Role;

pub(crate) const READER: Reader = Reader(&Table {
    name: "jfr",
    writers: "the JDK's Flight Recorder, async-profiler, Datadog's Java profiler",
    is_start: |start| start.starts_with(chunk::MAGIC),
    fill,
});

/// Events of which the first that a file has is the usual value.
const USUAL: &[&str] = &[
    "jdk.CPUTimeSample",
    "jdk.ExecutionSample",
    "datadog.ExecutionSample",
    "profiler.WallClockSample",
    "datadog.MethodSample",
    "jdk.NativeMethodSample",
    "jdk.MethodTrace",
    "jdk.JavaMonitorEnter",
    "jdk.ThreadPark",
];

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let mut chunks = Vec::new();
    let mut at = 0;
    while let Some(rest) = source.bytes.get(at..).filter(|rest| !rest.is_empty()) {
        match Chunk::open(rest) {
            Ok(chunk) => {
                let length = chunk.bytes.len();
                let damage = (chunk.damage).map(|(inner, what)| (at + inner, what));
                chunks.push((at, chunk));
                warn(builder, damage);
                at += length;
            }
            Err(what) => {
                warn(builder, Some((at, what)));
                break;
            }
        }
    }
    let mut reading = Reading::new(&chunks, builder);
    let mut values = values(&chunks);
    if reading.is_mixed() && values.iter().any(|value| value.name == events::EXECUTION) {
        values.push(Value {
            name: events::WALL.to_owned(),
            unit: Unit::Time(1.0),
        });
    }
    let usual = (USUAL.iter()).find_map(|name| values.iter().position(|one| one.name == *name));
    if !values.is_empty() || source.options.value.is_some() {
        let index = value::choose(&values, source.options.value.as_deref(), usual.unwrap_or(0))?;
        let chosen = values.get(index).map_or("", |value| &value.name[..]);
        reading.choose(builder, &chunks, chosen);
    }
    for (at, chunk) in &chunks {
        let damage = reading.chunk(builder, chunk);
        warn(builder, damage.map(|(inner, what)| (at + inner, what)));
    }
    reading.finish(builder, chunks.last().map_or(0, |(_, chunk)| chunk.end()));
    Ok(())
}

fn warn(builder: &mut Builder, damage: Option<(usize, &'static str)>) {
    if let Some((offset, what)) = damage {
        builder.warn(Warning::Damaged {
            offset: offset as u64,
            what: what.to_owned(),
        });
    }
}

/// The kinds of event with stacks, but for allocations: the most frequent first.
fn values(chunks: &[(usize, Chunk<'_>)]) -> Vec<Value> {
    let mut counts: FxHashMap<&str, (u64, Unit)> = FxHashMap::default();
    for (_, chunk) in chunks {
        for found in chunk.types.iter() {
            let has = |role| found.fields.iter().any(|field| field.role == role);
            let count = chunk.counts.get(&found.id).copied().unwrap_or(0);
            if count == 0 || !has(Role::Stack) || Form::of_name(&found.name) == Form::Memory {
                continue;
            }
            let unit = match has(Role::Duration) {
                true => Unit::Time(1.0),
                false => Unit::Count,
            };
            counts.entry(&found.name).or_insert((0, unit)).0 += count;
        }
    }
    let mut values: Vec<_> = counts.into_iter().collect();
    values.sort_by_key(|&(name, (count, _))| (std::cmp::Reverse(count), name));
    let values = values.into_iter().map(|(name, (_, unit))| Value {
        name: name.to_owned(),
        unit,
    });
    values.collect()
}
