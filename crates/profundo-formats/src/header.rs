//! The first sixteen bytes, which no version will ever change: the format's mark, and its version.
//!
//! ```text
//!  0            1                          9     11   12          16
//! +------------+--------------------------+------+----+-----------+
//! | 89         | 50 52 4F 46 55 4E 44 4F  | 0D 0A| 1A | version   |
//! | not text   | "PROFUNDO"               | CR LF| ^Z | u32, LE   |
//! +------------+--------------------------+------+----+-----------+
//! ```
//!
//! As in PNG, the high bit and the line end show at once when a transfer took the file for text.

use std::io::Write;

use crate::Error;

const MAGIC: [u8; 12] = *b"\x89PROFUNDO\r\n\x1a";

/// The length of the header; chunks follow.
pub(crate) const LEN: usize = 16;

/// Whether `bytes`, the beginning of a file, belong to a saved profile of any version.
pub fn is_profundo(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

pub(crate) fn write(out: &mut dyn Write, version: u32) -> Result<(), Error> {
    let mut header = [0; LEN];
    header[..MAGIC.len()].copy_from_slice(&MAGIC);
    header[MAGIC.len()..].copy_from_slice(&version.to_le_bytes());
    out.write_all(&header).map_err(Error::Write)
}

/// The version of the file.
pub(crate) fn read(bytes: &[u8]) -> Result<u32, Error> {
    match bytes.first_chunk::<LEN>() {
        Some(&[.., a, b, c, d]) if is_profundo(bytes) => Ok(u32::from_le_bytes([a, b, c, d])),
        _ => Err(Error::NotAProfile),
    }
}
