//! The binary file of Tachyon, CPython's own sampling profiler (`python -m profiling.sampling run
//! --binary`, from 3.15): a header of 64 bytes, the samples, the strings, the frames, statistics,
//! and a footer of 32 bytes.
//!
//! ```text
//! 0  "TACH" as a number, version u32, Python u8 u8 u8 0
//! 12 start µs u64, interval µs u64
//! 28 samples u64, threads u32, strings at u64, frames at u64, compression u32, mode u32
//! ```
//!
//! The number of samples had four bytes first, which moves what follows. Both forms have version 1,
//! and only one of them has places of strings and frames that lie in the file.

mod samples;
mod tables;

use std::borrow::Cow;

use profundo_model::{Nanos, SampleKind};

use crate::encoding::unpack;
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source, Warning};
use samples::Samples;

pub(crate) const READER: Reader = Reader(&Table {
    name: "tachyon",
    writers: "Python's profiling.sampling --binary",
    is_start,
    fill,
});

/// `TACH` as a number of the writer's machine.
const MAGIC: u32 = 0x5441_4348;

const HEADER: usize = 64;
const FOOTER: usize = 32;

fn is_start(start: &[u8]) -> bool {
    Bytes::of(start).is_some_and(|bytes| matches!(bytes.u32(4), Some(1..=0xff)))
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let malformed = |what: &str| Error::Malformed {
        format: READER.name(),
        what: what.to_owned(),
    };
    let bytes = Bytes::of(source.bytes).ok_or_else(|| malformed("it has no header"))?;
    let header = bytes
        .header()
        .ok_or_else(|| malformed("its header is cut"))?;
    if header.version != 1 {
        return Err(malformed("its version is newer than this reader"));
    }
    let damaged = |at: usize, what: &str| Warning::Damaged {
        offset: at as u64,
        what: what.to_owned(),
    };
    let end = bytes.bytes.len();
    if header.frames > end || header.strings > header.frames || header.strings < HEADER {
        builder.warn(damaged(
            end.min(header.strings),
            "it has no whole tables of names",
        ));
    }
    let packed = bytes
        .bytes
        .get(HEADER..header.strings.min(end))
        .unwrap_or_default();
    let packed_samples = match header.is_packed {
        true => unpack::all(packed)?.map(|unpacked| {
            if unpacked.is_cut {
                builder.warn(Warning::PackedCut);
            }
            Cow::Owned(unpacked.bytes)
        }),
        false => Some(Cow::Borrowed(packed)),
    };
    let (kind, has_states) = match header.mode {
        // Only threads that ran were sampled.
        2 => (SampleKind::Cpu, false),
        4 => (SampleKind::Wall, true),
        _ => (SampleKind::Wall, false),
    };
    builder.weighs(kind, "");
    let interval = header.interval.saturating_mul(1000);
    builder.profile.meta.period = Nanos(interval);
    if let Some(seconds) = bytes.duration() {
        builder.profile.meta.duration = Nanos((seconds * 1e9).round() as u64);
    }
    if header.mode == 3 {
        builder.note("only threads that held the interpreter's lock were sampled");
    }
    if header.mode == 5 {
        builder.note("only threads that handled an exception were sampled");
    }
    let frames = tables::frames(builder, &bytes, &header);
    let mut samples = Samples::new(frames, kind, has_states, interval);
    let packed_samples = packed_samples.unwrap_or_default();
    if let Err(at) = samples.read(builder, &bytes, &packed_samples) {
        builder.warn(match header.is_packed {
            true => Warning::LeftOut {
                count: 1,
                what: "sample data",
                first: format!("after byte {at} of the unpacked ones"),
            },
            false => damaged(HEADER + at, "a sample is cut or damaged"),
        });
    }
    builder.profile.name_reasons();
    Ok(())
}

/// The bytes of the file, in the writer's order.
#[derive(Debug, Clone, Copy)]
struct Bytes<'a> {
    bytes: &'a [u8],
    is_big: bool,
}

impl<'a> Bytes<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let is_big = match u32::from_le_bytes(*bytes.first_chunk()?) {
            MAGIC => false,
            magic if magic.swap_bytes() == MAGIC => true,
            _ => return None,
        };
        Some(Self { bytes, is_big })
    }

    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.bytes.get(at..)?.first_chunk().copied()
    }

    fn u32(&self, at: usize) -> Option<u32> {
        self.array(at).map(|array| self.u32_of(array))
    }

    fn u64(&self, at: usize) -> Option<u64> {
        self.array(at).map(|array| self.u64_of(array))
    }

    fn u32_of(&self, array: [u8; 4]) -> u32 {
        match self.is_big {
            true => u32::from_be_bytes(array),
            false => u32::from_le_bytes(array),
        }
    }

    fn u64_of(&self, array: [u8; 8]) -> u64 {
        match self.is_big {
            true => u64::from_be_bytes(array),
            false => u64::from_le_bytes(array),
        }
    }

    fn header(&self) -> Option<Header> {
        let offset = |at| Some(usize::try_from(self.u64(at)?).unwrap_or(usize::MAX));
        let (old, new) = (offset(36)?, offset(40)?);
        // The offsets of the other form are larger than any file.
        let is_old = old < new;
        let (strings, frames, compression) = match is_old {
            true => (old, offset(44)?, self.u32(52)?),
            false => (new, offset(48)?, self.u32(56)?),
        };
        Some(Header {
            version: self.u32(4)?,
            interval: self.u64(20)?,
            strings,
            frames,
            is_packed: compression == 1,
            mode: match is_old {
                true => 0,
                // The higher bits are options.
                false => self.u32(60)? & 7,
            },
        })
    }

    /// The length of the recording in seconds, in the statistics before the footer.
    fn duration(&self) -> Option<f64> {
        let end = self.bytes.len().checked_sub(FOOTER)?;
        if self.bytes.get(end.checked_sub(16)?..)?.first_chunk() != Some(b"TACHSTAT") {
            return None;
        }
        let size = self.u32(end.checked_sub(4)?)?;
        let start = end.checked_sub(usize::try_from(size).ok()?)?;
        let seconds = f64::from_bits(self.u64(start)?);
        (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
    }
}

/// The facts of the header.
#[derive(Debug, Clone, Copy)]
struct Header {
    version: u32,
    /// Microseconds between samples.
    interval: u64,
    /// The place of the strings.
    strings: usize,
    /// The place of the frames.
    frames: usize,
    is_packed: bool,
    /// 1 wall time, 2 CPU time, 3 the interpreter's lock, 4 the states of both, 5 exceptions; 0
    /// unknown.
    mode: u32,
}

/// A number in bytes of seven bits, the lowest first.
fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut sum = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        sum |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(sum);
        }
    }
    None
}
