//! `GAUG`: the memory of processes. Mostly little of it has changed since the last look, so each
//! number is the difference from the process's previous one.

use std::collections::HashMap;

use profundo_model::{Gauge, Nanos, ProcessId};

use super::column::{Columns, Payload, zigzag};
use super::read::Decoder;
use crate::Damage;

const PROCESS: u8 = 1;
const TIME: u8 = 2;
/// The former column of 13, which cannot express an unknown value.
const IN_USE_BEFORE: u8 = 11;
const HAS_PROPORTIONAL: u8 = 9;
const SHARED: u8 = 10;

/// A number of a row.
type Field = fn(&mut Gauge) -> &mut u64;

/// A number of a row that may be unknown.
type MayBe = fn(&mut Gauge) -> &mut Option<u64>;

/// Numbers written plus one; 0 is unknown.
const MAY_BE: [(u8, MayBe); 3] = [
    (13, |row| &mut row.in_use),
    (14, |row| &mut row.mapped),
    (15, |row| &mut row.elsewhere),
];

/// Numbers written as differences, by column.
const FIELDS: [(u8, Field); 7] = [
    (3, |row| &mut row.resident),
    (4, |row| &mut row.peak_resident),
    (5, |row| &mut row.anonymous),
    (6, |row| &mut row.swapped),
    (7, |row| &mut row.minor_faults),
    (8, |row| &mut row.major_faults),
    (12, |row| &mut row.arenas),
];

pub(super) fn encode(rows: &[Gauge], first: usize) -> Payload {
    let mut payload = Payload::new(first, rows.len());
    let process = |row: &Gauge| u64::from(row.process.0);
    payload.plain(PROCESS, rows.iter().map(process));
    payload.delta(TIME, rows.iter().map(|row| row.time.0));
    let has = |row: &Gauge| u64::from(row.proportional.is_some());
    let mut differences = |column, value: &dyn Fn(&Gauge) -> u64| {
        let mut last: HashMap<ProcessId, u64> = HashMap::new();
        let difference = |row: &Gauge| {
            let value = value(row);
            let before = last.insert(row.process, value).unwrap_or(0);
            zigzag(value.wrapping_sub(before) as i64)
        };
        payload.sparse(column, rows.iter().map(difference));
    };
    for (column, field) in FIELDS {
        differences(column, &|row| *field(&mut row.clone()));
    }
    for (column, field) in MAY_BE {
        differences(column, &|row| more(*field(&mut row.clone())));
    }
    payload.sparse(HAS_PROPORTIONAL, rows.iter().map(has));
    let shared = |row: &Gauge| {
        let proportional = row.proportional.unwrap_or(row.resident);
        zigzag(row.resident.wrapping_sub(proportional) as i64)
    };
    payload.sparse(SHARED, rows.iter().map(shared));
    payload
}

pub(super) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
    let (mut process, mut time) = (columns.need(PROCESS)?, columns.get(TIME));
    let mut numbers = FIELDS.map(|(column, field)| (columns.get(column), field));
    let mut may_be = MAY_BE.map(|(column, field)| (columns.get(column), field));
    let (mut has, mut shared) = (columns.get(HAS_PROPORTIONAL), columns.get(SHARED));
    let mut before = columns.get(IN_USE_BEFORE);
    let mut in_use_before: HashMap<usize, u64> = HashMap::new();
    let mut last: HashMap<usize, Gauge> = HashMap::new();
    for _ in 0..columns.rows {
        let index = decoder.process(process.plain()?)?;
        let row = last.entry(index).or_default();
        row.process = ProcessId::from_index(index);
        row.time = Nanos(time.delta()?);
        for (column, field) in &mut numbers {
            let value = field(row);
            *value = value.wrapping_add(column.signed()? as u64);
        }
        for (column, field) in &mut may_be {
            let value = field(row);
            let sum = more(*value).wrapping_add(column.signed()? as u64);
            *value = sum.checked_sub(1);
        }
        let old = in_use_before.entry(index).or_default();
        *old = old.wrapping_add(before.signed()? as u64);
        let shared = shared.signed()? as u64;
        row.proportional = match has.plain()? {
            0 => None,
            1 => Some(row.resident.wrapping_sub(shared)),
            _ => return Err(Damage::Column(HAS_PROPORTIONAL)),
        };
        decoder.profile.heap.gauges.push(Gauge {
            in_use: row.in_use.or((*old > 0).then_some(*old)),
            ..*row
        });
    }
    for (column, _) in numbers {
        column.finish()?;
    }
    for (column, _) in may_be {
        column.finish()?;
    }
    before.finish()?;
    let when = process.finish().and(time.finish());
    when.and(has.finish()).and(shared.finish())
}

fn more(value: Option<u64>) -> u64 {
    value.map_or(0, |value| value.saturating_add(1))
}
