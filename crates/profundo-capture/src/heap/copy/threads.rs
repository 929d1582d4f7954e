//! The stacks and registers of all threads at the moment of the copy, as far as known.

use std::collections::HashMap;

use profundo_probe::sys;

use crate::error::Error;
use crate::{proc, wall};

/// A thread at the moment of the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadThen {
    /// The kernel's thread id.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Its stack pointer; `None` if it was running.
    pub stack: Option<u64>,
    /// The known registers, by name.
    pub registers: Vec<(&'static str, u64)>,
}

/// The kernel's report about a waiting thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    text: String,
    turns: Option<u64>,
}

/// The threads as seen before the copy.
pub(super) type Before = HashMap<u32, Option<Waiting>>;

fn waiting(tid: u32) -> Option<Waiting> {
    let turns = wall::turns(tid);
    let text = wall::read(tid, "syscall").ok()?;
    wall::parse(&text)?;
    Some(Waiting { text, turns })
}

/// The state of all threads but our own.
pub(super) fn before_copy() -> Result<Before, Error> {
    Ok(proc::threads()?
        .into_iter()
        .map(|tid| (tid, waiting(tid)))
        .collect())
}

/// The end of a waiting thread's stack.
pub(super) fn stack_of(tid: u32) -> Option<u64> {
    wall::parse(&waiting(tid)?.text).map(|(_, sp, _)| sp)
}

/// All threads. Those that waited before the copy, and still do without having run in between, have
/// a stack pointer and registers. So has the calling thread: its own ones are given.
pub(super) fn those_that_waited(
    before: Before,
    own_stack: u64,
    own_registers: Registers,
) -> Vec<ThreadThen> {
    let me = sys::thread_id();
    let mut threads: Vec<ThreadThen> = before
        .into_iter()
        .map(|(tid, waited)| {
            let name = proc::thread_name(tid);
            let end = name.iter().position(|&byte| byte == 0);
            let name = String::from_utf8_lossy(&name[..end.unwrap_or(name.len())]).into_owned();
            let (stack, registers) = if tid == me {
                (Some(own_stack), own_registers.to_vec())
            } else {
                match waited.filter(|waited| {
                    waited.turns.is_some() && waiting(tid).as_ref() == Some(waited)
                }) {
                    Some(waited) => (
                        wall::parse(&waited.text).map(|(_, sp, _)| sp),
                        arguments(&waited.text),
                    ),
                    None => (None, Vec::new()),
                }
            };
            ThreadThen {
                tid,
                name,
                stack,
                registers,
            }
        })
        .collect();
    threads.sort_by_key(|thread| thread.tid);
    threads
}

/// The registers of a system call's arguments: `nr a b c d e f sp pc`.
fn arguments(text: &str) -> Vec<(&'static str, u64)> {
    #[cfg(target_arch = "x86_64")]
    const NAMES: [&str; 6] = ["rdi", "rsi", "rdx", "r10", "r8", "r9"];
    #[cfg(target_arch = "aarch64")]
    const NAMES: [&str; 6] = ["x0", "x1", "x2", "x3", "x4", "x5"];
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let [_, arguments @ .., _, _] = &words[..] else {
        return Vec::new();
    };
    let word = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let named = NAMES.into_iter().zip(arguments);
    named
        .filter_map(|(name, text)| Some((name, word(text)?)))
        .collect()
}

/// Registers by name.
pub(super) type Registers = [(&'static str, u64); KEPT];

/// The number of callee-saved registers.
#[cfg(target_arch = "x86_64")]
const KEPT: usize = 6;
#[cfg(target_arch = "aarch64")]
const KEPT: usize = 12;

/// The callee-saved registers here: the callers' values that are not on the stack yet.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn kept_here() -> Registers {
    let mut words = [0_u64; KEPT];
    // SAFETY: six words are written to where there is room for six.
    unsafe {
        std::arch::asm!(
            "mov [{0}], rbx",
            "mov [{0} + 8], rbp",
            "mov [{0} + 16], r12",
            "mov [{0} + 24], r13",
            "mov [{0} + 32], r14",
            "mov [{0} + 40], r15",
            in(reg) words.as_mut_ptr(),
            options(nostack, preserves_flags),
        );
    }
    let [rbx, rbp, r12, r13, r14, r15] = words;
    [
        ("rbx", rbx),
        ("rbp", rbp),
        ("r12", r12),
        ("r13", r13),
        ("r14", r14),
        ("r15", r15),
    ]
}

/// The callee-saved registers, x19 to x30.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(super) fn kept_here() -> Registers {
    let mut words = [0_u64; KEPT];
    // SAFETY: twelve words are written to where there is room for twelve.
    unsafe {
        std::arch::asm!(
            "stp x19, x20, [{0}]",
            "stp x21, x22, [{0}, #16]",
            "stp x23, x24, [{0}, #32]",
            "stp x25, x26, [{0}, #48]",
            "stp x27, x28, [{0}, #64]",
            "stp x29, x30, [{0}, #80]",
            in(reg) words.as_mut_ptr(),
            options(nostack, preserves_flags),
        );
    }
    const NAMES: [&str; KEPT] = [
        "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30",
    ];
    std::array::from_fn(|index| (NAMES[index], words[index]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_arguments_of_a_call_are_read() {
        let line = "202 0x7f0000000010 0x80 0x2 0x0 0x0 0xffffffff 0x7ffd00001000 0x7f1234\n";
        let [first, second, .., last] = &arguments(line)[..] else {
            panic!("six of them");
        };
        assert_eq!(
            (*first, *second),
            (("rdi", 0x7f00_0000_0010), ("rsi", 0x80))
        );
        assert_eq!(*last, ("r9", 0xffff_ffff));
        assert!(arguments("-1 0x7ffd00001000 0x7f1234").is_empty());
        assert!(arguments("running").is_empty());
    }

    #[test]
    fn waiting_threads_have_stacks_and_the_caller_has_registers() {
        let (stop, stopped) = mpsc::channel::<()>();
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            sender
                .send((sys::thread_id(), &raw const sender as u64))
                .unwrap();
            let _ = stopped.recv();
        });
        let (tid, local) = receiver.recv().unwrap();
        let began = Instant::now();
        let waits = loop {
            let all = before_copy().unwrap();
            let threads = those_that_waited(all, 7, kept_here());
            let of = |tid| {
                threads
                    .iter()
                    .find(|thread| thread.tid == tid)
                    .unwrap()
                    .clone()
            };
            let own = of(sys::thread_id());
            assert_eq!((own.stack, own.registers.len()), (Some(7), KEPT));
            if let Some(stack) = of(tid).stack {
                break Some(stack);
            }
            if wall::turns(tid).is_none() || began.elapsed() > Duration::from_secs(60) {
                // The kernel does not report whether it has run.
                break None;
            }
        };
        if let Some(stack) = waits {
            assert!(stack < local && local - stack < 1 << 16);
        }
        stop.send(()).unwrap();
        thread.join().unwrap();
    }
}
