//! `TRCD`, `CALL`, `LINE` and `EXCN`: the kind of tracing, the call tree, lines, and exceptions.

use profundo_model::{
    Call, Callers, ExceptionEnd, Exceptions, FrameId, Line, Nanos, ProcessId, ThreadId, Traced,
};

use super::code::{CLOCKS, TRACINGS};
use super::column::{Columns, Payload};
use super::read::Decoder;
use crate::Damage;

/// The kind of tracing: one row.
pub(super) mod about {
    use super::*;
    use crate::Error;
    use crate::v1::code::code_of;

    const CLOCK: u8 = 1;
    const TRACING: u8 = 2;

    pub(in crate::v1) fn encode(traced: &Traced) -> Result<Payload, Error> {
        let mut payload = Payload::new(0, 1);
        let code = code_of(CLOCKS, "clock", &traced.clock)?;
        payload.plain(CLOCK, [code].into_iter());
        let code = code_of(TRACINGS, "tracing", &traced.tracing)?;
        payload.sparse(TRACING, [code].into_iter());
        Ok(payload)
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut clock, mut tracing) = (columns.need(CLOCK)?, columns.get(TRACING));
        for _ in 0..columns.rows {
            let code = clock.plain()?;
            if let Some(clock) = decoder.value(CLOCKS, "clock", code) {
                decoder.profile.traced.clock = clock;
            }
            let code = tracing.plain()?;
            if let Some(tracing) = decoder.value(TRACINGS, "tracing", code) {
                decoder.profile.traced.tracing = tracing;
            }
        }
        clock.finish().and(tracing.finish())
    }
}

/// Nodes of the call tree.
pub(super) mod calls {
    use super::*;

    const THREAD: u8 = 1;
    const STACK: u8 = 2;
    const CALLS: u8 = 3;
    const RESUMES: u8 = 4;
    const TOTAL: u8 = 5;
    const OWN: u8 = 6;
    const COST: (u8, u8) = (7, 8);
    const CALLERS: u8 = 9;

    /// 0: all callers are known. Otherwise only the last one is, and two further bits describe it.
    const IS_LAST: u64 = 1;
    const IS_RECURSIVE: u64 = 2;
    const IS_REPEATED: u64 = 4;

    fn code(callers: Callers) -> u64 {
        match callers {
            Callers::All => 0,
            Callers::Last {
                is_recursive,
                is_repeated,
            } => {
                let flag = |is_set, bit| if is_set { bit } else { 0 };
                IS_LAST | flag(is_recursive, IS_RECURSIVE) | flag(is_repeated, IS_REPEATED)
            }
        }
    }

    fn callers(code: u64) -> Callers {
        match code & IS_LAST {
            0 => Callers::All,
            _ => Callers::Last {
                is_recursive: code & IS_RECURSIVE != 0,
                is_repeated: code & IS_REPEATED != 0,
            },
        }
    }

    pub(in crate::v1) fn encode(rows: &[Call], first: usize) -> Payload {
        let mut payload = Payload::new(first, rows.len());
        let rows = || rows.iter();
        payload.plain(THREAD, rows().map(|row| u64::from(row.thread.0)));
        payload.delta(STACK, rows().map(|row| u64::from(row.stack.0)));
        payload.sparse(CALLS, rows().map(|row| row.calls));
        payload.sparse(RESUMES, rows().map(|row| row.resumes));
        payload.sparse(TOTAL, rows().map(|row| row.total.0));
        payload.sparse(OWN, rows().map(|row| row.own.0));
        payload.sparse(COST.0, rows().map(|row| row.cost[0].0));
        payload.sparse(COST.1, rows().map(|row| row.cost[1].0));
        payload.sparse(CALLERS, rows().map(|row| code(row.callers)));
        payload
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut thread, mut stack) = (columns.need(THREAD)?, columns.get(STACK));
        let (mut calls, mut resumes) = (columns.get(CALLS), columns.get(RESUMES));
        let (mut total, mut own) = (columns.get(TOTAL), columns.get(OWN));
        let mut cost = [columns.get(COST.0), columns.get(COST.1)];
        let mut how = columns.get(CALLERS);
        for _ in 0..columns.rows {
            let mut nanos = [Nanos(0); 2];
            for (nanos, column) in nanos.iter_mut().zip(&mut cost) {
                *nanos = Nanos(column.plain()?);
            }
            let row = Call {
                thread: ThreadId::from_index(decoder.thread(thread.plain()?)?),
                stack: decoder.stack(stack.delta()?)?,
                calls: calls.plain()?,
                resumes: resumes.plain()?,
                total: Nanos(total.plain()?),
                own: Nanos(own.plain()?),
                cost: nanos,
                callers: callers(how.plain()?),
            };
            decoder.profile.traced.calls.push(row);
        }
        let [total_cost, own_cost] = cost;
        let place = thread.finish().and(stack.finish()).and(how.finish());
        let counts = calls.finish().and(resumes.finish());
        let times = total.finish().and(own.finish());
        let costs = total_cost.finish().and(own_cost.finish());
        place.and(counts).and(times).and(costs)
    }
}

/// Lines.
pub(super) mod lines {
    use super::*;

    const PROCESS: u8 = 1;
    const FRAME: u8 = 2;
    const FIRST: u8 = 3;
    const HITS: u8 = 4;
    const TIME: u8 = 5;

    pub(in crate::v1) fn encode(rows: &[Line], first: usize) -> Payload {
        let mut payload = Payload::new(first, rows.len());
        let rows = || rows.iter();
        payload.plain(PROCESS, rows().map(|row| u64::from(row.process.0)));
        payload.delta(FRAME, rows().map(|row| u64::from(row.frame.0)));
        payload.delta(FIRST, rows().map(|row| u64::from(row.first)));
        payload.sparse(HITS, rows().map(|row| row.hits));
        payload.sparse(TIME, rows().map(|row| row.time.0));
        payload
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut process, mut frame) = (columns.need(PROCESS)?, columns.get(FRAME));
        let (mut first, mut hits) = (columns.get(FIRST), columns.get(HITS));
        let mut time = columns.get(TIME);
        for _ in 0..columns.rows {
            let row = Line {
                process: ProcessId::from_index(decoder.process(process.plain()?)?),
                frame: decoder.frame(frame.delta()?)?,
                first: u32::try_from(first.delta()?).map_err(|_| Damage::Number)?,
                hits: hits.plain()?,
                time: Nanos(time.plain()?),
            };
            decoder.profile.traced.lines.push(row);
        }
        let place = process.finish().and(frame.finish()).and(first.finish());
        place.and(hits.finish()).and(time.finish())
    }
}

/// Exceptions.
pub(super) mod exceptions {
    use super::*;

    const PROCESS: u8 = 1;
    const TYPE: u8 = 2;
    const RAISED: u8 = 3;
    const END: u8 = 4;
    const CAUGHT: u8 = 5;
    const COUNT: u8 = 6;

    const UNSEEN: u64 = 0;
    const IS_CAUGHT: u64 = 1;
    const LEFT: u64 = 2;

    fn code(end: ExceptionEnd) -> (u64, FrameId) {
        match end {
            ExceptionEnd::Unseen => (UNSEEN, FrameId(0)),
            ExceptionEnd::Caught(frame) => (IS_CAUGHT, frame),
            ExceptionEnd::Left => (LEFT, FrameId(0)),
        }
    }

    pub(in crate::v1) fn encode(rows: &[Exceptions], first: usize) -> Payload {
        let mut payload = Payload::new(first, rows.len());
        let rows = || rows.iter();
        payload.plain(PROCESS, rows().map(|row| u64::from(row.process.0)));
        payload.plain(TYPE, rows().map(|row| u64::from(row.of_type.0)));
        payload.delta(RAISED, rows().map(|row| u64::from(row.raised.0)));
        payload.sparse(END, rows().map(|row| code(row.end).0));
        payload.delta(CAUGHT, rows().map(|row| u64::from(code(row.end).1.0)));
        payload.plain(COUNT, rows().map(|row| row.count));
        payload
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut process, mut of_type) = (columns.need(PROCESS)?, columns.need(TYPE)?);
        let (mut raised, mut end) = (columns.need(RAISED)?, columns.get(END));
        let (mut caught, mut count) = (columns.need(CAUGHT)?, columns.need(COUNT)?);
        for _ in 0..columns.rows {
            let process = ProcessId::from_index(decoder.process(process.plain()?)?);
            let of_type = decoder.string(of_type.plain()?)?;
            let raised = decoder.frame(raised.delta()?)?;
            let (kind, frame) = (end.plain()?, caught.delta()?);
            let end = match kind {
                IS_CAUGHT => ExceptionEnd::Caught(decoder.frame(frame)?),
                LEFT => ExceptionEnd::Left,
                // A later version may know more ends.
                _ => ExceptionEnd::Unseen,
            };
            decoder.profile.traced.exceptions.push(Exceptions {
                process,
                of_type,
                raised,
                end,
                count: count.plain()?,
            });
        }
        let place = process.finish().and(of_type.finish()).and(raised.finish());
        place
            .and(end.finish())
            .and(caught.finish())
            .and(count.finish())
    }
}
