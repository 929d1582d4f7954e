//! The blocks of a file. Versions 4 and 5 have them as serialized objects with tags and type names,
//! version 6 with a length and a kind.

use crate::encoding::cursor::Cursor;

pub(super) const MAGIC: &[u8] = b"Nettrace";
/// The name of the serializer of versions 4 and 5.
const SERIALIZER: &[u8] = b"!FastSerialization.1";

/// A block.
#[derive(Debug, Clone, Copy)]
pub(super) enum Block<'a> {
    Trace(&'a [u8]),
    Events(&'a [u8]),
    Metadata(&'a [u8]),
    Stacks(&'a [u8]),
    /// Stacks before this point are not referred to any more.
    Point,
    Threads(&'a [u8]),
    Other,
}

/// The way from block to block.
#[derive(Debug, Clone)]
pub(super) struct Blocks<'a> {
    cursor: Cursor<'a>,
    /// Whether the file is of version 6 or later.
    pub(super) is_plain: bool,
    is_ended: bool,
}

impl<'a> Blocks<'a> {
    /// The blocks of a file. The error is what it is instead.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, String> {
        let mut cursor = Cursor::new(bytes);
        let cut = || "its head is cut".to_owned();
        cursor.take(MAGIC.len()).ok_or_else(cut)?;
        let length = cursor.u32().ok_or_else(cut)?;
        if length == 0 {
            let number = cursor.u32().ok_or_else(cut)?;
            cursor.u32().ok_or_else(cut)?;
            if number != 6 {
                return Err(format!("its version is {number}"));
            }
        } else if cursor.take(SERIALIZER.len()).ok_or_else(cut)? != SERIALIZER {
            return Err("its serializer is unknown".to_owned());
        }
        Ok(Self {
            cursor,
            is_plain: length == 0,
            is_ended: false,
        })
    }

    /// The place in the file.
    pub(super) fn at(&self) -> usize {
        self.cursor.at()
    }

    /// Whether the mark of the end was read.
    pub(super) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// The next block; `None` at the end and at damage.
    pub(super) fn next(&mut self) -> Option<Block<'a>> {
        if self.is_ended {
            return None;
        }
        match self.is_plain {
            true => self.plain(),
            false => self.object(),
        }
    }

    fn plain(&mut self) -> Option<Block<'a>> {
        let head = self.cursor.u32()?;
        if head >> 24 == 0 {
            self.is_ended = true;
            return None;
        }
        let bytes = self.cursor.take((head & 0xff_ffff) as usize)?;
        Some(match head >> 24 {
            1 => Block::Trace(bytes),
            2 => Block::Events(bytes),
            3 => Block::Metadata(bytes),
            4 => Block::Point,
            5 => Block::Stacks(bytes),
            6 => Block::Threads(bytes),
            _ => Block::Other,
        })
    }

    fn object(&mut self) -> Option<Block<'a>> {
        const NULL: u8 = 1;
        const BEGIN: u8 = 5;
        const END: u8 = 6;
        /// The fields of a trace.
        const TRACE: usize = 48;
        let cursor = &mut self.cursor;
        let first = cursor.byte()?;
        if first == NULL {
            self.is_ended = true;
            return None;
        }
        let is_type = first == BEGIN && cursor.byte()? == BEGIN && cursor.byte()? == NULL;
        if !is_type {
            return None;
        }
        // Its version, and the oldest version that reads it.
        cursor.take(8)?;
        let length = cursor.u32()? as usize;
        let name = cursor.take(length)?;
        if cursor.byte()? != END {
            return None;
        }
        let bytes = match name {
            b"Trace" => cursor.take(TRACE)?,
            _ => {
                let size = cursor.u32()? as usize;
                // The file is aligned, not the block.
                cursor.take(cursor.at().wrapping_neg() % 4)?;
                cursor.take(size)?
            }
        };
        if cursor.byte()? != END {
            return None;
        }
        Some(match name {
            b"Trace" => Block::Trace(bytes),
            b"EventBlock" => Block::Events(bytes),
            b"MetadataBlock" => Block::Metadata(bytes),
            b"StackBlock" => Block::Stacks(bytes),
            b"SPBlock" => Block::Point,
            _ => Block::Other,
        })
    }
}
