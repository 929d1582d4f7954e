//! `TRAF`: the traffic of threads.

use profundo_model::{Bytes, Nanos, ThreadId, Traffic};

use super::column::{Columns, Payload};
use super::read::Decoder;
use crate::Damage;

const THREAD: u8 = 1;
const FROM: u8 = 2;
const LENGTH: u8 = 3;
const WAITS: u8 = 4;
const READ: u8 = 5;
const WRITTEN: u8 = 6;
const FETCHED: u8 = 7;
const STORED: u8 = 8;

pub(super) fn encode(rows: &[Traffic], first: usize) -> Payload {
    let mut payload = Payload::new(first, rows.len());
    let rows = || rows.iter();
    payload.plain(THREAD, rows().map(|row| u64::from(row.thread.0)));
    payload.delta(FROM, rows().map(|row| row.from.0));
    payload.plain(LENGTH, rows().map(|row| row.to.0.wrapping_sub(row.from.0)));
    payload.sparse(WAITS, rows().map(|row| u64::from(row.waits)));
    payload.sparse(READ, rows().map(|row| row.bytes.read));
    payload.sparse(WRITTEN, rows().map(|row| row.bytes.written));
    payload.sparse(FETCHED, rows().map(|row| row.bytes.fetched));
    payload.sparse(STORED, rows().map(|row| row.bytes.stored));
    payload
}

pub(super) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
    let (mut thread, mut from) = (columns.need(THREAD)?, columns.get(FROM));
    let (mut length, mut waits) = (columns.get(LENGTH), columns.get(WAITS));
    let (mut read, mut written) = (columns.get(READ), columns.get(WRITTEN));
    let (mut fetched, mut stored) = (columns.get(FETCHED), columns.get(STORED));
    for _ in 0..columns.rows {
        let start = from.delta()?;
        let row = Traffic {
            thread: ThreadId::from_index(decoder.thread(thread.plain()?)?),
            from: Nanos(start),
            to: Nanos(start.wrapping_add(length.plain()?)),
            waits: u32::try_from(waits.plain()?).map_err(|_| Damage::Number)?,
            bytes: Bytes {
                read: read.plain()?,
                written: written.plain()?,
                fetched: fetched.plain()?,
                stored: stored.plain()?,
            },
        };
        decoder.profile.traffic.push(row);
    }
    let when = thread.finish().and(from.finish()).and(length.finish());
    let what = waits.finish().and(read.finish()).and(written.finish());
    when.and(what).and(fetched.finish()).and(stored.finish())
}
