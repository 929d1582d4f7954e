//! Segments: what a writer knew of each stretch of time that it wrote, as a whole.

use std::ops::Range;

use super::Table;
use crate::Error;
use crate::file::{Group, Put};
use crate::texts::{Text, Texts};

/// The samples of one type of one service in one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SegmentRow {
    /// The service.
    pub service: Text,
    /// The segment's number, which the names of its files end with.
    pub segment: i64,
    /// The machine.
    pub host: Text,
    /// The measured quantity.
    pub kind: Text,
    /// Its begin, in milliseconds since 1970.
    pub starts: i64,
    /// Its end.
    pub ends: i64,
    /// The nominal time between two samples, or bytes between two allocations.
    pub period: i64,
    /// The sum of the values.
    pub value: i64,
    /// The number of samples.
    pub count: i64,
    /// Samples of the whole segment that are missing.
    pub lost: i64,
    /// Samples of the whole segment whose stacks are cut.
    pub truncated: i64,
    /// Samples of the whole segment whose stacks could not be read to their end.
    pub broken: i64,
}

impl Table for SegmentRow {
    const NAME: &'static str = "segments";
    const SCHEMA: &'static str = "message segments {
        REQUIRED BYTE_ARRAY service (STRING);
        REQUIRED INT64 segment;
        REQUIRED BYTE_ARRAY host (STRING);
        REQUIRED BYTE_ARRAY type (STRING);
        REQUIRED INT64 starts (TIMESTAMP(MILLIS,true));
        REQUIRED INT64 ends (TIMESTAMP(MILLIS,true));
        REQUIRED INT64 period;
        REQUIRED INT64 value;
        REQUIRED INT64 count;
        REQUIRED INT64 lost;
        REQUIRED INT64 truncated;
        REQUIRED INT64 broken;
    }";
    const GROUP: usize = 16_384;
    const SORTED_BY: &'static [i32] = &[0];

    fn write(rows: &[Self], texts: &Texts, put: &mut Put<'_, '_>) -> Result<(), Error> {
        put.texts(texts, rows.iter().map(|row| row.service))?;
        put.longs(rows.iter().map(|row| row.segment))?;
        put.texts(texts, rows.iter().map(|row| row.host))?;
        put.texts(texts, rows.iter().map(|row| row.kind))?;
        put.longs(rows.iter().map(|row| row.starts))?;
        put.longs(rows.iter().map(|row| row.ends))?;
        put.longs(rows.iter().map(|row| row.period))?;
        put.longs(rows.iter().map(|row| row.value))?;
        put.longs(rows.iter().map(|row| row.count))?;
        put.longs(rows.iter().map(|row| row.lost))?;
        put.longs(rows.iter().map(|row| row.truncated))?;
        put.longs(rows.iter().map(|row| row.broken))
    }

    fn read(group: &Group<'_>, rows: Range<usize>, texts: &mut Texts) -> Result<Vec<Self>, Error> {
        let mut text = |name| group.texts(name, rows.clone(), texts);
        let (service, host, kind) = (text("service")?, text("host")?, text("type")?);
        let long = |name| group.longs(name, rows.clone());
        let (segment, period) = (long("segment")?, long("period")?);
        let (starts, ends) = (long("starts")?, long("ends")?);
        let (value, count) = (long("value")?, long("count")?);
        let (lost, truncated, broken) = (long("lost")?, long("truncated")?, long("broken")?);
        let row = |at: usize| Self {
            service: service.get(at),
            segment: segment.get(at),
            host: host.get(at),
            kind: kind.get(at),
            starts: starts.get(at),
            ends: ends.get(at),
            period: period.get(at),
            value: value.get(at),
            count: count.get(at),
            lost: lost.get(at),
            truncated: truncated.get(at),
            broken: broken.get(at),
        };
        Ok((0..rows.len()).map(row).collect())
    }
}
