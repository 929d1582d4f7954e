//! Spans and marks. A path stands behind the one around it. Row 0, outside of spans, is in every
//! profile and never written.

use std::ops::Range;

use profundo_model::{
    Lengths, Mark, Nanos, ProcessId, Profile, Span, SpanId, SpanLoss, SpanPath, SpanSum, TaskId,
    ThreadId,
};

use super::column::{Columns, Payload};
use super::read::Decoder;
use crate::{Damage, Error};

/// `SPTH`: paths.
pub(super) mod paths {
    use super::*;

    const PARENT: u8 = 1;
    const NAME: u8 = 2;
    const COUNT: u8 = 3;
    const ATTRIBUTES: u8 = 4;

    pub(in crate::v1) fn encode(profile: &Profile, rows: Range<usize>) -> Result<Payload, Error> {
        let all = &profile.spans.paths;
        let paths = || rows.clone().map(|row| all.get(SpanId::from_index(row)));
        let mut payload = Payload::new(rows.start, rows.len());
        let up = |(row, path): (usize, &SpanPath)| {
            let up = path.parent.map(|parent| row - parent.index());
            up.unwrap_or(0) as u64
        };
        payload.plain(PARENT, rows.clone().zip(paths()).map(up));
        payload.plain(NAME, paths().map(|path| u64::from(path.name.0)));
        let count = |path: &SpanPath| path.attributes.len() as u64;
        payload.sparse(COUNT, paths().map(count));
        if paths().any(|path| !path.attributes.is_empty()) {
            let texts = paths().flat_map(|path| &path.attributes);
            let texts = texts.flat_map(|&(key, value)| [key, value]);
            payload.delta(ATTRIBUTES, texts.map(|text| u64::from(text.0)));
        }
        Ok(payload)
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut parent, mut name) = (columns.need(PARENT)?, columns.get(NAME));
        let (mut count, mut texts) = (columns.get(COUNT), columns.get(ATTRIBUTES));
        for row in columns.indices() {
            let parent = match parent.plain()? {
                0 => None,
                up => {
                    let table = "paths of spans";
                    let at = (row as u64).checked_sub(up).filter(|&at| at > 0);
                    let at = at.ok_or(Damage::Id { table, id: up })?;
                    Some(decoder.span(at)?)
                }
            };
            let count = count.plain()?;
            if count > texts.left() as u64 {
                return Err(Damage::Column(ATTRIBUTES));
            }
            let mut attributes = Vec::new();
            for _ in 0..count {
                let key = decoder.string(texts.delta()?)?;
                attributes.push((key, decoder.string(texts.delta()?)?));
            }
            let path = SpanPath {
                parent,
                name: decoder.string(name.plain()?)?,
                attributes: attributes.into(),
            };
            let id = decoder.profile.spans.paths.intern(path);
            decoder.spans.push(id);
        }
        (parent.finish())
            .and(name.finish())
            .and(count.finish())
            .and(texts.finish())
    }
}

/// `SPAN`: spans with a row each.
pub(super) mod each {
    use super::*;

    const PATH: u8 = 1;
    const THREAD: u8 = 2;
    const TASK: u8 = 3;
    const NUMBER: u8 = 4;
    const PARENT: u8 = 5;
    const FROM: u8 = 6;
    /// The length, plus one; 0 if it was open at the end.
    const LENGTH: u8 = 7;

    pub(in crate::v1) fn encode(rows: &[Span], first: usize) -> Payload {
        let mut payload = Payload::new(first, rows.len());
        let rows = || rows.iter();
        let length = |row: &Span| {
            let length = row.to.map(|to| to.0.wrapping_sub(row.from.0));
            length.map_or(0, |length| length.wrapping_add(1))
        };
        payload.plain(PATH, rows().map(|row| u64::from(row.path.0)));
        payload.plain(THREAD, rows().map(|row| u64::from(row.thread.0)));
        payload.delta(TASK, rows().map(|row| u64::from(row.task.0)));
        payload.delta(NUMBER, rows().map(|row| row.number));
        payload.delta(PARENT, rows().map(|row| row.parent));
        payload.delta(FROM, rows().map(|row| row.from.0));
        payload.plain(LENGTH, rows().map(length));
        payload
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut path, mut thread) = (columns.need(PATH)?, columns.get(THREAD));
        let (mut task, mut number) = (columns.get(TASK), columns.get(NUMBER));
        let (mut parent, mut from) = (columns.get(PARENT), columns.get(FROM));
        let mut length = columns.get(LENGTH);
        for _ in 0..columns.rows {
            let from = from.delta()?;
            let length = length.plain()?.checked_sub(1);
            let row = Span {
                path: decoder.span(path.plain()?)?,
                thread: ThreadId::from_index(decoder.thread(thread.plain()?)?),
                task: TaskId::from_index(decoder.task(task.delta()?)?),
                number: number.delta()?,
                parent: parent.delta()?,
                from: Nanos(from),
                to: length.map(|length| Nanos(from.wrapping_add(length))),
            };
            decoder.profile.spans.each.push(row);
        }
        let who = path.finish().and(thread.finish()).and(task.finish());
        let what = number.finish().and(parent.finish());
        who.and(what).and(from.finish()).and(length.finish())
    }
}

/// `SPSU`: sums of spans.
pub(super) mod sums {
    use super::*;

    const PATH: u8 = 1;
    const PROCESS: u8 = 2;
    const THREAD: u8 = 3;
    const COUNT: u8 = 4;
    const TOTAL: u8 = 5;
    const LEAST: u8 = 6;
    const MOST: u8 = 7;
    const BUCKETS: u8 = 8;
    const BUCKET: u8 = 9;
    const IN_BUCKET: u8 = 10;

    pub(in crate::v1) fn encode(rows: &[SpanSum], first: usize) -> Payload {
        let mut payload = Payload::new(first, rows.len());
        let rows = || rows.iter();
        let thread = |row: &SpanSum| row.thread.map_or(0, |id| u64::from(id.0) + 1);
        let buckets = || rows().flat_map(|row| &row.lengths.buckets);
        payload.plain(PATH, rows().map(|row| u64::from(row.path.0)));
        payload.plain(PROCESS, rows().map(|row| u64::from(row.process.0)));
        payload.plain(THREAD, rows().map(thread));
        payload.plain(COUNT, rows().map(|row| row.lengths.count));
        payload.plain(TOTAL, rows().map(|row| row.lengths.total));
        payload.plain(LEAST, rows().map(|row| row.lengths.least));
        payload.plain(MOST, rows().map(|row| row.lengths.most));
        let count = |row: &SpanSum| row.lengths.buckets.len() as u64;
        payload.plain(BUCKETS, rows().map(count));
        payload.delta(BUCKET, buckets().map(|&(bucket, _)| u64::from(bucket)));
        payload.plain(IN_BUCKET, buckets().map(|&(_, count)| count));
        payload
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut path, mut process) = (columns.need(PATH)?, columns.get(PROCESS));
        let (mut thread, mut count) = (columns.get(THREAD), columns.get(COUNT));
        let (mut total, mut least) = (columns.get(TOTAL), columns.get(LEAST));
        let (mut most, mut buckets) = (columns.get(MOST), columns.get(BUCKETS));
        let (mut bucket, mut within) = (columns.get(BUCKET), columns.get(IN_BUCKET));
        for _ in 0..columns.rows {
            let thread = match thread.plain()?.checked_sub(1) {
                Some(thread) => Some(ThreadId::from_index(decoder.thread(thread)?)),
                None => None,
            };
            let mut lengths = Lengths {
                count: count.plain()?,
                total: total.plain()?,
                least: least.plain()?,
                most: most.plain()?,
                buckets: Vec::new(),
            };
            let buckets = buckets.plain()?;
            if buckets > bucket.left() as u64 {
                return Err(Damage::Column(BUCKETS));
            }
            for _ in 0..buckets {
                let number = u16::try_from(bucket.delta()?).map_err(|_| Damage::Number)?;
                lengths.buckets.push((number, within.plain()?));
            }
            if !lengths.buckets.is_sorted_by(|one, next| one.0 < next.0) {
                return Err(Damage::Column(BUCKET));
            }
            let row = SpanSum {
                path: decoder.span(path.plain()?)?,
                process: ProcessId::from_index(decoder.process(process.plain()?)?),
                thread,
                lengths,
            };
            decoder.profile.spans.sums.push(row);
        }
        let who = path.finish().and(process.finish()).and(thread.finish());
        let what = count.finish().and(total.finish()).and(least.finish());
        let how = most.finish().and(buckets.finish()).and(bucket.finish());
        who.and(what).and(how).and(within.finish())
    }
}

/// `MARK`: marks.
pub(super) mod marks {
    use super::*;

    const NAME: u8 = 1;
    const TIME: u8 = 2;
    const THREAD: u8 = 3;
    const TASK: u8 = 4;
    const PATH: u8 = 5;

    pub(in crate::v1) fn encode(rows: &[Mark], first: usize) -> Payload {
        let mut payload = Payload::new(first, rows.len());
        let rows = || rows.iter();
        payload.plain(NAME, rows().map(|row| u64::from(row.name.0)));
        payload.delta(TIME, rows().map(|row| row.time.0));
        payload.plain(THREAD, rows().map(|row| u64::from(row.thread.0)));
        payload.delta(TASK, rows().map(|row| u64::from(row.task.0)));
        payload.sparse(PATH, rows().map(|row| u64::from(row.span.0)));
        payload
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut name, mut time) = (columns.need(NAME)?, columns.get(TIME));
        let (mut thread, mut task) = (columns.get(THREAD), columns.get(TASK));
        let mut path = columns.get(PATH);
        for _ in 0..columns.rows {
            let row = Mark {
                name: decoder.string(name.plain()?)?,
                time: Nanos(time.delta()?),
                thread: ThreadId::from_index(decoder.thread(thread.plain()?)?),
                task: TaskId::from_index(decoder.task(task.delta()?)?),
                span: decoder.span(path.plain()?)?,
            };
            decoder.profile.spans.marks.push(row);
        }
        let who = thread.finish().and(task.finish()).and(path.finish());
        name.finish().and(time.finish()).and(who)
    }
}

/// `SPLO`: what was not kept, one row.
pub(super) mod loss {
    use super::*;

    const MARKS: u8 = 1;
    const ATTRIBUTES: u8 = 2;
    const NAMES: u8 = 3;

    pub(in crate::v1) fn encode(loss: SpanLoss) -> Payload {
        let mut payload = Payload::new(0, 1);
        payload.plain(MARKS, [loss.marks].into_iter());
        payload.plain(ATTRIBUTES, [loss.attributes].into_iter());
        payload.plain(NAMES, [loss.names].into_iter());
        payload
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let one = |column| columns.get(column).plain();
        decoder.profile.spans.loss = SpanLoss {
            marks: one(MARKS)?,
            attributes: one(ATTRIBUTES)?,
            names: one(NAMES)?,
        };
        Ok(())
    }
}
