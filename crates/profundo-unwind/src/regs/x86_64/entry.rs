//! Code that CPython's JIT compiler made, in 3.13 and 3.14. It has no unwind information and keeps
//! no frame pointer, and its pieces push one word or some before they call a function.
//!
//! The interpreter enters it by an *entry*: a few instructions before the code that save registers,
//! call it and restore them. The return address into an entry is the nearest word on the stack
//! behind which the registers are restored, and tells exactly where the interpreter's own return
//! address lies.

use super::bare::Limited;
use super::calls::call_before;
use super::{Regs, arrive};
use crate::regs::{Call, Code, Frame};
use crate::{Memory, Rbx};

/// What an entry does after the call: `pop rbx; pop r12; pop r13; pop r14; pop r15; ret`.
const RESTORES: [u8; 10] = [0x5b, 0x41, 0x5c, 0x41, 0x5d, 0x41, 0x5e, 0x41, 0x5f, 0xc3];

/// The number of words that it restores.
const SAVED: u8 = 5;

/// The most bytes that the code of one operation keeps on the stack.
pub(super) const MOST: u64 = 256;

/// The bytes of the stack where [`super::bare`] looks for any call.
pub(super) const NEXT: u64 = 16;

/// An entry lies this near to the code that it calls at first. That code may go on in other pieces,
/// wherever these are.
const NEAR: u64 = 1 << 31;

/// Moves a frame in such code to the interpreter's, past the entry. False: there is no entry among
/// so many bytes of the stack.
pub(super) fn by_entry(
    frame: &mut Frame<'_>,
    bytes: u64,
    code: &impl Fn(u64) -> Code,
    memory: &mut impl Memory,
) -> bool {
    let mut memory = Limited {
        memory,
        left: frame.search_left,
    };
    let found = find(frame.regs, bytes, code, &mut memory);
    frame.search_left = memory.left;
    let Some(Found {
        pushed,
        place,
        caller,
    }) = found
    else {
        return false;
    };
    // An operation that uses the frame pointer for something else pushes it first. No other value
    // that it works with points to the stack of the interpreter.
    let is_interpreters = |fp: &u64| (place..place.saturating_add(1 << 20)).contains(fp);
    let known = Some(frame.regs.fp).filter(|_| frame.fp_known);
    let fp = (known.filter(is_interpreters)).or(pushed.filter(is_interpreters));
    frame.fp_known = fp.is_some();
    frame.regs.fp = fp.unwrap_or(frame.regs.fp);
    // `rbx` was pushed last, below the others.
    arrive(frame, caller, place.wrapping_add(8), Rbx(SAVED + 1));
    frame.interrupted = false;
    true
}

/// The entry's part of the stack.
struct Found {
    /// The word that the operation pushed first, if it pushed any.
    pushed: Option<u64>,
    /// The place of the interpreter's return address.
    place: u64,
    /// That address.
    caller: u64,
}

fn find(
    Regs { ip, sp, .. }: Regs,
    bytes: u64,
    code: &impl Fn(u64) -> Code,
    memory: &mut impl Memory,
) -> Option<Found> {
    let mut slots = (sp..sp.saturating_add(bytes)).step_by(8);
    let slot = slots.find(|&slot| {
        memory.read_searched(slot).is_some_and(|inside| {
            inside.abs_diff(ip) < NEAR
                && code(inside.wrapping_sub(1)) != Code::Row
                && restores(inside, memory)
                && matches!(call_before(inside, memory), Call::Direct(_))
        })
    })?;
    let place = slot.wrapping_add(8 * (1 + u64::from(SAVED)));
    let caller = memory.read_searched(place)?;
    let is_interpreters = code(caller.wrapping_sub(1)) == Code::Row;
    is_interpreters.then(|| Found {
        pushed: (slot > sp)
            .then(|| memory.read_searched(slot - 8))
            .flatten(),
        place,
        caller,
    })
}

/// Whether the instructions at an address are those of an entry after its call.
fn restores(address: u64, memory: &mut impl Memory) -> bool {
    let (first, rest) = RESTORES.split_at(8);
    let mut word = |at| memory.read_code(at).map(u64::to_le_bytes);
    word(address).is_some_and(|bytes| bytes == first)
        && word(address.wrapping_add(8)).is_some_and(|bytes| bytes.starts_with(rest))
}
