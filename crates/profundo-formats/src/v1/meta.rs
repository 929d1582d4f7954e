//! The recording as a whole, and the end mark: tables of one row, a column for each fact.

use profundo_model::{Energy, EnergyZone, Loss, Machine, Meta, Nanos, Weighed};

use super::code::{ENGINES, KINDS, code_of};
use super::column::{Column, Columns, Payload, put_uv};
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
const ENERGY_DURATION: u8 = 11;
const MACHINE_CPU: u8 = 12;
const PROGRAM_CPU: u8 = 13;
const ENERGY_ZONES: u8 = 14;
const RECORDER_CPU: u8 = 15;
const BY_TICKS: u8 = 16;
const MINE: u8 = 17;
const MACHINE: u8 = 18;
const OTHERS: u8 = 19;
const WEIGHED: u8 = 20;
const EVENT: u8 = 21;
const LACKS_TIMES: u8 = 22;
const OF_MACHINE: u8 = 23;

/// The flag of a zone that is no part of another one.
const COUNTED: u64 = 1;

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
    // An unknown fact has no column, which distinguishes it from 0.
    if let Some(cpu) = meta.cpu {
        number(CPU, cpu.0);
    }
    if let Some(own_cost) = meta.own_cost {
        number(OWN_COST, own_cost.0);
    }
    if let Some(recorder_cpu) = meta.recorder_cpu {
        number(RECORDER_CPU, recorder_cpu.0);
    }
    if let Some(by_ticks) = meta.by_ticks {
        number(BY_TICKS, by_ticks.0);
    }
    payload.plain(LOSS, loss_counts(&meta.loss).into_iter());
    payload.plain(
        BUFFER_WAS_FULL,
        [u64::from(meta.buffer_was_full)].into_iter(),
    );
    payload.column(NOTES, |out| {
        for note in &meta.notes {
            put_text(out, note);
        }
    });
    if let Some(energy) = &meta.energy {
        encode_energy(&mut payload, energy);
    }
    if !meta.mine.is_empty() {
        payload.column(MINE, |out| {
            for pattern in &meta.mine {
                put_text(out, pattern);
            }
        });
    }
    if let Some(machine) = &meta.machine {
        encode_machine(&mut payload, machine);
    }
    if let Some(weighed) = &meta.weighed {
        let sums = [weighed.sampled, weighed.sampled_in_kernel];
        payload.plain(WEIGHED, sums.into_iter().map(|sum| sum.0));
    }
    if !meta.event.is_empty() {
        payload.column(EVENT, |out| put_text(out, &meta.event));
    }
    if meta.lacks_times {
        payload.plain(LACKS_TIMES, [1].into_iter());
    }
    if meta.is_of_machine {
        payload.plain(OF_MACHINE, [1].into_iter());
    }
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
        recorder_cpu: known(RECORDER_CPU)?,
        by_ticks: known(BY_TICKS)?,
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
        meta.notes.push(take_text(&mut notes)?);
    }
    let mut mine = columns.get(MINE);
    while !mine.is_empty() {
        meta.mine.push(take_text(&mut mine)?);
    }
    if columns.has(EVENT) {
        meta.event = take_text(&mut columns.get(EVENT))?;
    }
    if columns.has(LACKS_TIMES) {
        meta.lacks_times = number(LACKS_TIMES)? != 0;
    }
    if columns.has(OF_MACHINE) {
        meta.is_of_machine = number(OF_MACHINE)? != 0;
    }
    if columns.has(ENERGY_DURATION) {
        meta.energy = Some(decode_energy(columns)?);
    }
    if columns.has(MACHINE) {
        meta.machine = Some(decode_machine(columns)?);
    }
    if columns.has(WEIGHED) {
        let mut sums = columns.get(WEIGHED);
        meta.weighed = Some(Weighed {
            sampled: Nanos(sums.plain()?),
            sampled_in_kernel: Nanos(sums.plain()?),
        });
    }
    decoder.profile.meta = meta;
    Ok(())
}

fn encode_machine(payload: &mut Payload, machine: &Machine) {
    let Machine {
        cpu,
        cpus,
        kernel,
        others,
    } = machine;
    payload.column(MACHINE, |out| {
        put_uv(out, u64::from(*cpus));
        put_text(out, cpu);
        put_text(out, kernel);
    });
    if let Some(others) = others {
        payload.plain(OTHERS, [others.0].into_iter());
    }
}

fn decode_machine(columns: &Columns) -> Result<Machine, Damage> {
    let mut machine = columns.get(MACHINE);
    let cpus = machine.plain()?;
    Ok(Machine {
        cpus: u32::try_from(cpus).map_err(|_| Damage::Column(MACHINE))?,
        cpu: take_text(&mut machine)?,
        kernel: take_text(&mut machine)?,
        others: match columns.has(OTHERS) {
            true => Some(Nanos(columns.get(OTHERS).plain()?)),
            false => None,
        },
    })
}

fn encode_energy(payload: &mut Payload, energy: &Energy) {
    let Energy {
        zones,
        duration,
        machine_cpu,
        program_cpu,
    } = energy;
    payload.plain(ENERGY_DURATION, [duration.0].into_iter());
    payload.plain(MACHINE_CPU, [machine_cpu.0].into_iter());
    payload.plain(PROGRAM_CPU, [program_cpu.0].into_iter());
    payload.column(ENERGY_ZONES, |out| {
        for zone in zones {
            put_uv(out, if zone.is_counted { COUNTED } else { 0 });
            put_uv(out, zone.microjoules);
            put_text(out, &zone.name);
        }
    });
}

fn decode_energy(columns: &Columns) -> Result<Energy, Damage> {
    let number = |column| columns.get(column).plain().map(Nanos);
    let mut energy = Energy {
        duration: number(ENERGY_DURATION)?,
        machine_cpu: number(MACHINE_CPU)?,
        program_cpu: number(PROGRAM_CPU)?,
        zones: Vec::new(),
    };
    let mut zones = columns.get(ENERGY_ZONES);
    while !zones.is_empty() {
        energy.zones.push(EnergyZone {
            is_counted: zones.plain()? & COUNTED != 0,
            microjoules: zones.plain()?,
            name: take_text(&mut zones)?,
        });
    }
    Ok(energy)
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_uv(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn take_text(column: &mut Column<'_>) -> Result<String, Damage> {
    let len = column.plain()?;
    let text = std::str::from_utf8(column.take(len)?).map_err(|_| Damage::Text)?;
    Ok(text.to_owned())
}

pub(super) fn encode_end(samples: usize) -> Payload {
    let mut payload = Payload::new(0, 1);
    payload.plain(SAMPLES, [samples as u64].into_iter());
    payload
}

/// The number of samples in the end mark.
pub(super) fn end_count(columns: &Columns) -> Result<u64, Damage> {
    columns.need(SAMPLES)?.plain()
}

pub(super) fn decode_end(decoder: &Decoder, columns: &Columns) -> Result<(), Damage> {
    let samples = end_count(columns)?;
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
