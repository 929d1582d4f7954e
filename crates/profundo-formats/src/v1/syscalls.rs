//! `SYSC`: how often threads have made system calls.

use profundo_model::{Nanos, StackId, SyscallCount, ThreadId};

use super::column::{Columns, Payload};
use super::read::Decoder;
use crate::Damage;

const THREAD: u8 = 1;
const FROM: u8 = 2;
const LENGTH: u8 = 3;
const CALL: u8 = 4;
const ERROR: u8 = 5;
const COUNT: u8 = 6;
const STACK: u8 = 7;
const SAMPLES: u8 = 8;

pub(super) fn encode(rows: &[SyscallCount], first: usize) -> Payload {
    let mut payload = Payload::new(first, rows.len());
    let rows = || rows.iter();
    payload.plain(THREAD, rows().map(|row| u64::from(row.thread.0)));
    payload.delta(FROM, rows().map(|row| row.from.0));
    payload.plain(LENGTH, rows().map(|row| row.to.0.wrapping_sub(row.from.0)));
    payload.plain(CALL, rows().map(|row| row.call.index() as u64));
    payload.sparse(ERROR, rows().map(|row| u64::from(row.error)));
    payload.plain(COUNT, rows().map(|row| row.count));
    let stack = |row: &SyscallCount| row.stack.map_or(0, |stack| stack.index() as u64 + 1);
    payload.sparse(STACK, rows().map(stack));
    payload.sparse(SAMPLES, rows().map(|row| row.samples));
    payload
}

pub(super) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
    let (mut thread, mut from) = (columns.need(THREAD)?, columns.get(FROM));
    let (mut length, mut call) = (columns.get(LENGTH), columns.get(CALL));
    let (mut error, mut count) = (columns.get(ERROR), columns.get(COUNT));
    let (mut stack, mut samples) = (columns.get(STACK), columns.get(SAMPLES));
    for _ in 0..columns.rows {
        let start = from.delta()?;
        let row = SyscallCount {
            thread: ThreadId::from_index(decoder.thread(thread.plain()?)?),
            from: Nanos(start),
            to: Nanos(start.wrapping_add(length.plain()?)),
            call: decoder.string(call.plain()?)?,
            error: u32::try_from(error.plain()?).map_err(|_| Damage::Number)?,
            count: count.plain()?,
            stack: stack_of(decoder, stack.plain()?)?,
            samples: samples.plain()?,
        };
        decoder.profile.syscalls.push(row);
    }
    let when = thread.finish().and(from.finish()).and(length.finish());
    let what = call.finish().and(error.finish()).and(count.finish());
    when.and(what).and(stack.finish()).and(samples.finish())
}

fn stack_of(decoder: &Decoder, number: u64) -> Result<Option<StackId>, Damage> {
    number
        .checked_sub(1)
        .map(|stack| decoder.stack(stack))
        .transpose()
}
