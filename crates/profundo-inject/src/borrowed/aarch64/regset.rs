//! The sets of registers of a held thread, as the kernel gives and takes them.

use std::io;

use super::{Registers, State};
use crate::ptrace::{Request, request};

/// Linux's numbers of the sets.
const NT_PRSTATUS: usize = 1;
const NT_PRFPREG: usize = 2;
const NT_ARM_TLS: usize = 0x401;
const NT_ARM_SYSTEM_CALL: usize = 0x404;
const NT_ARM_SVE: usize = 0x405;
const NT_ARM_SSVE: usize = 0x40b;
const NT_ARM_ZA: usize = 0x40c;
const NT_ARM_GCS: usize = 0x410;

/// The number of a call, where there is none.
pub(super) const NO_CALL: i32 = -1;

/// The sizes of the vectors of 128 bits with their status, and of the largest long ones.
const VECTOR_BYTES: usize = 528;
const MOST: usize = 16 << 10;

/// The head of long vectors: two words with the present and the largest size, the length of a
/// vector, its largest, and flags.
const HEAD: usize = 16;
const LENGTH: usize = 8;
const FLAGS: usize = 12;

/// The registers of SVE, as the kernel gives them.
#[derive(Debug)]
pub(crate) struct LongVectors(Vec<u8>);

impl LongVectors {
    /// The length of a vector in bytes.
    pub(crate) fn vector_bytes(&self) -> u16 {
        half(&self.0, LENGTH)
    }

    /// The vectors, and the predicates, the last of which says which loads have failed.
    pub(crate) fn registers(&self) -> &[u8] {
        const VECTORS: usize = 32;
        const PREDICATES: usize = 17;
        let vector = usize::from(self.vector_bytes());
        let bytes = VECTORS * vector + PREDICATES * (vector / 8);
        self.0.get(HEAD..HEAD + bytes).unwrap_or_default()
    }
}

fn half(bytes: &[u8], at: usize) -> u16 {
    let found = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    u16::from_le_bytes(found.copied().unwrap_or_default())
}

pub(super) fn registers(tid: i32) -> io::Result<Registers> {
    // SAFETY: zeros are registers.
    let mut registers: Registers = unsafe { std::mem::zeroed() };
    get(tid, NT_PRSTATUS, bytes_of(&mut registers))?;
    Ok(registers)
}

pub(super) fn set_registers(tid: i32, registers: &Registers) -> io::Result<()> {
    let mut registers = *registers;
    set(tid, NT_PRSTATUS, bytes_of(&mut registers))
}

fn bytes_of(registers: &mut Registers) -> &mut [u8] {
    let place = std::ptr::from_mut(registers).cast::<u8>();
    // SAFETY: registers are numbers without gaps between them, and any bytes are numbers.
    unsafe { std::slice::from_raw_parts_mut(place, size_of::<Registers>()) }
}

/// Sets the number of the call that the thread is in.
pub(super) fn set_call(tid: i32, number: i32) -> io::Result<()> {
    set(tid, NT_ARM_SYSTEM_CALL, &mut number.to_le_bytes())
}

/// The address of the thread's own data.
pub(super) fn thread_pointer(tid: i32) -> io::Result<u64> {
    let mut pointer = [0; 8];
    get(tid, NT_ARM_TLS, &mut pointer)?;
    Ok(u64::from_le_bytes(pointer))
}

/// The vector registers.
pub(super) fn state(tid: i32) -> io::Result<State> {
    const IN_USE: u16 = 1;
    let mut vectors = vec![0; VECTOR_BYTES];
    get(tid, NT_PRFPREG, &mut vectors)?;
    let mut long = vec![0; MOST];
    let length = get(tid, NT_ARM_SVE, &mut long).unwrap_or(0);
    long.truncate(length);
    let is_used = half(&long, FLAGS) & IN_USE != 0;
    Ok(State {
        vectors,
        long_vectors: is_used.then_some(LongVectors(long)),
    })
}

pub(super) fn set_state(tid: i32, state: &mut State) -> io::Result<()> {
    match &mut state.long_vectors {
        Some(LongVectors(long)) => set(tid, NT_ARM_SVE, long),
        None => set(tid, NT_PRFPREG, &mut state.vectors),
    }
}

/// Whether the thread uses the matrix extension (SME), in which an ordinary function must not be
/// called.
pub(super) fn is_streaming(tid: i32) -> bool {
    [NT_ARM_SSVE, NT_ARM_ZA].into_iter().any(|kind| {
        let mut head = [0; MOST];
        // If it is not in use, there is a head alone. What is larger than our room is in use.
        match get(tid, kind, &mut head) {
            Ok(length) => length > HEAD,
            Err(_) => false,
        }
    })
}

/// Whether the kernel keeps a second stack of the thread's return addresses (GCS), which a call of
/// ours is not on.
pub(super) fn has_guarded_calls(tid: i32) -> bool {
    const ARE_ON: u64 = 1;
    let mut words = [0; 24];
    let is_known = get(tid, NT_ARM_GCS, &mut words).is_ok();
    let features = words.first_chunk().copied().unwrap_or_default();
    is_known && u64::from_le_bytes(features) & ARE_ON != 0
}

/// Reads a set. Returns its size in bytes.
fn get(tid: i32, kind: usize, bytes: &mut [u8]) -> io::Result<usize> {
    exchange(tid, libc::PTRACE_GETREGSET, kind, bytes)
}

fn set(tid: i32, kind: usize, bytes: &mut [u8]) -> io::Result<()> {
    exchange(tid, libc::PTRACE_SETREGSET, kind, bytes).map(drop)
}

fn exchange(tid: i32, number: Request, kind: usize, bytes: &mut [u8]) -> io::Result<usize> {
    let mut vector = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    request(tid, number, kind, (&raw mut vector) as usize)?;
    Ok(vector.iov_len)
}
