//! A chunk: a recording complete in itself, with its clock, its types and its constants. A file is
//! one chunk after another.

use rustc_hash::FxHashMap;

use super::metadata::Types;
use super::wire::Cursor;

pub(super) const MAGIC: &[u8] = b"FLR\0";

/// The length of a chunk's head.
const HEAD: usize = 68;

/// A chunk with its types.
#[derive(Debug)]
pub(super) struct Chunk<'a> {
    /// Its bytes, from its head on.
    pub(super) bytes: &'a [u8],
    pub(super) types: Types,
    clock: Clock,
    /// The places of its tables of constants, oldest first.
    pub(super) checkpoints: Vec<usize>,
    /// The number of events by the id of their type.
    pub(super) counts: FxHashMap<u64, u64>,
    /// The problem that ended it, and its place.
    pub(super) damage: Option<(usize, &'static str)>,
}

/// The clock of a chunk's events.
#[derive(Debug, Clone, Copy)]
struct Clock {
    /// Nanoseconds since 1970 at the chunk's start.
    start: u64,
    start_ticks: u64,
    per_second: u64,
    length: u64,
}

impl<'a> Chunk<'a> {
    /// Reads the head and the types of the chunk at the start of these bytes.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, &'static str> {
        if !bytes.starts_with(MAGIC) {
            return Err("no chunk");
        }
        let word = |at: usize| {
            let bytes = bytes.get(at..at + 8)?.try_into().ok()?;
            Some(u64::from_be_bytes(bytes))
        };
        let head = |at: usize| word(at).ok_or("the head of a chunk is cut");
        let (size, metadata) = (head(8)?, head(24)?);
        let clock = Clock {
            start: head(32)?,
            length: head(40)?,
            start_ticks: head(48)?,
            per_second: head(56)?.max(1),
        };
        let flags = bytes.get(67).ok_or("the head of a chunk is cut")?;
        if flags & 1 == 0 {
            return Err("the numbers of a chunk are not compressed");
        }
        let mut damage = None;
        let bytes = match usize::try_from(size) {
            Ok(size) if size > HEAD && size <= bytes.len() => &bytes[..size],
            _ => {
                damage = Some((bytes.len(), "a chunk is cut"));
                bytes
            }
        };
        let mut chunk = Self {
            bytes,
            types: Types::default(),
            clock,
            checkpoints: Vec::new(),
            counts: FxHashMap::default(),
            damage,
        };
        let mut found = None;
        let end = chunk.walk(|chunk, at, kind, _| match kind {
            0 => found = Some(at),
            1 => chunk.checkpoints.push(at),
            _ => *chunk.counts.entry(kind).or_default() += 1,
        });
        if let Err(at) = end {
            chunk.damage = Some((at, "an event has no length"));
        }
        let noted = usize::try_from(metadata).ok().filter(|&at| at >= HEAD);
        let types = noted.and_then(|at| Types::read(bytes, at));
        let types = types.or_else(|| found.and_then(|at| Types::read(bytes, at)));
        chunk.types = types.ok_or("a chunk has no types")?;
        Ok(chunk)
    }

    /// All events: their places, the ids of their types, and the events themselves after these. The
    /// error is the place of an event that is cut.
    pub(super) fn events(&self, mut each: impl FnMut(u64, Cursor<'a>)) {
        let mut at = HEAD;
        while let Some((end, kind, cursor)) = self.event(at) {
            if kind > 1 {
                each(kind, cursor);
            }
            at = end;
        }
    }

    fn walk(&mut self, mut each: impl FnMut(&mut Self, usize, u64, usize)) -> Result<(), usize> {
        let mut at = HEAD;
        while let Some((end, kind, _)) = self.event(at) {
            each(self, at, kind, end);
            at = end;
        }
        match at >= self.bytes.len() {
            true => Ok(()),
            false => Err(at),
        }
    }

    fn event(&self, at: usize) -> Option<(usize, u64, Cursor<'a>)> {
        let mut cursor = Cursor::new(self.bytes, at);
        let size = usize::try_from(cursor.number()?).ok()?;
        let kind = cursor.number()?;
        let end = at.checked_add(size)?;
        let event = self.bytes.get(..end)?;
        (end >= cursor.at()).then(|| (end, kind, Cursor::new(event, cursor.at())))
    }

    /// Nanoseconds since 1970 at an instant of the chunk's clock.
    pub(super) fn time(&self, ticks: u64) -> u64 {
        let since = i128::from(ticks.wrapping_sub(self.clock.start_ticks).cast_signed());
        let since = since * 1_000_000_000 / i128::from(self.clock.per_second);
        u64::try_from(i128::from(self.clock.start) + since).unwrap_or(self.clock.start)
    }

    /// The nanoseconds of a length.
    pub(super) fn length(&self, ticks: u64) -> u64 {
        let nanoseconds = u128::from(ticks) * 1_000_000_000 / u128::from(self.clock.per_second);
        u64::try_from(nanoseconds).unwrap_or(u64::MAX)
    }

    /// The end of the chunk in nanoseconds since 1970.
    pub(super) fn end(&self) -> u64 {
        self.clock.start.saturating_add(self.clock.length)
    }
}
