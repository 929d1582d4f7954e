//! The recording as a whole, and the end mark: tables of one row, a column for each fact.

use profundo_model::{Loss, Meta, Nanos};

use super::code::{ENGINES, KINDS, code_of};
use super::column::{Columns, Payload, put_uv};
use super::read::Decoder;
use crate::{Damage, Error};

const ENGINE: u8 = 1;
const KIND: u8 = 2;
const PERIOD: u8 = 3;
const STARTED: u8 = 4;
const DURATION: u8 = 5;
const CPU: u8 = 6;
const OWN_COST: u8 = 7;
const LOSS: u8 = 8;
const BUFFER_WAS_FULL: u8 = 9;
const NOTES: u8 = 10;

/// The end mark's only column.
const SAMPLES: u8 = 1;

pub(super) fn encode(meta: &Meta) -> Result<Payload, Error> {
    let engine = code_of(ENGINES, "engine", &meta.engine)?;
    let kind = code_of(KINDS, "sample kind", &meta.kind)?;
    let mut payload = Payload::new(0, 1);
    let mut number = |column, value| payload.plain(column, [value].into_iter());
    number(ENGINE, engine);
    number(KIND, kind);
    number(PERIOD, meta.period.0);
    number(STARTED, meta.started_at_unix);
    number(DURATION, meta.duration.0);
    // What is not known has no column, which tells it from 0.
    if let Some(cpu) = meta.cpu {
        number(CPU, cpu.0);
    }
    if let Some(own_cost) = meta.own_cost {
        number(OWN_COST, own_cost.0);
    }
    payload.plain(LOSS, loss_counts(&meta.loss).into_iter());
    payload.plain(
        BUFFER_WAS_FULL,
        [u64::from(meta.buffer_was_full)].into_iter(),
    );
    payload.column(NOTES, |out| {
        for note in &meta.notes {
            put_uv(out, note.len() as u64);
            out.extend_from_slice(note.as_bytes());
        }
    });
    Ok(payload)
}

/// A later `META` replaces an earlier one, so a writer that streams can correct itself.
pub(super) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
    let number = |column| columns.get(column).plain();
    let known = |column| {
        columns
            .has(column)
            .then(|| number(column).map(Nanos))
            .transpose()
    };
    let mut meta = Meta {
        period: Nanos(number(PERIOD)?),
        started_at_unix: number(STARTED)?,
        duration: Nanos(number(DURATION)?),
        cpu: known(CPU)?,
        own_cost: known(OWN_COST)?,
        buffer_was_full: number(BUFFER_WAS_FULL)? != 0,
        ..Meta::default()
    };
    meta.engine = decoder
        .value(ENGINES, "engine", number(ENGINE)?)
        .unwrap_or_default();
    meta.kind = decoder
        .value(KINDS, "sample kind", number(KIND)?)
        .unwrap_or_default();
    // New causes of loss are appended: older files have fewer of them, newer ones more.
    let mut counts = columns.get(LOSS);
    for count in loss_counts_mut(&mut meta.loss) {
        if !counts.is_empty() {
            *count = counts.plain()?;
        }
    }
    let mut notes = columns.get(NOTES);
    while !notes.is_empty() {
        let len = notes.plain()?;
        let note = std::str::from_utf8(notes.take(len)?).map_err(|_| Damage::Text)?;
        meta.notes.push(note.to_owned());
    }
    decoder.profile.meta = meta;
    Ok(())
}

pub(super) fn encode_end(samples: usize) -> Payload {
    let mut payload = Payload::new(0, 1);
    payload.plain(SAMPLES, [samples as u64].into_iter());
    payload
}

pub(super) fn decode_end(decoder: &Decoder, columns: &Columns) -> Result<(), Damage> {
    let samples = columns.need(SAMPLES)?.plain()?;
    if samples == decoder.profile.samples.len() as u64 {
        Ok(())
    } else {
        Err(Damage::Count(samples))
    }
}

/// The counts in the order of the file. Naming every field makes a new one an error here.
fn loss_counts(loss: &Loss) -> [u64; 6] {
    let &Loss {
        buffer_full,
        overwritten,
        truncated,
        broken,
        reentrant,
        thread_table_full,
    } = loss;
    [
        buffer_full,
        overwritten,
        truncated,
        broken,
        reentrant,
        thread_table_full,
    ]
}

fn loss_counts_mut(loss: &mut Loss) -> [&mut u64; 6] {
    let Loss {
        buffer_full,
        overwritten,
        truncated,
        broken,
        reentrant,
        thread_table_full,
    } = loss;
    [
        buffer_full,
        overwritten,
        truncated,
        broken,
        reentrant,
        thread_table_full,
    ]
}
