//! The records in the order of time. Each CPU has written its own, so the file has them in another
//! order; and some are packed, in one stream of zstd that goes on from record to record.

use super::bytes::Bytes;
use super::head::Head;
use crate::encoding::unpack;
use crate::{Builder, Warning};

/// Kinds of records.
pub(super) mod kind {
    pub(crate) const MMAP: u32 = 1;
    pub(crate) const LOST: u32 = 2;
    pub(crate) const COMM: u32 = 3;
    pub(crate) const EXIT: u32 = 4;
    pub(crate) const FORK: u32 = 7;
    pub(crate) const SAMPLE: u32 = 9;
    pub(crate) const MMAP2: u32 = 10;
    pub(crate) const LOST_SAMPLES: u32 = 13;
    pub(crate) const ATTR: u32 = 64;
    pub(crate) const TRACING_DATA: u32 = 66;
    pub(crate) const BUILD_ID: u32 = 67;
    pub(crate) const AUXTRACE: u32 = 71;
    pub(crate) const EVENT_UPDATE: u32 = 78;
    pub(crate) const FEATURE: u32 = 80;
    pub(crate) const COMPRESSED: u32 = 81;
    pub(crate) const COMPRESSED2: u32 = 83;
}

/// A record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub kind: u32,
    pub misc: u16,
    /// The bytes behind its head.
    pub body: &'a [u8],
}

/// A record's place.
#[derive(Debug, Clone, Copy)]
struct Place {
    time: u64,
    /// The offset in the file, or, behind its end, in the unpacked bytes.
    at: usize,
}

/// The records of a file.
#[derive(Debug, Default)]
pub(super) struct Records {
    unpacked: Vec<u8>,
    places: Vec<Place>,
}

impl Records {
    /// Finds all records, and takes in those that belong to the head.
    pub(super) fn find(file: &[u8], head: &mut Head, builder: &mut Builder) -> Self {
        let mut records = Self::default();
        let mut packed = Vec::new();
        let (start, end) = head.records;
        let whole = file.get(..end).unwrap_or(file);
        records.walk(whole, start, 0, head, &mut packed, builder);
        if !packed.is_empty() {
            match unpack::zstd_stream(packed) {
                Ok(unpacked) => {
                    if unpacked.is_cut {
                        builder.warn(Warning::PackedCut);
                    }
                    records.unpacked = unpacked.bytes;
                }
                Err(error) => {
                    builder.warn(Warning::Damaged {
                        offset: start as u64,
                        what: error.to_string(),
                    });
                }
            }
            let unpacked = std::mem::take(&mut records.unpacked);
            records.walk(&unpacked, 0, file.len(), head, &mut Vec::new(), builder);
            records.unpacked = unpacked;
        }
        // They are in order almost everywhere, which this sort is fast for.
        records.places.sort_by_key(|place| place.time);
        records
    }

    /// Walks along the records of some bytes, which lie at `base`.
    fn walk(
        &mut self,
        bytes: &[u8],
        start: usize,
        base: usize,
        head: &mut Head,
        packed: &mut Vec<u8>,
        builder: &mut Builder,
    ) {
        let mut at = start;
        let mut latest = 0;
        while at < bytes.len() {
            let Some((record, size)) = record(bytes, at, head.is_big) else {
                let offset = (base + at) as u64;
                let what = "a record has no end".to_owned();
                builder.warn(Warning::Damaged { offset, what });
                return;
            };
            let behind = match record.kind {
                kind::COMPRESSED => {
                    packed.extend_from_slice(record.body);
                    0
                }
                kind::COMPRESSED2 => {
                    let mut from = Bytes::new(record.body, head.is_big);
                    let size = from.u64().and_then(|size| usize::try_from(size).ok());
                    packed.extend_from_slice(size.and_then(|size| from.take(size)).unwrap_or(&[]));
                    0
                }
                1..64 => {
                    latest = self.add(record, base + at, head, latest);
                    0
                }
                _ => take(record, head).unwrap_or(0),
            };
            at = at.saturating_add(size).saturating_add(behind);
        }
    }

    /// Adds a record that has a place in time. Others have that of the one before.
    fn add(&mut self, record: Record<'_>, at: usize, head: &Head, latest: u64) -> u64 {
        let time = match record.kind {
            kind::SAMPLE => {
                let body = Bytes::new(record.body, head.is_big);
                head.attr_of(body).and_then(|(_, attr)| attr.time(body))
            }
            kind::MMAP
            | kind::MMAP2
            | kind::COMM
            | kind::EXIT
            | kind::FORK
            | kind::LOST
            | kind::LOST_SAMPLES => {
                let attr = head.attrs.first();
                attr.and_then(|attr| attr.time_of_other(record.body, head.is_big))
            }
            _ => return latest,
        };
        let time = time.unwrap_or(latest);
        self.places.push(Place { time, at });
        time.max(latest)
    }

    /// The records in order, with their times.
    pub(super) fn iter<'a>(
        &'a self,
        file: &'a [u8],
        is_big: bool,
    ) -> impl Iterator<Item = (u64, Record<'a>)> {
        self.places.iter().filter_map(move |place| {
            let found = match place.at.checked_sub(file.len()) {
                None => record(file, place.at, is_big),
                Some(at) => record(&self.unpacked, at, is_big),
            };
            found.map(|(record, _)| (place.time, record))
        })
    }
}

/// The record at an offset, and its size.
fn record(bytes: &[u8], at: usize, is_big: bool) -> Option<(Record<'_>, usize)> {
    const HEAD: usize = 8;
    let mut from = Bytes::new(bytes.get(at..)?, is_big);
    let (kind, misc, size) = (from.u32()?, from.u16()?, usize::from(from.u16()?));
    let body = from.take(size.checked_sub(HEAD)?)?;
    Some((Record { kind, misc, body }, size))
}

/// Takes in a record of the head. Returns the number of bytes that follow it.
fn take(record: Record<'_>, head: &mut Head) -> Option<usize> {
    let mut from = Bytes::new(record.body, head.is_big);
    match record.kind {
        kind::ATTR if head.is_pipe => {
            let mut at = from;
            at.skip(4)?;
            let size = usize::try_from(at.u32()?).ok()?;
            let attr = from.take(size)?;
            head.add_attr(attr, from.rest())?;
        }
        kind::EVENT_UPDATE => {
            const NAME: u64 = 2;
            let (what, id) = (from.u64()?, from.u64()?);
            if what == NAME {
                head.name_event(id, from.text());
            }
        }
        kind::BUILD_ID => head.add_build_id(record.body, record.misc)?,
        kind::FEATURE => {
            let number = from.u64()?;
            head.add_feature(number, from.rest())?;
        }
        kind::TRACING_DATA => {
            let size = usize::try_from(from.u32()?).ok()?;
            return size.checked_next_multiple_of(8);
        }
        kind::AUXTRACE => return usize::try_from(from.u64()?).ok(),
        _ => {}
    }
    Some(0)
}
