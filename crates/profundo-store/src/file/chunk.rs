//! The bytes of a row group in memory, as the `parquet` crate asks for them.
//!
//! A page says in its header how large it becomes when it is unpacked, and that much is allocated.
//! A header that says more than a page can have is refused before.

use bytes::{Buf, Bytes};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

/// The most bytes of an unpacked page. Ours have at most 2 MiB.
const MOST: u64 = 64 << 20;

/// A part of a file.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// Its place in the file.
    pub start: u64,
    /// Its bytes.
    pub bytes: Bytes,
}

impl Chunk {
    fn from(&self, start: u64) -> Result<Bytes> {
        let at = start.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        match at {
            Some(at) if at <= self.bytes.len() => Ok(self.bytes.slice(at..)),
            _ => Err(ParquetError::EOF(format!("nothing at {start}"))),
        }
    }
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for Chunk {
    type T = bytes::buf::Reader<Bytes>;

    /// The header of a page begins here.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let bytes = self.from(start)?;
        match unpacked_size(&bytes) {
            Some(size) if size > MOST => {
                let why = format!("a page of {size} bytes at {start}");
                Err(ParquetError::General(why))
            }
            _ => Ok(bytes.reader()),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let bytes = self.from(start)?;
        match length <= bytes.len() {
            true => Ok(bytes.slice(..length)),
            false => Err(ParquetError::EOF(format!("{length} bytes at {start}"))),
        }
    }
}

/// The second field of a page's header, in Thrift's compact protocol: a kind of page and the sizes
/// are 32-bit numbers, each behind a byte that says so. Headers of another shape are not ours, and
/// the reader refuses them or finds the same fields by a longer way, so they count as too large.
fn unpacked_size(header: &[u8]) -> Option<u64> {
    const NEXT_FIELD_IS_I32: u8 = 0x15;
    let mut rest = header;
    let mut size = None;
    for _ in 0..2 {
        let (&first, behind) = rest.split_first()?;
        if first != NEXT_FIELD_IS_I32 {
            return Some(u64::MAX);
        }
        let (value, length) = varint(behind)?;
        rest = &behind[length..];
        // Zigzag: negative sizes become large ones.
        size = Some((value >> 1) ^ (value & 1).wrapping_neg());
    }
    size
}

fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (at, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7F).checked_shl(7 * at as u32)?;
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_says_it_is_huge_is_refused() {
        let header = |size: u32| {
            let mut bytes = vec![0x15, 0x00, 0x15];
            let mut zigzag = u64::from(size) << 1;
            while zigzag >= 0x80 {
                bytes.push(zigzag as u8 | 0x80);
                zigzag >>= 7;
            }
            bytes.push(zigzag as u8);
            Chunk { start: 100, bytes: bytes.into() }
        };
        assert!(header(1 << 20).get_read(100).is_ok());
        assert!(header(i32::MAX as u32).get_read(100).is_err());
        assert!(header(1).get_read(99).is_err());
        let negative = Chunk { start: 0, bytes: vec![0x15, 0x00, 0x15, 0x01].into() };
        assert!(negative.get_read(0).is_err());
        let other = Chunk { start: 0, bytes: vec![0x18, 0x00].into() };
        assert!(other.get_read(0).is_err());
    }
}
