//! `.nettrace` files of .NET, versions 4 to 6, as `dotnet-trace` writes them.
//!
//! The runtime samples its managed threads: a sample stands for the time until the next one of its
//! thread. Stacks are addresses, whose names come last in the file, so it is read twice: for the
//! names, and for the events with stacks.
//!
//! Version 6 was not tried on a file of the tool itself.

mod blocks;
mod events;
mod kinds;
mod names;
mod samples;

use profundo_model::SampleKind;

use crate::encoding::cursor::Cursor;
use crate::quantities::value::{self, Unit, Value};
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source, Warning};
use blocks::{Block, Blocks};
use events::events;
use kinds::{Kind, Kinds};
use names::Names;
use samples::Samples;

pub(crate) const READER: Reader = Reader(&Table {
    name: NAME,
    writers: "dotnet-trace, dotnet-monitor, .NET's EventPipe",
    is_start: |start| start.starts_with(blocks::MAGIC),
    fill,
});

const NAME: &str = "nettrace";

/// Facts about a trace.
#[derive(Debug, Clone, Copy, Default)]
struct Trace {
    /// Nanoseconds since 1970 at its start.
    start: u64,
    start_ticks: u64,
    per_second: u64,
    pointer: usize,
    pid: u32,
    /// Nanoseconds between two samples, as far as the file says so.
    period: u64,
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let malformed = |what| Error::Malformed { format: NAME, what };
    let blocks = Blocks::open(source.bytes).map_err(malformed)?;
    let (trace, names, values) = first_pass(builder, blocks.clone());
    let usual = 0;
    let chosen = match values.is_empty() && source.options.value.is_none() {
        true => None,
        false => {
            let index = value::choose(&values, source.options.value.as_deref(), usual)?;
            values.get(index).and_then(|value| kind_of(&value.name))
        }
    };
    match chosen {
        Some(Kind::ThreadSample | Kind::Switch) => builder.weighs(SampleKind::Wall, ""),
        _ => builder.weighs(SampleKind::Events, ""),
    }
    let mut samples = Samples::new(trace, names, chosen, blocks.is_plain);
    second_pass(builder, blocks, &mut samples);
    samples.finish(builder);
    Ok(())
}

/// The names of values, and the events behind them. The usual one is the first that a file has.
const VALUES: &[(&str, Kind, Unit)] = &[
    ("samples", Kind::ThreadSample, Unit::Time(1.0)),
    ("cpu", Kind::Cpu, Unit::Count),
    ("cswitch", Kind::Switch, Unit::Time(1.0)),
];

fn kind_of(name: &str) -> Option<Kind> {
    let row = VALUES.iter().find(|row| row.0 == name);
    row.map(|row| row.1)
}

/// Reads the facts, the names, and the kinds of events with stacks.
fn first_pass(builder: &mut Builder, mut blocks: Blocks<'_>) -> (Trace, Names, Vec<Value>) {
    let mut trace = Trace::default();
    let mut names = Names::default();
    let mut kinds = Kinds::default();
    let mut found = Vec::new();
    let is_plain = blocks.is_plain;
    while let Some(block) = blocks.next() {
        match block {
            Block::Trace(bytes) => trace = Trace::read(bytes, is_plain).unwrap_or_default(),
            Block::Metadata(bytes) => drop(kinds::add(&mut kinds, bytes, is_plain)),
            Block::Events(bytes) => {
                events(bytes, is_plain, |event| {
                    let kind = kinds.get(&event.kind).copied();
                    let payload = event.payload;
                    match kind {
                        Some(Kind::Method) => drop(names.method(trace.pid, payload)),
                        Some(Kind::Module) => drop(names.module(trace.pid, payload)),
                        Some(Kind::Mapping) => drop(names.mapping(payload)),
                        Some(Kind::Symbol) => drop(names.symbol(payload)),
                        Some(Kind::Process) => {
                            let command = Cursor::new(payload).utf16_until_zero();
                            builder.process(trace.pid, &command.unwrap_or_default());
                        }
                        Some(kind) if !found.contains(&kind) => found.push(kind),
                        _ => {}
                    }
                });
            }
            _ => {}
        }
    }
    names.sort();
    let values = VALUES.iter().filter(|row| found.contains(&row.1));
    let values = values.map(|&(name, _, unit)| Value {
        name: name.to_owned(),
        unit,
    });
    (trace, names, values.collect())
}

fn second_pass<'a>(builder: &mut Builder, mut blocks: Blocks<'a>, samples: &mut Samples<'a>) {
    let mut kinds = Kinds::default();
    let mut damage = None;
    let is_plain = blocks.is_plain;
    loop {
        let at = blocks.at();
        let Some(block) = blocks.next() else {
            break;
        };
        let read = match block {
            Block::Metadata(bytes) => kinds::add(&mut kinds, bytes, is_plain),
            Block::Stacks(bytes) => samples.stacks(bytes),
            Block::Threads(bytes) => samples.threads(builder, bytes),
            Block::Events(bytes) => events(bytes, is_plain, |event| {
                if let Some(&kind) = kinds.get(&event.kind) {
                    samples.event(builder, kind, &event);
                }
            }),
            Block::Point => {
                samples.forget_stacks();
                Some(())
            }
            Block::Trace(_) | Block::Other => Some(()),
        };
        if read.is_none() {
            damage = damage.or(Some((at, "a block is cut")));
        }
    }
    if !blocks.is_ended() {
        damage = damage.or(Some((blocks.at(), "the end is missing")));
    }
    if let Some((offset, what)) = damage {
        builder.warn(Warning::Damaged {
            offset: offset as u64,
            what: what.to_owned(),
        });
    }
}

impl Trace {
    fn read(bytes: &[u8], is_plain: bool) -> Option<Self> {
        let mut cursor = Cursor::new(bytes);
        let mut parts = [0_u16; 8];
        for part in &mut parts {
            *part = cursor.u16()?;
        }
        let mut trace = Self {
            start: since_1970(parts),
            start_ticks: cursor.u64()?,
            per_second: cursor.u64()?.max(1),
            pointer: if cursor.u32()? == 4 { 4 } else { 8 },
            ..Self::default()
        };
        if !is_plain {
            trace.pid = cursor.u32()?;
            cursor.u32()?;
            trace.period = u64::from(cursor.u32()?);
            return Some(trace);
        }
        for _ in 0..cursor.u32()? {
            let (key, text) = (kinds::text(&mut cursor)?, kinds::text(&mut cursor)?);
            match &key[..] {
                "ProcessId" => trace.pid = text.parse().unwrap_or(0),
                "ExpectedCPUSamplingRate" => trace.period = text.parse().unwrap_or(0),
                _ => {}
            }
        }
        Some(trace)
    }

    /// Nanoseconds since the start.
    fn time(&self, ticks: u64) -> u64 {
        self.length(ticks.saturating_sub(self.start_ticks))
    }

    fn length(&self, ticks: u64) -> u64 {
        let nanoseconds = u128::from(ticks) * 1_000_000_000 / u128::from(self.per_second.max(1));
        u64::try_from(nanoseconds).unwrap_or(u64::MAX)
    }
}

/// Nanoseconds since 1970 at a date: year, month, day of the week, day, hour, minute, second,
/// millisecond.
fn since_1970([year, month, _, day, hour, minute, second, millisecond]: [u16; 8]) -> u64 {
    if !(1970..2400).contains(&year) {
        return 0;
    }
    // Years begin in March, so that the leap day is last.
    let shifted = u64::from(year) - u64::from(month <= 2);
    let month = (u64::from(month) + 9) % 12;
    let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + (month * 306 + 5) / 10;
    let days = (days + u64::from(day)).saturating_sub(719_469);
    let hours = days * 24 + u64::from(hour);
    let seconds = (hours * 60 + u64::from(minute)) * 60 + u64::from(second);
    (seconds * 1000 + u64::from(millisecond)) * 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_count_from_1970() {
        assert_eq!(since_1970([1970, 1, 4, 1, 0, 0, 0, 5]), 5_000_000);
        let date = since_1970([2024, 2, 4, 29, 12, 30, 15, 0]);
        assert_eq!(date, 1_709_209_815_000_000_000);
    }
}
