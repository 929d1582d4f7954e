//! A return address is believed if the code before it is a call, and most if that call leads to the
//! code that the walk comes from. No more of x86 is decoded than that takes.

use super::plus;
use crate::Memory;
use crate::regs::Call;

/// `endbr64`, at the start of code that may be jumped to.
const ENDBR64: u64 = 0xfa1e_0ff3;
/// The first two bytes of `jmp *there(rip)`, all that a linkage stub does.
const JUMP: u64 = 0x25ff;
/// A function that jumps on does so within this many bytes, or is not followed.
const MAX_JUMP_ON: u64 = 512;

/// The call that comes before a return address, if the code there can be read.
pub(crate) fn call_before(address: u64, memory: &mut impl Memory) -> Call {
    let Some(word) = memory.read_code(address.wrapping_sub(8)) else {
        return Call::None;
    };
    let [b0, b1, b2, b3, b4, b5, b6, b7] = word.to_le_bytes();
    if b3 == 0xe8 {
        let distance = i32::from_le_bytes([b4, b5, b6, b7]);
        return Call::Direct(plus(address, distance));
    }
    // `ff /2` with an operand of 0 to 5 bytes.
    let indirect = [(b6, b7), (b5, b6), (b4, b5), (b2, b3), (b1, b2), (b0, b1)]
        .iter()
        .any(|&(opcode, operand)| opcode == 0xff && operand >> 3 & 7 == 2);
    if indirect { Call::Indirect } else { Call::None }
}

/// The place that a linkage stub takes its destination from.
fn stub_slot(address: u64, memory: &mut impl Memory) -> Option<u64> {
    let mut at = address;
    if memory.read_code(at)? & 0xffff_ffff == ENDBR64 {
        at = at.wrapping_add(4);
    }
    let word = memory.read_code(at)?;
    (word & 0xffff == JUMP).then(|| plus(at.wrapping_add(6), (word >> 16) as i32))
}

/// True if the code at an address is a linkage stub, which leaves the stack alone.
pub(super) fn is_stub(address: u64, memory: &mut impl Memory) -> bool {
    stub_slot(address, memory).is_some()
}

/// The entry that a call of `target` leads to: at once, through a linkage stub, or by a jump that
/// takes the place of a last call.
pub(crate) fn leads_to<T>(
    target: u64,
    entry: impl Fn(u64) -> Option<T>,
    memory: &mut impl Memory,
) -> Option<T> {
    let slot = stub_slot(target, memory);
    let target = slot.and_then(|slot| memory.read(slot)).unwrap_or(target);
    if let Some(found) = entry(target) {
        return Some(found);
    }
    // A word holds the whole of a jump that begins in its first half.
    for offset in (0..MAX_JUMP_ON).step_by(4) {
        let at = target.wrapping_add(offset);
        let word = memory.read_code(at)?;
        for skip in 0..4 {
            let code = word >> (skip * 8);
            let jump = code & 0xff == 0xe9 || code & 0xf0 == 0x80;
            if jump && let Some(found) = entry(plus(at.wrapping_add(skip + 5), (code >> 8) as i32))
            {
                return Some(found);
            }
        }
    }
    None
}
