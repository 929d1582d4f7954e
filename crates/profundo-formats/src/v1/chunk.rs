//! A chunk has its length before its bytes, and a checksum, so a reader can stop at the first one
//! that is not whole and skip an unknown one.
//!
//! ```text
//!  0      4       5          8            12            16         20
//! +------+-------+----------+------------+-------------+----------+------------------+
//! | kind | codec | reserved | raw length | stored len. | CRC-32   | stored bytes     |
//! | 4 B  | u8    | 3 B of 0 | u32, LE    | u32, LE     | u32, LE  | packed payload   |
//! +------+-------+----------+------------+-------------+----------+------------------+
//! ```
//!
//! The checksum is taken over the first 16 bytes and the stored bytes, so no flipped bit in a
//! length can send the reader astray.
//!
//! Deflate can pack a thousand bytes into one, and a file of a few kilobytes could fill a reader's
//! memory. So there is an [`Allowance`] that grows with the file, and the writer stores payloads
//! beyond it without packing.

use std::io::Write;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::ahead::{self, Ahead};
use crate::{Damage, Error};

/// The kind of a chunk: four letters, readable in a hex dump.
pub(super) type Kind = [u8; 4];

pub(super) const META: Kind = *b"META";
pub(super) const STRINGS: Kind = *b"STRS";
pub(super) const FILES: Kind = *b"FILE";
pub(super) const FRAMES: Kind = *b"FRAM";
pub(super) const MODULES: Kind = *b"MODU";
pub(super) const LOCATIONS: Kind = *b"LOCA";
pub(super) const STACKS: Kind = *b"STAK";
pub(super) const ORIGINS: Kind = *b"ORIG";
pub(super) const PROCESSES: Kind = *b"PROC";
pub(super) const THREADS: Kind = *b"THRD";
pub(super) const TASKS: Kind = *b"TASK";
pub(super) const SOURCES: Kind = *b"SRCE";
pub(super) const SOURCE_FILES: Kind = *b"SRCF";
pub(super) const CODES: Kind = *b"CODE";
pub(super) const MAPPINGS: Kind = *b"MAPS";
pub(super) const TRAFFIC: Kind = *b"TRAF";
pub(super) const SYSCALLS: Kind = *b"SYSC";
pub(super) const HEAP: Kind = *b"HEAP";
pub(super) const BLOCKS: Kind = *b"BLCK";
pub(super) const ENDS: Kind = *b"FREE";
pub(super) const COPIES: Kind = *b"COPY";
pub(super) const UNREACHABLE: Kind = *b"LOST";
pub(super) const SEARCHED: Kind = *b"SRCH";
pub(super) const SITES: Kind = *b"SITE";
pub(super) const MOMENTS: Kind = *b"MOMT";
pub(super) const GAUGES: Kind = *b"GAUG";
pub(super) const TRACED: Kind = *b"TRCD";
pub(super) const CALLS: Kind = *b"CALL";
pub(super) const LINES: Kind = *b"LINE";
pub(super) const EXCEPTIONS: Kind = *b"EXCN";
pub(super) const SPAN_PATHS: Kind = *b"SPTH";
pub(super) const SPANS: Kind = *b"SPAN";
pub(super) const SPAN_SUMS: Kind = *b"SPSU";
pub(super) const SPAN_LOSS: Kind = *b"SPLO";
pub(super) const MARKS: Kind = *b"MARK";
pub(super) const SAMPLES: Kind = *b"SAMP";
pub(super) const END: Kind = *b"END.";

// In small letters: new values of existing rows.
pub(super) const MODULES_AGAIN: Kind = *b"modu";
pub(super) const LOCATIONS_NAMED: Kind = *b"loca";
pub(super) const PROCESSES_AGAIN: Kind = *b"proc";
pub(super) const THREADS_AGAIN: Kind = *b"thrd";
pub(super) const TASKS_AGAIN: Kind = *b"task";
/// Rows that stand for several samples.
pub(super) const SUMMED: Kind = *b"summ";
pub(super) const SITES_AGAIN: Kind = *b"site";

/// No payload is longer than this, so one chunk cannot make a reader allocate more.
pub(super) const MAX_RAW: usize = 64 << 20;

pub(super) const HEAD: usize = 20;
/// The most bytes of a payload for one byte of the file, in a file larger than the basic allowance.
pub(crate) const MOST_PACKED: u64 = Allowance::RATIO;

const CODEC_STORED: u8 = 0;
const CODEC_DEFLATE: u8 = 1;
/// Smaller payloads are stored: packing saves less than a chunk's head.
const WORTH_PACKING: usize = 64;

/// The bytes that may have been unpacked by the end of a chunk: 8 MiB, and 16 for each byte of the
/// file up to there. Files of real samples stay far below it.
struct Allowance {
    unpacked: u64,
}

impl Allowance {
    const FREE: u64 = 8 << 20;
    const RATIO: u64 = 16;

    fn new() -> Self {
        Self { unpacked: 0 }
    }

    fn covers(&self, raw_len: usize, end: usize) -> bool {
        self.unpacked + raw_len as u64 <= Self::FREE + Self::RATIO * end as u64
    }

    fn take(&mut self, raw_len: usize) {
        self.unpacked += raw_len as u64;
    }
}

/// Frames and packs payloads; keeps the compressor's memory between chunks.
pub(super) struct ChunkWriter<W> {
    out: W,
    packer: Compress,
    packed: Vec<u8>,
    /// The length of the file so far.
    offset: usize,
    allowance: Allowance,
}

impl<W: Write> ChunkWriter<W> {
    /// Writes chunks from `offset` of the file on.
    pub(super) fn new(out: W, offset: usize) -> Self {
        // The fastest level: columns of differences leave deflate little more to find at others.
        let packer = Compress::new(Compression::fast(), false);
        Self {
            out,
            packer,
            packed: Vec::new(),
            offset,
            allowance: Allowance::new(),
        }
    }

    /// The length of the file so far.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// The underlying writer.
    pub(super) fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    pub(super) fn into_inner(self) -> W {
        self.out
    }

    pub(super) fn write(&mut self, kind: Kind, raw: &[u8]) -> Result<(), Error> {
        if raw.len() > MAX_RAW {
            let kind = name(kind);
            return Err(Error::TooLarge {
                kind,
                bytes: raw.len(),
                most: MAX_RAW,
            });
        }
        let (codec, stored) = match self.pack(raw) {
            true => (CODEC_DEFLATE, &self.packed[..]),
            false => (CODEC_STORED, raw),
        };
        self.offset += HEAD + stored.len();
        self.allowance.take(raw.len());
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&kind);
        head[4] = codec;
        head[8..12].copy_from_slice(&(raw.len() as u32).to_le_bytes());
        head[12..16].copy_from_slice(&(stored.len() as u32).to_le_bytes());
        let sum = checksum(&head[..16], stored);
        head[16..].copy_from_slice(&sum.to_le_bytes());
        self.out
            .write_all(&head)
            .and_then(|()| self.out.write_all(stored))
            .map_err(Error::Write)
    }

    /// Whether `packed` now holds `raw` in fewer bytes.
    fn pack(&mut self, raw: &[u8]) -> bool {
        if raw.len() < WORTH_PACKING {
            return false;
        }
        self.packer.reset();
        self.packed.clear();
        // Room for less than the payload: a compressor that exceeds it has not helped.
        self.packed.reserve_exact(raw.len());
        let status = self
            .packer
            .compress_vec(raw, &mut self.packed, FlushCompress::Finish);
        matches!(status, Ok(Status::StreamEnd))
            && self.packed.len() < raw.len()
            && self
                .allowance
                .covers(raw.len(), self.offset + HEAD + self.packed.len())
    }
}

/// A whole chunk, still packed.
#[derive(Clone, Copy)]
pub(super) struct Packed<'a> {
    /// Its offset in the file.
    pub(super) offset: usize,
    /// The offset of the next one.
    pub(super) end: usize,
    pub(super) kind: Kind,
    codec: u8,
    pub(super) raw_len: usize,
    head: &'a [u8; HEAD],
    stored: &'a [u8],
}

impl Packed<'_> {
    pub(super) fn is_deflated(&self) -> bool {
        self.codec == CODEC_DEFLATE
    }

    /// Whether the checksum is right.
    pub(super) fn is_sound(&self) -> bool {
        let head = self.head;
        let sum = u32::from_le_bytes([head[16], head[17], head[18], head[19]]);
        checksum(&head[..16], self.stored) == sum
    }
}

/// The content at an offset of the file.
pub(super) enum Next<'a> {
    /// A chunk whose checksum is right.
    Chunk(Packed<'a>),
    /// The file ends here, or within the chunk that begins here.
    Cut,
    Damaged(Damage),
}

/// The chunk that begins at `offset`, sound or not; `None` where the file is cut.
pub(super) fn packed(bytes: &[u8], offset: usize) -> Option<Packed<'_>> {
    let (head, rest) = bytes.get(offset..)?.split_first_chunk::<HEAD>()?;
    let head_read = Head::read(head);
    Some(head_read.with(offset, head, rest.get(..head_read.stored_len)?))
}

/// The head of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) kind: Kind,
    codec: u8,
    pub(super) raw_len: usize,
    pub(super) stored_len: usize,
}

impl Head {
    pub(super) fn read(head: &[u8; HEAD]) -> Self {
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        Self {
            kind: [head[0], head[1], head[2], head[3]],
            codec: head[4],
            raw_len: word(8) as usize,
            stored_len: word(12) as usize,
        }
    }

    /// The chunk at `offset` of its file, with these bytes.
    pub(super) fn with<'a>(
        self,
        offset: usize,
        head: &'a [u8; HEAD],
        stored: &'a [u8],
    ) -> Packed<'a> {
        Packed {
            offset,
            end: offset + HEAD + stored.len(),
            kind: self.kind,
            codec: self.codec,
            raw_len: self.raw_len,
            head,
            stored,
        }
    }
}

/// The chunk that begins at `offset`.
pub(super) fn next(bytes: &[u8], offset: usize) -> Next<'_> {
    let Some(packed) = packed(bytes, offset) else {
        return Next::Cut;
    };
    match packed.is_sound() {
        true => Next::Chunk(packed),
        false => Next::Damaged(Damage::Checksum),
    }
}

/// Unpacks payloads; keeps its memory between chunks.
pub(super) struct Unpacker {
    inflate: Decompress,
    raw: Vec<u8>,
    allowance: Allowance,
}

impl Unpacker {
    pub(super) fn new() -> Self {
        Self {
            inflate: Decompress::new(false),
            raw: Vec::new(),
            allowance: Allowance::new(),
        }
    }

    /// Whether a chunk's claimed length is within the allowance. To be called for each unpacked
    /// chunk, in order.
    pub(super) fn admits(&mut self, chunk: &Packed<'_>) -> bool {
        let raw_len = chunk.raw_len;
        let honest = match chunk.codec {
            CODEC_STORED => raw_len == chunk.stored.len(),
            _ => self.allowance.covers(raw_len, chunk.end),
        };
        self.allowance.take(raw_len);
        honest && raw_len <= MAX_RAW
    }

    /// Skips a chunk that is not unpacked.
    pub(super) fn skip(&mut self, head: &Head) {
        self.allowance.take(head.raw_len);
    }

    /// Takes a chunk from the allowance, like [`Self::admits`]. The outer error ends the reading,
    /// the inner one is damage.
    pub(super) fn admit(&mut self, chunk: &Packed<'_>) -> Result<Result<(), Damage>, Error> {
        if chunk.codec > CODEC_DEFLATE {
            let (codec, kind) = (chunk.codec, name(chunk.kind));
            return Err(Error::UnknownCodec {
                codec,
                kind,
                offset: chunk.offset,
            });
        }
        Ok(match self.admits(chunk) {
            true => Ok(()),
            false => Err(Damage::Length),
        })
    }

    /// The payload. The outer error ends the reading, the inner one is damage.
    pub(super) fn unpack<'a>(
        &'a mut self,
        chunk: &Packed<'a>,
        ahead: Option<&Ahead>,
    ) -> Result<Result<&'a [u8], Damage>, Error> {
        if let Err(damage) = self.admit(chunk)? {
            return Ok(Err(damage));
        }
        if !chunk.is_deflated() {
            return Ok(Ok(chunk.stored));
        }
        if let Some(ahead) = ahead
            && ahead::is_ahead(chunk)
            && let Some(payload) = ahead.payload(chunk.offset)
        {
            ahead.used(std::mem::replace(&mut self.raw, payload));
            return Ok(Ok(&self.raw));
        }
        Ok(self.open(chunk))
    }

    /// The payload of a chunk that was admitted.
    pub(super) fn open<'a>(&'a mut self, chunk: &Packed<'a>) -> Result<&'a [u8], Damage> {
        if !chunk.is_deflated() {
            return Ok(chunk.stored);
        }
        let mut raw = std::mem::take(&mut self.raw);
        let unpacked = self.inflate_into(chunk, &mut raw);
        self.raw = raw;
        unpacked.map(|()| &self.raw[..])
    }

    /// Unpacks a deflated payload.
    pub(super) fn inflate_into(
        &mut self,
        chunk: &Packed<'_>,
        raw: &mut Vec<u8>,
    ) -> Result<(), Damage> {
        self.inflate.reset(false);
        raw.clear();
        raw.reserve_exact(chunk.raw_len);
        let status = self
            .inflate
            .decompress_vec(chunk.stored, raw, FlushDecompress::Finish);
        let whole = matches!(status, Ok(Status::StreamEnd)) && raw.len() == chunk.raw_len;
        if whole { Ok(()) } else { Err(Damage::Unpack) }
    }
}

fn checksum(head: &[u8], stored: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(stored);
    hasher.finalize()
}

/// A kind in readable form.
fn name(kind: Kind) -> String {
    kind.escape_ascii().to_string()
}
