//! The kernel's records, parsed.

use profundo_unwind::{General, Regs};

use super::mapping::Mapping;
use super::registers::{REGISTERS, of_values};
use crate::sys::is_kernels;

/// A side-band record. Times are of the monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A thread was named; with `exec`, because its process has executed a program.
    Comm {
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
        /// Its name.
        name: Vec<u8>,
        /// Whether the process has executed a program.
        exec: bool,
    },
    /// A thread was created: in a new process, if `pid` differs from `parent`.
    Fork {
        /// The process of the new thread.
        pid: u32,
        /// The process of the thread that made it.
        parent: u32,
        /// The new thread.
        tid: u32,
    },
    /// A thread ended.
    Exit {
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
    },
    /// A file was mapped with permission to execute.
    Mmap {
        /// The process.
        pid: u32,
        /// The mapping, if the kernel has reported it.
        mapping: Option<Mapping>,
    },
    /// Records were lost.
    Lost {
        /// Their number.
        count: u64,
    },
}

/// The user's half of a thread's registers and stack.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The time at which it was taken, on the monotonic clock.
    pub time: u64,
    /// Nanoseconds of CPU time that it stands for.
    pub weight: u64,
    /// The CPU that it was taken on; below zero if that is not known.
    pub cpu: i32,
    /// Whether it was taken in the kernel.
    pub in_kernel: bool,
    /// The kernel part of the stack, leaf first.
    pub kernel: Vec<u64>,
    /// Whether the thread runs in the kernel only, so that the kernel's part is the whole stack.
    pub is_kernels: bool,
    /// `None`: the thread has no user half, or it is not known.
    pub registers: Option<(Regs, General)>,
    /// The stack, from the stack pointer on.
    pub stack: Vec<u8>,
}

/// Reads numbers one after another.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*bytes))
    }

    fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }
}

const MMAP: u32 = 1;
pub const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const MMAP2: u32 = 10;
pub const SAMPLE: u32 = 9;

/// The end of every record but samples: `pid`, `tid` and the time.
const TRAILER: usize = 16;

/// Parses a side-band record; the time comes first. `None`: an unknown record.
pub fn side(kind: u32, misc: u16, body: &[u8]) -> Option<(u64, Record)> {
    const COMM_EXEC: u16 = 1 << 13;
    let (body, trailer) = body.split_at_checked(body.len().checked_sub(TRAILER)?)?;
    let mut trailer = Cursor(trailer);
    let _ = (trailer.u32()?, trailer.u32()?);
    let time = trailer.u64()?;
    let mut at = Cursor(body);
    let record = match kind {
        COMM => Record::Comm {
            pid: at.u32()?,
            tid: at.u32()?,
            name: at.0.split(|&byte| byte == 0).next()?.to_vec(),
            exec: misc & COMM_EXEC != 0,
        },
        FORK | EXIT => {
            let (pid, parent, tid) = (at.u32()?, at.u32()?, at.u32()?);
            if kind == FORK {
                Record::Fork { pid, parent, tid }
            } else {
                Record::Exit { pid, tid }
            }
        }
        MMAP => Record::Mmap {
            pid: at.u32()?,
            mapping: None,
        },
        MMAP2 => Record::Mmap {
            pid: at.u32()?,
            mapping: mapping(at),
        },
        LOST => {
            let _ = at.u64()?;
            Record::Lost { count: at.u64()? }
        }
        _ => return None,
    };
    Some((time, record))
}

/// The mapping in a record, from the thread's number on.
fn mapping(mut at: Cursor<'_>) -> Option<Mapping> {
    let _thread = at.u32()?;
    let (start, length, offset) = (at.u64()?, at.u64()?, at.u64()?);
    let (major, minor, inode) = (at.u32()?, at.u32()?, at.u64()?);
    let _generation_and_rights = (at.u64()?, at.u64()?);
    Some(Mapping {
        start,
        end: start.checked_add(length)?,
        offset,
        device: u64::from(major) << 32 | u64::from(minor),
        inode,
        path: at.0.split(|&byte| byte == 0).next()?.to_vec(),
    })
}

/// A context switch: a thread left a CPU, or was given one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    pub pid: u32,
    pub tid: u32,
    pub time: u64,
    pub is_out: bool,
    /// It was preempted.
    pub is_preempted: bool,
}

/// Parses a context switch.
pub fn switch(kind: u32, misc: u16, body: &[u8]) -> Option<Switch> {
    const SWITCH: u32 = 14;
    const OUT: u16 = 1 << 13;
    const PREEMPTED: u16 = 1 << 14;
    if kind != SWITCH {
        return None;
    }
    let mut at = Cursor(body);
    Some(Switch {
        pid: at.u32()?,
        tid: at.u32()?,
        time: at.u64()?,
        is_out: misc & OUT != 0,
        is_preempted: misc & PREEMPTED != 0,
    })
}

/// A system call that has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Returned {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The number of the call.
    pub number: i64,
    /// Its result.
    pub result: i64,
    /// The address of the program's next instruction; 0 where it is not known.
    pub next: u64,
    /// Whether a 32-bit program has made it: its calls have other numbers.
    pub is_of_32_bits: bool,
}

impl Returned {
    /// The error of its result; 0 for none.
    pub fn error(&self) -> u32 {
        match self.result {
            result @ -4095..=-1 => result.unsigned_abs() as u32,
            _ => 0,
        }
    }
}

/// Parses a call that has returned: `TID | RAW | REGS_USER`, the latter with one register.
pub fn returned(kind: u32, body: &[u8]) -> Option<Returned> {
    const ABI_32: u64 = 1;
    if kind != SAMPLE {
        return None;
    }
    let mut at = Cursor(body);
    let (pid, tid) = (at.u32()?, at.u32()?);
    let size = at.u32()? as usize;
    let mut raw = Cursor(at.bytes(size)?);
    let _common = raw.u64()?;
    let (number, result) = (raw.u64()? as i64, raw.u64()? as i64);
    let abi = at.u64()?;
    let next = match abi {
        0 => 0,
        _ => at.u64()?,
    };
    Some(Returned {
        pid,
        tid,
        number,
        result,
        next,
        is_of_32_bits: abi == ABI_32,
    })
}

/// The number of records that were lost, according to this one.
pub fn lost(kind: u32, body: &[u8]) -> u64 {
    let mut at = Cursor(body);
    match (kind, at.u64(), at.u64()) {
        (LOST, Some(_), Some(count)) => count,
        _ => 0,
    }
}

/// Parses a sample: `TID | TIME | PERIOD | REGS_USER | STACK_USER`, with `CALLCHAIN` before the
/// registers if `has_chain`.
pub fn sample(misc: u16, body: &[u8], has_chain: bool) -> Option<Sample> {
    const CPU_MODE: u16 = 7;
    const KERNEL: u16 = 1;
    let mut at = Cursor(body);
    let (pid, tid, time, weight) = (at.u32()?, at.u32()?, at.u64()?, at.u64()?);
    let kernel = match has_chain {
        true => chain(&mut at)?,
        false => Vec::new(),
    };
    let abi = at.u64()?;
    let mut values = [0; REGISTERS.count_ones() as usize];
    if abi != 0 {
        for value in &mut values {
            *value = at.u64()?;
        }
    }
    let mut stack = Vec::new();
    let size = at.u64()? as usize;
    if size > 0 {
        let bytes = at.bytes(size)?;
        let valid = at.u64()? as usize;
        stack.extend_from_slice(bytes.get(..valid.min(size))?);
    }
    // The ABI of 32-bit programs is 1. Their stacks are not walked.
    let registers = (abi == 2).then(|| of_values(&values));
    Some(Sample {
        pid,
        tid,
        time,
        weight,
        cpu: -1,
        in_kernel: misc & CPU_MODE == KERNEL,
        kernel,
        is_kernels: abi == 0,
        registers,
        stack,
    })
}

/// The kernel's addresses, without the markers between its contexts.
fn chain(at: &mut Cursor<'_>) -> Option<Vec<u64>> {
    const FIRST_MARK: u64 = -4095_i64 as u64;
    let count = usize::try_from(at.u64()?).ok()?;
    let words = at.bytes(count.checked_mul(8)?)?.chunks_exact(8);
    let words = words.filter_map(|word| Some(u64::from_le_bytes(*word.first_chunk()?)));
    Some(
        words
            .filter(|&word| is_kernels(word) && word < FIRST_MARK)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn a_fork_and_a_name() {
        let ids = |pid: u64, other: u64| other << 32 | pid;
        let body = bytes(&[ids(5, 4), ids(6, 4), 77, ids(5, 6), 99]);
        let fork = Record::Fork {
            pid: 5,
            parent: 4,
            tid: 6,
        };
        assert_eq!(side(FORK, 0, &body), Some((99, fork)));
        let name = u64::from_le_bytes(*b"python\0\0");
        let body = bytes(&[ids(5, 5), name, ids(5, 5), 100]);
        let comm = Record::Comm {
            pid: 5,
            tid: 5,
            name: b"python".to_vec(),
            exec: true,
        };
        assert_eq!(side(COMM, 1 << 13, &body), Some((100, comm)));
        for cut in 0..body.len() {
            let _ = side(COMM, 0, &body[..cut]);
            let _ = side(FORK, 0, &body[..cut]);
        }
    }

    #[test]
    fn a_mapping() {
        let name = |text: &[u8; 8]| u64::from_le_bytes(*text);
        let mut words = vec![6 << 32 | 5, 0x7000, 0x2000, 0x1000, 3 << 32 | 8, 77, 0, 5];
        words.extend([name(b"/lib/a.s"), name(b"o\0\0\0\0\0\0\0")]);
        words.extend([6 << 32 | 5, 99]);
        let body = bytes(&words);
        let mapping = Mapping {
            start: 0x7000,
            end: 0x9000,
            offset: 0x1000,
            device: 8 << 32 | 3,
            inode: 77,
            path: b"/lib/a.so".to_vec(),
        };
        let record = |mapping| Record::Mmap { pid: 5, mapping };
        assert_eq!(side(MMAP2, 0, &body), Some((99, record(Some(mapping)))));
        for cut in 0..body.len() {
            let _ = side(MMAP2, 0, &body[..cut]);
        }
    }

    #[test]
    fn damage_does_no_harm() {
        let mut words = vec![7 << 32 | 5, 1234, 1_000_000, 2, 3, 1, 2, 3];
        words.extend(100..117);
        words.extend([16, 0xAA, 0xBB, 8]);
        profundo_testing::damage(&bytes(&words), 2_000, |body| {
            for misc in [0, 1, 2, 1 << 13, 1 << 14] {
                let _ = (sample(misc, body, false), sample(misc, body, true));
                for kind in 0..20 {
                    let _ = (side(kind, misc, body), switch(kind, misc, body));
                    let _ = (returned(kind, body), lost(kind, body));
                }
            }
        });
    }

    #[test]
    fn a_call_that_has_returned() {
        let mut body = bytes(&[7 << 32 | 5]);
        body.extend(28_u32.to_le_bytes());
        body.extend(bytes(&[99, 257, -2_i64 as u64]));
        body.extend([0; 4]);
        body.extend(bytes(&[2, 0x7f00]));
        let call = returned(SAMPLE, &body).unwrap();
        assert_eq!((call.pid, call.tid, call.number), (5, 7, 257));
        assert_eq!(
            (call.error(), call.next, call.is_of_32_bits),
            (2, 0x7f00, false)
        );
        let with = |result| Returned { result, ..call };
        let errors = [0, 5, -1, -4095, -4096, i64::MIN].map(|result| with(result).error());
        assert_eq!(errors, [0, 0, 1, 4095, 0, 0]);
        assert!(returned(LOST, &body).is_none());
        assert_eq!(lost(LOST, &bytes(&[1, 12])), 12);
        for cut in 0..body.len() {
            assert!(returned(SAMPLE, &body[..cut]).is_none());
        }
    }

    #[test]
    fn a_sample_with_its_stack() {
        let mut words = vec![7 << 32 | 5, 1234, 1_000_000, 2];
        words.extend(100..117);
        words.extend([16, 0xAA, 0xBB, 8]);
        let found = sample(1, &bytes(&words), false).unwrap();
        assert_eq!((found.pid, found.tid, found.in_kernel), (5, 7, true));
        let (regs, general) = found.registers.unwrap();
        assert_eq!((regs.ip, regs.sp, regs.fp), (108, 107, 106));
        assert_eq!((general.0[1], general.0[8]), (103, 109));
        assert_eq!(found.stack, 0xAA_u64.to_le_bytes());
        for cut in 0..words.len() {
            let _ = sample(0, &bytes(&words[..cut]), false);
        }
        let mark = -128_i64 as u64;
        let (leaf, caller) = (0xffff_ffff_8100_0010, 0xffff_ffff_8100_0020);
        words.splice(3..3, [3, mark, leaf, caller]);
        let with_kernel = sample(1, &bytes(&words), true).unwrap();
        assert_eq!(with_kernel.kernel, [leaf, caller]);
        assert_eq!(
            (with_kernel.registers, with_kernel.stack),
            (found.registers, found.stack)
        );
        for cut in 0..words.len() {
            let _ = sample(0, &bytes(&words[..cut]), true);
        }
        words[3] = u64::MAX;
        assert!(sample(1, &bytes(&words), true).is_none());
    }
}
