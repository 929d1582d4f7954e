//! `summ`: rows of samples that stand for several samples each, as another tool's file or a merged
//! recording has them.

use profundo_model::{Many, Profile, Sample};

use super::column::{Columns, Payload};
use super::read::Decoder;
use crate::Damage;

const SAMPLES: u8 = 1;
const COUNT: u8 = 2;
const SQUARES: u8 = 3;
const MERGED: u8 = 4;
const LAST: u8 = 5;

pub(super) fn encode(rows: &[Many], first: usize) -> Payload {
    let mut payload = Payload::new(first, rows.len());
    let rows = || rows.iter();
    payload.plain(SAMPLES, rows().map(|row| row.samples));
    payload.plain(COUNT, rows().map(|row| row.count));
    payload.column(SQUARES, |out| {
        rows().for_each(|row| out.extend_from_slice(&row.squares.to_le_bytes()));
    });
    payload.sparse(MERGED, rows().map(|row| row.merged));
    payload.delta(LAST, rows().map(|row| row.last.0));
    payload
}

pub(super) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
    let (mut samples, mut count) = (columns.need(SAMPLES)?, columns.get(COUNT));
    let (mut squares, mut merged) = (columns.get(SQUARES), columns.get(MERGED));
    let mut last = columns.get(LAST);
    let all = decoder.profile.samples.len();
    decoder.profile.gathered.rows.resize(all, Many::default());
    for index in columns.indices() {
        let many = Many {
            samples: samples.plain()?.max(1),
            count: count.plain()?,
            squares: f64::from_le_bytes(take(squares.take(8)?)),
            merged: merged.plain()?,
            last: profundo_model::Nanos(last.delta()?),
        };
        if !(many.squares.is_finite() && many.squares >= 0.0) {
            return Err(Damage::Number);
        }
        let row = decoder.profile.gathered.rows.get_mut(index);
        *row.ok_or(Damage::Length)? = many;
    }
    let numbers = samples.finish().and(count.finish()).and(merged.finish());
    numbers.and(squares.finish()).and(last.finish())
}

fn take(bytes: &[u8]) -> [u8; 8] {
    bytes.try_into().unwrap_or_default()
}

/// Gives the other rows of a profile that has such rows theirs: they are one sample each.
pub(super) fn complete(profile: &mut Profile) {
    if !profile.gathered.is_any() {
        return;
    }
    let mut rows = std::mem::take(&mut profile.gathered.rows);
    rows.resize(profile.samples.len(), Many::default());
    for (row, sample) in rows.iter_mut().zip(&profile.samples) {
        if row.samples == 0 {
            *row = alone(profile, sample);
        }
    }
    profile.gathered.rows = rows;
}

fn alone(profile: &Profile, sample: &Sample) -> Many {
    let weight = sample.weight.0 as f64;
    Many {
        samples: 1,
        count: profile.count_of(sample),
        squares: weight * weight,
        merged: 0,
        last: sample.time,
    }
}
