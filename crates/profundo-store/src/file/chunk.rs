//! The bytes of a row group in memory, as the `parquet` crate asks for them.
//!
//! A page says in its header how large it becomes when it is unpacked, and that much is allocated.
//! So the headers of a column are looked at before it is read, and one that says more than a page
//! can have is refused.

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
        let at = start
            .checked_sub(self.start)
            .and_then(|at| usize::try_from(at).ok());
        match at {
            Some(at) if at <= self.bytes.len() => Ok(self.bytes.slice(at..)),
            _ => Err(ParquetError::EOF(format!("nothing at {start}"))),
        }
    }

    /// Checks the headers of the pages that lie here.
    pub fn check_pages(&self, start: u64, length: usize) -> Result<()> {
        let bytes = self.get_bytes(start, length)?;
        let mut rest = Header(&bytes);
        while !rest.0.is_empty() {
            let sizes = rest.sizes();
            let (unpacked, packed) = sizes.ok_or_else(|| wrong("a page without a whole header"))?;
            if unpacked > MOST {
                return Err(wrong(&format!("a page of {unpacked} bytes")));
            }
            let packed = usize::try_from(packed).ok();
            let behind = packed.and_then(|packed| rest.0.get(packed..));
            rest = Header(behind.ok_or_else(|| wrong("a page that is not there to its end"))?);
        }
        Ok(())
    }
}

fn wrong(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for Chunk {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let bytes = self.from(start)?;
        match length <= bytes.len() {
            true => Ok(bytes.slice(..length)),
            false => Err(ParquetError::EOF(format!("{length} bytes at {start}"))),
        }
    }
}

/// Whether these bytes are a structure in Thrift's compact protocol, each part of which takes some
/// bytes: reading it takes no more time than it has bytes.
pub(super) fn is_structure(bytes: &[u8]) -> bool {
    /// Metadata have ten levels.
    const DEEPEST: u8 = 32;
    Header(bytes).skip(12, DEEPEST).is_some()
}

/// The header of a page in Thrift's compact protocol.
struct Header<'b>(&'b [u8]);

impl Header<'_> {
    /// The unpacked and the packed size, which are the second and the third field. What is left is
    /// behind the header.
    fn sizes(&mut self) -> Option<(u64, u64)> {
        let (mut field, mut unpacked, mut packed) = (0_i64, None, None);
        loop {
            let kind = self.field(&mut field)?;
            match (kind, field) {
                (0, _) => return Some((unpacked?, packed?)),
                (5, 2) => unpacked = Some(self.number()?),
                (5, 3) => packed = Some(self.number()?),
                _ => self.skip(kind, 8)?,
            }
        }
    }

    /// The type of the next field, whose number is put into `field`; 0 at the end.
    fn field(&mut self, field: &mut i64) -> Option<u8> {
        let byte = self.byte()?;
        let (step, kind) = (byte >> 4, byte & 0xF);
        match (step, kind) {
            (_, 0) => {}
            (0, _) => *field = self.number()?.cast_signed(),
            _ => *field += i64::from(step),
        }
        Some(kind)
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for place in 0..10 {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << (7 * place).min(63);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A number in zigzag. Negative ones become large.
    fn number(&mut self) -> Option<u64> {
        let value = self.varint()?;
        Some((value >> 1) ^ (value & 1).wrapping_neg())
    }

    fn take(&mut self, length: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(length).ok()?..)?;
        Some(())
    }

    /// Passes over a value of a type, within this depth.
    fn skip(&mut self, kind: u8, depth: u8) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            // Truths as fields.
            1 | 2 => {}
            3 => self.take(1)?,
            4..=6 => drop(self.varint()?),
            7 => self.take(8)?,
            8 => {
                let length = self.varint()?;
                self.take(length)?;
            }
            9 | 10 => {
                let head = self.byte()?;
                let (short, kind) = (head >> 4, head & 0xF);
                let count = if short == 15 {
                    self.varint()?
                } else {
                    short.into()
                };
                // Neither a header nor a footer has lists of truths, which the `parquet` crate
                // passes over without reading a byte of them, however many there are.
                if kind <= 2 && count > 0 {
                    return None;
                }
                for _ in 0..count {
                    self.skip(kind, depth)?;
                }
            }
            12 => {
                let mut field = 0;
                loop {
                    match self.field(&mut field)? {
                        0 => break,
                        kind => self.skip(kind, depth)?,
                    }
                }
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page's header with these sizes, a text and a structure.
    fn header(unpacked: i64, packed: i64) -> Vec<u8> {
        let mut bytes = vec![0x15, 0x00];
        for size in [unpacked, packed] {
            bytes.push(0x15);
            let mut zigzag = (size << 1 ^ size >> 63).cast_unsigned();
            while zigzag >= 0x80 {
                bytes.push(zigzag as u8 | 0x80);
                zigzag >>= 7;
            }
            bytes.push(zigzag as u8);
        }
        bytes.extend([0x28, 2, b'h', b'i', 0x1C, 0x15, 0x02, 0x11, 0x00, 0x00]);
        bytes
    }

    fn check(bytes: Vec<u8>) -> std::result::Result<(), String> {
        let (start, length) = (100, bytes.len());
        let chunk = Chunk {
            start,
            bytes: bytes.into(),
        };
        chunk
            .check_pages(100, length)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_page_that_says_it_is_huge_is_refused() {
        let page = |unpacked, packed| [header(unpacked, packed), vec![7; 5]].concat();
        assert_eq!(check(page(1 << 20, 5)), Ok(()));
        assert_eq!(check([page(9, 5), page(9, 5)].concat()), Ok(()));
        let huge = "Parquet error: a page of 2147483647 bytes".to_owned();
        assert_eq!(
            check([page(9, 5), page(i32::MAX.into(), 5)].concat()),
            Err(huge)
        );
        assert!(check(page(-1, 5)).is_err());
        assert!(check(page(9, 6)).is_err());
        assert!(check(page(9, -1)).is_err());
        assert!(check(vec![0x15, 0x00]).is_err());
        // Lists in lists, without end.
        assert!(check([vec![0x19], vec![0x19; 500]].concat()).is_err());
    }

    #[test]
    fn lists_of_truths_are_refused() {
        // An unknown field with a list of a number, and one of 2^31 truths.
        assert!(is_structure(&[0xF9, 0x15, 0x02, 0x00]));
        assert!(!is_structure(&[0xF9, 0xF1, 255, 255, 255, 255, 7, 0x00]));
        assert!(!is_structure(&[0xF9, 0x15]));
    }
}
