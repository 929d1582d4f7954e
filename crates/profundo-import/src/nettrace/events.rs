//! The rows of a block of events. A row's head has only what differs from the row before, where the
//! block is compressed.

use crate::encoding::cursor::Cursor;

/// An event.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Event<'a> {
    /// The number of its kind.
    pub(super) kind: u32,
    /// Its thread: the kernel's number, or a row of the table of threads.
    pub(super) thread: u64,
    pub(super) stack: u32,
    /// The time in ticks.
    pub(super) time: u64,
    pub(super) payload: &'a [u8],
}

/// Calls `each` with the events of a block. `None`: the block is damaged.
pub(super) fn events<'a>(
    block: &'a [u8],
    is_plain: bool,
    mut each: impl FnMut(Event<'a>),
) -> Option<()> {
    let mut cursor = Cursor::new(block);
    let head = cursor.u16()?;
    let flags = cursor.u16()?;
    cursor.take(usize::from(head).checked_sub(4)?)?;
    let mut event = Event::default();
    let mut size = 0;
    while cursor.left() > 0 {
        match flags & 1 {
            1 => compressed(&mut cursor, &mut event, &mut size, is_plain)?,
            _ => uncompressed(&mut cursor, &mut event, is_plain)?,
        }
        each(event);
    }
    Some(())
}

fn compressed<'a>(
    cursor: &mut Cursor<'a>,
    event: &mut Event<'a>,
    size: &mut usize,
    is_plain: bool,
) -> Option<()> {
    let flags = cursor.byte()?;
    if flags & 1 != 0 {
        event.kind = cursor.leb128_u32()?;
    }
    if flags & 2 != 0 {
        // The sequence number, the capturing thread, its processor.
        for _ in 0..3 {
            cursor.leb128()?;
        }
    }
    if flags & 4 != 0 {
        event.thread = cursor.leb128()?;
    }
    if flags & 8 != 0 {
        event.stack = cursor.leb128_u32()?;
    }
    event.time = event.time.wrapping_add(cursor.leb128()?);
    match is_plain {
        // Labels.
        true if flags & 16 != 0 => drop(cursor.leb128()?),
        true => {}
        // Two activities.
        false => drop(cursor.take(16 * (flags >> 4 & 3).count_ones() as usize)?),
    }
    if flags & 128 != 0 {
        *size = cursor.leb128_u32()? as usize;
    }
    event.payload = cursor.take(*size)?;
    Some(())
}

fn uncompressed<'a>(cursor: &mut Cursor<'a>, event: &mut Event<'a>, is_plain: bool) -> Option<()> {
    let size = cursor.u32()? as usize;
    let mut row = Cursor::new(cursor.take(size)?);
    if !is_plain {
        cursor.take(size.wrapping_neg() % 4)?;
    }
    event.kind = row.u32()? & 0x7fff_ffff;
    row.u32()?;
    event.thread = row.u64()?;
    // The capturing thread, its processor.
    row.take(12)?;
    event.stack = row.u32()?;
    event.time = row.u64()?;
    // Labels, or two activities.
    row.take(if is_plain { 4 } else { 32 })?;
    let length = row.u32()? as usize;
    event.payload = row.take(length)?;
    Some(())
}
