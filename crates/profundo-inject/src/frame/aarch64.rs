//! aarch64: a frame with the general registers, and a list of records for the others. The kernel
//! wants one for the vectors of 128 bits; there is one more if the thread uses longer ones (SVE).

use super::Frame;
use crate::borrowed::machine::State;

/// The offset of the `ucontext` in a frame, and those of its parts.
const CONTEXT: usize = 128;
const STACK_FLAGS: usize = CONTEXT + 24;
const MASK: usize = CONTEXT + 40;
const GENERAL: usize = CONTEXT + 184;
const SP: usize = GENERAL + 31 * 8;
const RECORDS: usize = CONTEXT + 464;

/// The room for records that the kernel looks at.
const ROOM: usize = 4096;
const ALIGNMENT: usize = 16;

/// The marks of records. Each begins with its mark and its size; the last one is empty.
const VECTORS: u32 = 0x4650_8001;
const LONG_VECTORS: u32 = 0x5356_4501;
const HEAD: usize = 8;

/// The size of the vectors of 128 bits, before their two words of status and control.
const VECTOR_BYTES: usize = 512;

/// A frame that ends below `end` and restores these registers.
pub(crate) fn below(
    end: u64,
    _: u64,
    registers: &libc::user_regs_struct,
    state: &State,
    mask: u64,
) -> Frame {
    let mut bytes = vec![0; RECORDS];
    let mut put = |at: usize, with: &[u8]| {
        if let Some(there) = bytes.get_mut(at..at + with.len()) {
            there.copy_from_slice(with);
        }
    };
    // These flags do not exist, so the signal stack is left alone.
    put(STACK_FLAGS, &0xff_u32.to_le_bytes());
    put(MASK, &mask.to_le_bytes());
    for (index, word) in registers.regs.iter().enumerate() {
        put(GENERAL + index * 8, &word.to_le_bytes());
    }
    let others = [registers.sp, registers.pc, registers.pstate];
    for (index, word) in others.iter().enumerate() {
        put(SP + index * 8, &word.to_le_bytes());
    }
    bytes.extend(records(state));
    let place = (end - bytes.len() as u64) & !(ALIGNMENT as u64 - 1);
    Frame { place, bytes }
}

/// Whether the records of a state have room in a frame.
pub(crate) fn has_room(state: &State) -> bool {
    records(state).len() <= ROOM
}

fn records(state: &State) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (vectors, status) = state
        .vectors
        .split_at(VECTOR_BYTES.min(state.vectors.len()));
    begin(&mut bytes, VECTORS, HEAD + 8 + VECTOR_BYTES);
    bytes.extend(status.iter().take(8));
    bytes.extend(vectors);
    if let Some(long) = &state.long_vectors {
        let registers = long.registers();
        let size = (ALIGNMENT + registers.len()).next_multiple_of(ALIGNMENT);
        let end = bytes.len() + size;
        begin(&mut bytes, LONG_VECTORS, size);
        bytes.extend(long.vector_bytes().to_le_bytes());
        bytes.resize(end - size + ALIGNMENT, 0);
        bytes.extend(registers);
        bytes.resize(end, 0);
    }
    bytes.resize(bytes.len() + ALIGNMENT, 0);
    bytes
}

fn begin(bytes: &mut Vec<u8>, mark: u32, size: usize) {
    bytes.extend(mark.to_le_bytes());
    bytes.extend((size as u32).to_le_bytes());
}
