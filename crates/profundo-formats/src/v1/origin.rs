//! `ORIG`: the recordings that processes come from, with their labels. A file of a recording that
//! was neither merged nor labelled has none.

use std::ops::Range;

use profundo_model::{Nanos, Origin, Profile};

use super::column::{Columns, Payload};
use super::read::Decoder;
use crate::{Damage, Error};

const NAME: u8 = 1;
const STARTED: u8 = 2;
const BEGINS: u8 = 3;
const DURATION: u8 = 4;
const PERIOD: u8 = 5;
const LABEL_COUNT: u8 = 6;
const LABELS: u8 = 7;

pub(super) fn encode(profile: &Profile, rows: Range<usize>) -> Result<Payload, Error> {
    let origins = || profile.origins[rows.clone()].iter();
    let mut payload = Payload::new(rows.start, rows.len());
    payload.plain(NAME, origins().map(|origin| u64::from(origin.name.0)));
    payload.delta(STARTED, origins().map(|origin| origin.started_at_unix));
    payload.sparse(BEGINS, origins().map(|origin| origin.begins.0));
    payload.plain(DURATION, origins().map(|origin| origin.duration.0));
    payload.plain(PERIOD, origins().map(|origin| origin.period.0));
    let labels = |origin: &Origin| origin.labels.len() as u64;
    payload.sparse(LABEL_COUNT, origins().map(labels));
    if origins().any(|origin| !origin.labels.is_empty()) {
        let words = origins().flat_map(|origin| &origin.labels);
        let words = words.flat_map(|&(key, value)| [key, value]);
        payload.delta(LABELS, words.map(|word| u64::from(word.0)));
    }
    Ok(payload)
}

pub(super) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
    let (mut name, mut started) = (columns.need(NAME)?, columns.get(STARTED));
    let (mut begins, mut duration) = (columns.get(BEGINS), columns.get(DURATION));
    let (mut period, mut count) = (columns.get(PERIOD), columns.get(LABEL_COUNT));
    let mut words = columns.get(LABELS);
    for _ in 0..columns.rows {
        let mut origin = Origin {
            name: decoder.string(name.plain()?)?,
            labels: Vec::new(),
            started_at_unix: started.delta()?,
            begins: Nanos(begins.plain()?),
            duration: Nanos(duration.plain()?),
            period: Nanos(period.plain()?),
        };
        let count = count.plain()?;
        if count > words.left() as u64 {
            return Err(Damage::Column(LABELS));
        }
        for _ in 0..count {
            let (key, value) = (words.delta()?, words.delta()?);
            origin.set_label(decoder.string(key)?, decoder.string(value)?);
        }
        decoder.profile.origins.push(origin);
    }
    let when = (started.finish().and(begins.finish())).and(duration.finish());
    let labels = count.finish().and(words.finish());
    name.finish().and(when).and(period.finish()).and(labels)
}
