//! Allocations: blocks, their ends where they came later, and sums.

use profundo_model::{
    Amount, Block, BlockEnd, Copied, Domain, Heap, Moment, Nanos, ProcessId, Sampling, Site,
    TaskId, ThreadId,
};

use super::code::{DOMAINS, code_of};
use super::column::{Column, Columns, Payload};
use super::read::Decoder;
use crate::{Damage, Error};

const BUFFER: u64 = 1;
const TEMPORARY: u64 = 2;
const UNREACHABLE: u64 = 4;

/// `HEAP`: the sampling of allocations.
pub(super) mod sampling {
    use super::*;

    const KIND: u8 = 1;
    const VALUE: u8 = 2;
    const COPIES: u8 = 3;
    const COPIES_VALUE: u8 = 4;
    const COPIES_FROM: u8 = 5;

    const NONE: u64 = 0;
    const BYTES: u64 = 1;
    const EVENTS: u64 = 2;
    const ALL: u64 = 3;

    fn numbers(sampling: Sampling) -> (u64, u64) {
        match sampling {
            Sampling::None => (NONE, 0),
            Sampling::Bytes(mean) => (BYTES, mean),
            Sampling::Events(rate) => (EVENTS, rate.to_bits()),
            Sampling::All => (ALL, 0),
        }
    }

    fn sampling(decoder: &mut Decoder, kind: u64, value: u64) -> Sampling {
        match kind {
            NONE => Sampling::None,
            BYTES => Sampling::Bytes(value),
            EVENTS => Sampling::Events(f64::from_bits(value)),
            ALL => Sampling::All,
            _ => {
                decoder.unknown("way to choose allocations", kind);
                Sampling::None
            }
        }
    }

    pub(in crate::v1) fn encode(heap: &Heap) -> Payload {
        let mut payload = Payload::new(0, 1);
        let (kind, value) = numbers(heap.sampling);
        payload.plain(KIND, std::iter::once(kind));
        payload.sparse(VALUE, std::iter::once(value));
        let (kind, value) = numbers(heap.copying);
        payload.sparse(COPIES, std::iter::once(kind));
        payload.sparse(COPIES_VALUE, std::iter::once(value));
        payload.sparse(COPIES_FROM, std::iter::once(heap.copies_from));
        payload
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut kind, mut value) = (columns.need(KIND)?, columns.get(VALUE));
        let (mut copies, mut copies_value) = (columns.get(COPIES), columns.get(COPIES_VALUE));
        let mut copies_from = columns.get(COPIES_FROM);
        for _ in 0..columns.rows {
            let blocks = sampling(decoder, kind.plain()?, value.plain()?);
            let copying = sampling(decoder, copies.plain()?, copies_value.plain()?);
            let heap = &mut decoder.profile.heap;
            (heap.sampling, heap.copying) = (blocks, copying);
            heap.copies_from = copies_from.plain()?;
        }
        let copies = copies.finish().and(copies_value.finish());
        let blocks = kind.finish().and(value.finish());
        blocks.and(copies).and(copies_from.finish())
    }
}

/// `BLCK`: blocks.
pub(super) mod blocks {
    use super::*;

    const TIME: u8 = 1;
    const CLOCK: u8 = 2;
    const THREAD: u8 = 3;
    const TASK: u8 = 4;
    const STACK: u8 = 5;
    const SIZE: u8 = 6;
    const DOMAIN: u8 = 7;
    const TYPE: u8 = 8;
    const FLAGS: u8 = 9;
    /// The lifetime, plus one; 0 if it was not freed yet.
    const LIFE: u8 = 10;
    const DOUBLINGS: u8 = 11;
    const SPAN: u8 = 12;

    pub(in crate::v1) fn encode(rows: &[Block], first: usize) -> Result<Payload, Error> {
        let mut payload = Payload::new(first, rows.len());
        let rows = || rows.iter();
        let mut domains = Vec::new();
        for row in rows() {
            domains.push(code_of(DOMAINS, "allocator", &row.domain)?);
        }
        let flags = |row: &Block| {
            let temporary = u64::from(row.is_temporary) * TEMPORARY;
            let unreachable = u64::from(row.is_unreachable) * UNREACHABLE;
            u64::from(row.is_buffer) * BUFFER + temporary + unreachable
        };
        let life = |row: &Block| {
            let freed = row.freed.map(|freed| freed.0.wrapping_sub(row.time.0));
            freed.map_or(0, |life| life.wrapping_add(1))
        };
        payload.delta(TIME, rows().map(|row| row.time.0));
        payload.delta(CLOCK, rows().map(|row| row.clock));
        payload.plain(THREAD, rows().map(|row| u64::from(row.thread.0)));
        payload.delta(TASK, rows().map(|row| u64::from(row.task.0)));
        payload.delta(STACK, rows().map(|row| u64::from(row.stack.0)));
        payload.plain(SIZE, rows().map(|row| row.size));
        payload.sparse(DOMAIN, domains.into_iter());
        payload.sparse(TYPE, rows().map(|row| u64::from(row.type_name.0)));
        payload.sparse(FLAGS, rows().map(flags));
        payload.sparse(LIFE, rows().map(life));
        payload.sparse(DOUBLINGS, rows().map(|row| u64::from(row.doublings)));
        payload.sparse(SPAN, rows().map(|row| u64::from(row.span.0)));
        Ok(payload)
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut time, mut clock) = (columns.need(TIME)?, columns.get(CLOCK));
        let (mut thread, mut task) = (columns.get(THREAD), columns.get(TASK));
        let (mut stack, mut size) = (columns.get(STACK), columns.get(SIZE));
        let (mut domain, mut type_name) = (columns.get(DOMAIN), columns.get(TYPE));
        let (mut flags, mut life) = (columns.get(FLAGS), columns.get(LIFE));
        let (mut doublings, mut span) = (columns.get(DOUBLINGS), columns.get(SPAN));
        for _ in 0..columns.rows {
            let begun = time.delta()?;
            let lived = life.plain()?.checked_sub(1);
            let kinds = flags.plain()?;
            let row = Block {
                time: Nanos(begun),
                freed: lived.map(|life| Nanos(begun.wrapping_add(life))),
                clock: clock.delta()?,
                size: size.plain()?,
                thread: ThreadId::from_index(decoder.thread(thread.plain()?)?),
                task: TaskId::from_index(decoder.task(task.delta()?)?),
                stack: decoder.stack(stack.delta()?)?,
                domain: domain_of(decoder, domain.plain()?),
                type_name: decoder.string(type_name.plain()?)?,
                is_buffer: kinds & BUFFER != 0,
                is_temporary: kinds & TEMPORARY != 0,
                doublings: u8::try_from(doublings.plain()?).unwrap_or(u8::MAX),
                is_unreachable: kinds & UNREACHABLE != 0,
                span: decoder.span(span.plain()?)?,
            };
            decoder.profile.heap.blocks.push(row);
        }
        let when = time.finish().and(clock.finish()).and(life.finish());
        let owner = thread.finish().and(task.finish()).and(stack.finish());
        let what = size.finish().and(domain.finish()).and(type_name.finish());
        let how = flags.finish().and(doublings.finish()).and(span.finish());
        when.and(owner).and(what).and(how)
    }
}

/// `COPY`: copies.
pub(super) mod copies {
    use super::*;

    const TIME: u8 = 1;
    const THREAD: u8 = 2;
    const STACK: u8 = 3;
    const SIZE: u8 = 4;
    const DOUBLINGS: u8 = 5;

    pub(in crate::v1) fn encode(rows: &[Copied], first: usize) -> Payload {
        let mut payload = Payload::new(first, rows.len());
        let rows = || rows.iter();
        payload.delta(TIME, rows().map(|row| row.time.0));
        payload.plain(THREAD, rows().map(|row| u64::from(row.thread.0)));
        payload.delta(STACK, rows().map(|row| u64::from(row.stack.0)));
        payload.plain(SIZE, rows().map(|row| row.size));
        payload.sparse(DOUBLINGS, rows().map(|row| u64::from(row.doublings)));
        payload
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut time, mut thread) = (columns.need(TIME)?, columns.get(THREAD));
        let (mut stack, mut size) = (columns.get(STACK), columns.get(SIZE));
        let mut doublings = columns.get(DOUBLINGS);
        for _ in 0..columns.rows {
            let row = Copied {
                time: Nanos(time.delta()?),
                size: size.plain()?,
                thread: ThreadId::from_index(decoder.thread(thread.plain()?)?),
                stack: decoder.stack(stack.delta()?)?,
                doublings: u8::try_from(doublings.plain()?).unwrap_or(u8::MAX),
            };
            decoder.profile.heap.copies.push(row);
        }
        let when = time.finish().and(thread.finish());
        let what = size.finish().and(doublings.finish());
        when.and(stack.finish()).and(what)
    }
}

/// `FREE`: the ends of blocks that were written before they were freed.
pub(super) mod ends {
    use super::*;

    const ROW: u8 = 1;
    const TIME: u8 = 2;
    const FLAGS: u8 = 3;

    pub(in crate::v1) fn encode(rows: &[BlockEnd], first: usize) -> Payload {
        let mut payload = Payload::new(first, rows.len());
        payload.delta(ROW, rows.iter().map(|end| end.row));
        payload.delta(TIME, rows.iter().map(|end| end.freed.0));
        let flags = |end: &BlockEnd| u64::from(end.is_temporary) * TEMPORARY;
        payload.sparse(FLAGS, rows.iter().map(flags));
        payload
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut row, mut time) = (columns.need(ROW)?, columns.get(TIME));
        let mut flags = columns.get(FLAGS);
        for _ in 0..columns.rows {
            let (id, freed) = (row.delta()?, Nanos(time.delta()?));
            let is_temporary = flags.plain()? & TEMPORARY != 0;
            let blocks = &mut decoder.profile.heap.blocks;
            let block = usize::try_from(id).ok().and_then(|row| blocks.get_mut(row));
            let block = block.ok_or(Damage::Id {
                table: "blocks",
                id,
            })?;
            block.freed = Some(freed);
            block.is_temporary = is_temporary;
        }
        decoder.ends += columns.rows;
        row.finish().and(time.finish()).and(flags.finish())
    }
}

/// `LOST`: unreachable blocks.
pub(super) mod unreachable {
    use super::*;

    const ROW: u8 = 1;

    pub(in crate::v1) fn encode(rows: &[u64], first: usize) -> Payload {
        let mut payload = Payload::new(first, rows.len());
        payload.delta(ROW, rows.iter().copied());
        payload
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let mut row = columns.need(ROW)?;
        for _ in 0..columns.rows {
            let id = row.delta()?;
            let blocks = &mut decoder.profile.heap.blocks;
            let block = usize::try_from(id).ok().and_then(|row| blocks.get_mut(row));
            let block = block.ok_or(Damage::Id {
                table: "blocks",
                id,
            })?;
            block.is_unreachable = true;
        }
        decoder.unreachable += columns.rows;
        row.finish()
    }
}

/// `SRCH`: processes that were searched for such blocks.
pub(super) mod searched {
    use super::*;

    const PROCESS: u8 = 1;

    pub(in crate::v1) fn encode(rows: &[ProcessId], first: usize) -> Payload {
        let mut payload = Payload::new(first, rows.len());
        payload.delta(PROCESS, rows.iter().map(|row| u64::from(row.0)));
        payload
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let mut process = columns.need(PROCESS)?;
        for _ in 0..columns.rows {
            let row = ProcessId::from_index(decoder.process(process.delta()?)?);
            decoder.profile.heap.searched.push(row);
        }
        process.finish()
    }
}

/// `SITE`, and `site` for changed rows: sums by stack.
pub(super) mod sites {
    use super::*;

    const PROCESS: u8 = 1;
    const STACK: u8 = 2;
    const DOMAIN: u8 = 3;
    const AMOUNTS: [(u8, u8); 4] = [(4, 5), (6, 7), (8, 9), (10, 11)];
    const LIFETIMES: u8 = 12;
    const NUMBER: u8 = 13;
    const UNREACHABLE: (u8, u8) = (14, 15);

    pub(in crate::v1) fn encode(rows: &[Site], first: usize) -> Result<Payload, Error> {
        let mut payload = Payload::new(first, rows.len());
        let rows = || rows.iter();
        let mut domains = Vec::new();
        for row in rows() {
            domains.push(code_of(DOMAINS, "allocator", &row.domain)?);
        }
        payload.plain(PROCESS, rows().map(|row| u64::from(row.process.0)));
        payload.delta(STACK, rows().map(|row| u64::from(row.stack.0)));
        payload.sparse(DOMAIN, domains.into_iter());
        let amounts: [fn(&Site) -> Amount; 4] = [
            |row| row.allocated,
            |row| row.freed,
            |row| row.temporary,
            |row| row.at_peak,
        ];
        for ((count, bytes), amount) in AMOUNTS.into_iter().zip(amounts) {
            payload.sparse(count, rows().map(|row| amount(row).count));
            payload.sparse(bytes, rows().map(|row| amount(row).bytes));
        }
        payload.sparse(LIFETIMES, rows().map(|row| row.lifetimes.0));
        payload.delta(NUMBER, rows().map(|row| u64::from(row.number)));
        payload.sparse(UNREACHABLE.0, rows().map(|row| row.unreachable.count));
        payload.sparse(UNREACHABLE.1, rows().map(|row| row.unreachable.bytes));
        Ok(payload)
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut process, mut stack) = (columns.need(PROCESS)?, columns.get(STACK));
        let (mut domain, mut lifetimes) = (columns.get(DOMAIN), columns.get(LIFETIMES));
        let mut number = columns.get(NUMBER);
        let mut unreachable = (columns.get(UNREACHABLE.0), columns.get(UNREACHABLE.1));
        let mut amounts = AMOUNTS.map(|(count, bytes)| (columns.get(count), columns.get(bytes)));
        let first = usize::try_from(columns.first).map_err(|_| Damage::Number)?;
        for index in 0..columns.rows {
            let mut next = [Amount::default(); 4];
            for (amount, columns) in next.iter_mut().zip(&mut amounts) {
                *amount = amount_of(columns)?;
            }
            let [allocated, freed, temporary, at_peak] = next;
            let row = Site {
                process: ProcessId::from_index(decoder.process(process.plain()?)?),
                stack: decoder.stack(stack.delta()?)?,
                domain: domain_of(decoder, domain.plain()?),
                allocated,
                freed,
                temporary,
                at_peak,
                lifetimes: Nanos(lifetimes.plain()?),
                unreachable: amount_of(&mut unreachable)?,
                number: u32::try_from(number.delta()?).map_err(|_| Damage::Number)?,
            };
            match decoder.profile.heap.sites.get_mut(first + index) {
                Some(site) => *site = row,
                None => decoder.profile.heap.sites.push(row),
            }
        }
        for (count, bytes) in amounts.into_iter().chain([unreachable]) {
            count.finish().and(bytes.finish())?;
        }
        let where_from = process.finish().and(stack.finish()).and(domain.finish());
        where_from.and(lifetimes.finish()).and(number.finish())
    }
}

/// `MOMT`: the growth of the sums.
pub(super) mod moments {
    use super::*;

    const SITE: u8 = 1;
    const TIME: u8 = 2;
    const ALLOCATED: (u8, u8) = (3, 4);
    const LIVE: (u8, u8) = (5, 6);

    pub(in crate::v1) fn encode(rows: &[Moment], first: usize) -> Payload {
        let mut payload = Payload::new(first, rows.len());
        let rows = || rows.iter();
        payload.delta(SITE, rows().map(|row| u64::from(row.site)));
        payload.delta(TIME, rows().map(|row| row.time.0));
        payload.plain(ALLOCATED.0, rows().map(|row| row.allocated.count));
        payload.plain(ALLOCATED.1, rows().map(|row| row.allocated.bytes));
        payload.plain(LIVE.0, rows().map(|row| row.live.count));
        payload.plain(LIVE.1, rows().map(|row| row.live.bytes));
        payload
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut site, mut time) = (columns.need(SITE)?, columns.get(TIME));
        let mut allocated = (columns.get(ALLOCATED.0), columns.get(ALLOCATED.1));
        let mut live = (columns.get(LIVE.0), columns.get(LIVE.1));
        for _ in 0..columns.rows {
            let id = site.delta()?;
            let site = u32::try_from(id).ok();
            let sites = decoder.profile.heap.sites.len();
            let site = site.filter(|&site| (site as usize) < sites);
            let row = Moment {
                site: site.ok_or(Damage::Id { table: "sites", id })?,
                time: Nanos(time.delta()?),
                allocated: amount_of(&mut allocated)?,
                live: amount_of(&mut live)?,
            };
            decoder.profile.heap.moments.push(row);
        }
        for column in [allocated.0, allocated.1, live.0, live.1] {
            column.finish()?;
        }
        site.finish().and(time.finish())
    }
}

fn domain_of(decoder: &mut Decoder, code: u64) -> Domain {
    let domain = decoder.value(DOMAINS, "allocator", code);
    domain.unwrap_or_default()
}

fn amount_of((count, bytes): &mut (Column<'_>, Column<'_>)) -> Result<Amount, Damage> {
    Ok(Amount {
        count: count.plain()?,
        bytes: bytes.plain()?,
    })
}
