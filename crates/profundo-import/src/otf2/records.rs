//! The records of a file: a kind, a length, and as many bytes. Chunks of one size follow each
//! other, the last one shorter; each begins with its byte order and the numbers of its records.
//!
//! ```text
//! 03  42  first number (8)  last number (8)  record …  00 …     a chunk, and what fills it
//! 02  01                                                        the end of the last one
//! kind  length  bytes                                           length: 1 byte, or ff and 8 bytes
//! 05  time (8)                                                  the time of the events that follow
//! ```

use crate::encoding::cursor::Cursor;

/// The kind of the first byte of a chunk.
const CHUNK: u8 = 3;
/// The byte order that is read: the lowest byte first.
const ORDER: u8 = b'B';

/// The facts of an anchor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Anchor {
    /// The size of a chunk of events.
    pub(super) event_chunk: usize,
    /// The size of a chunk of definitions.
    pub(super) definition_chunk: usize,
}

/// Where a file is cut or damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damage {
    pub(super) at: usize,
}

pub(super) fn is_anchor(start: &[u8]) -> bool {
    matches!(start, [CHUNK, _, b'O', b'T', b'F', b'2', ..])
}

impl Anchor {
    /// Reads the start of an anchor. The error is what it is instead.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, &'static str> {
        let mut cursor = Cursor::new(bytes);
        let head = cursor.take(12).ok_or("the anchor is cut")?;
        if head.get(1) != Some(&ORDER) {
            return Err("it has the highest byte of numbers first");
        }
        let mut size = || {
            let size = usize::try_from(cursor.u64()?).ok()?;
            (size > 256).then_some(size)
        };
        let (events, definitions) = (size(), size());
        let substrate = cursor.byte().ok_or("the anchor is cut")?;
        let compression = cursor.byte().ok_or("the anchor is cut")?;
        if substrate != 1 {
            return Err("it is not of plain files");
        }
        if compression != 1 {
            return Err("it is packed");
        }
        let wrong = "the size of its chunks is wrong";
        Ok(Self {
            event_chunk: events.ok_or(wrong)?,
            definition_chunk: definitions.ok_or(wrong)?,
        })
    }
}

/// Calls `each` with the kind and the bytes of all records, and with the times between them.
pub(super) fn records<'a>(
    bytes: &'a [u8],
    chunk: usize,
    has_times: bool,
    mut each: impl FnMut(Record<'a>),
) -> Option<Damage> {
    let mut start = 0;
    for part in bytes.chunks(chunk.max(1)) {
        let mut cursor = Cursor::new(part);
        match read(&mut cursor, has_times, &mut each) {
            Some(End::Chunk) => start += part.len(),
            Some(End::File) => return None,
            None if cursor.left() == 0 && part.len() == chunk => start += part.len(),
            None => {
                return Some(Damage {
                    at: start + cursor.at(),
                });
            }
        }
    }
    Some(Damage { at: bytes.len() })
}

/// A record, or the time of those that follow.
#[derive(Debug, Clone, Copy)]
pub(super) enum Record<'a> {
    Time(u64),
    Plain(u8, &'a [u8]),
}

enum End {
    Chunk,
    File,
}

fn read<'a>(
    cursor: &mut Cursor<'a>,
    has_times: bool,
    each: &mut impl FnMut(Record<'a>),
) -> Option<End> {
    /// What fills a chunk where the next record does not fit.
    const PADDING: u8 = 0;
    const END_OF_FILE: u8 = 1;
    const END_OF_CHUNK: u8 = 2;
    const TIME: u8 = 5;
    if cursor.byte()? != CHUNK || cursor.byte()? != ORDER {
        return None;
    }
    cursor.take(16)?;
    loop {
        match cursor.byte()? {
            PADDING => return Some(End::Chunk),
            // The end of the file comes after that of its last chunk.
            END_OF_CHUNK => {}
            END_OF_FILE => return Some(End::File),
            TIME if has_times => each(Record::Time(cursor.u64()?)),
            kind => {
                let length = match cursor.byte()? {
                    0xff => usize::try_from(cursor.u64()?).ok()?,
                    length => usize::from(length),
                };
                each(Record::Plain(kind, cursor.take(length)?));
            }
        }
    }
}

/// A number with the count of its bytes before it; `ff` stands for no number.
pub(super) fn number(cursor: &mut Cursor<'_>) -> Option<Option<u64>> {
    match cursor.byte()? {
        0xff => Some(None),
        length if length <= 8 => Some(little_endian(cursor.take(usize::from(length))?)),
        _ => None,
    }
}

/// A number of up to eight bytes.
pub(super) fn little_endian(bytes: &[u8]) -> Option<u64> {
    let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
    (bytes.len() <= 8).then(|| bytes.iter().rev().fold(0, add))
}
