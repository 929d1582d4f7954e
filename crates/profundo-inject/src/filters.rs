//! The filters of system calls (seccomp) that a program has, as in most containers: whether they
//! let the calls through that the agent makes in its name. A filter that would end the program for
//! one of them keeps us out.
//!
//! The kernel gives root the filters of a held thread. They are programs of a small machine, which
//! see a call's number and its arguments. Here they are followed along every path that some
//! arguments may lead to, and all that they may decide is collected.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use profundo_linux::proc;
use profundo_process::reading::{NotHeld, Stopper};

use super::ptrace::{PTRACE_SECCOMP_GET_FILTER, read_filter};
use super::steps::{hold_awake, number_of_filters};

/// The calls without which the agent can do nothing.
const NEEDED: &[i64] = &[
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_memfd_create,
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_read,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_getdents64,
    libc::SYS_futex,
    libc::SYS_flock,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_yield,
    libc::SYS_clock_gettime,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_delete,
    libc::SYS_exit,
];

/// The other calls of the agent, of the loader and of the C library on its behalf. They may fail.
const OTHERS: &[i64] = &[
    libc::SYS_write,
    libc::SYS_pread64,
    libc::SYS_brk,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_getrandom,
    libc::SYS_getppid,
    libc::SYS_geteuid,
    libc::SYS_getrusage,
    libc::SYS_clock_getres,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_prlimit64,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_fstatfs,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fcntl,
    libc::SYS_membarrier,
    libc::SYS_kill,
    libc::SYS_tgkill,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    libc::SYS_signalfd4,
    libc::SYS_setitimer,
    libc::SYS_wait4,
    libc::SYS_renameat2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
    libc::SYS_ioctl,
    libc::SYS_process_vm_readv,
    libc::SYS_restart_syscall,
];

/// An instruction of a filter, as the kernel has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub(super) struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    value: u32,
}

/// Whether the filters of a process's threads let through what the agent does. `None`: the kernel
/// does not show them to us.
pub(super) fn permit(pid: u32) -> Option<bool> {
    /// The time to look at the threads that are not held gently.
    const LONGEST: Duration = Duration::from_millis(500);
    const PAUSE: Duration = Duration::from_millis(1);
    let began = Instant::now();
    let mut stopper = Stopper::default();
    stopper.has_some_patience = true;
    // Threads have nearly always the same filters.
    let mut judged: HashMap<Vec<Vec<Instruction>>, bool> = HashMap::new();
    let mut counts = BTreeSet::new();
    let mut left = proc::threads(pid);
    while !left.is_empty() {
        let mut unseen = Vec::new();
        for tid in left {
            let count = number_of_filters(pid, tid);
            if count == 0 {
                continue;
            }
            let held = match hold_awake(&mut stopper, pid, tid) {
                Ok(held) => held,
                Err(NotHeld::Gone) => continue,
                Err(_) => {
                    unseen.push((tid, count));
                    continue;
                }
            };
            let filters = filters_of(held.tid());
            held.resume();
            let filters = filters?;
            counts.insert(count);
            if !*judged
                .entry(filters)
                .or_insert_with_key(|filters| let_through(filters))
            {
                return Some(false);
            }
        }
        if began.elapsed() > LONGEST {
            // A thread that cannot be held has inherited its filters from one that can.
            return Some(unseen.iter().all(|(_, count)| counts.contains(count)));
        }
        left = unseen.into_iter().map(|(tid, _)| tid).collect();
        if !left.is_empty() {
            std::thread::sleep(PAUSE);
        }
    }
    Some(true)
}

/// The filters of a held thread. `None`: the kernel does not show them.
fn filters_of(tid: i32) -> Option<Vec<Vec<Instruction>>> {
    /// More than any thread has.
    const MANY: usize = 64;
    let mut filters = Vec::new();
    for index in 0..MANY {
        let count = match read_filter::<Instruction>(tid, PTRACE_SECCOMP_GET_FILTER, index, &mut [])
        {
            Ok(count) => count,
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Some(filters),
            Err(_) => return None,
        };
        let mut filter = vec![Instruction::default(); count];
        read_filter(tid, PTRACE_SECCOMP_GET_FILTER, index, &mut filter).ok()?;
        filters.push(filter);
    }
    None
}

/// Whether all filters together let the agent's calls through.
fn let_through(filters: &[Vec<Instruction>]) -> bool {
    let all = |call: i64| {
        let decisions = filters.iter().map(move |filter| decisions(filter, call));
        decisions.map(|found| found.unwrap_or_else(|| BTreeSet::from([Decision::Harm])))
    };
    let is_harmless = |call: &i64| all(*call).all(|found| !found.contains(&Decision::Harm));
    let is_permitted = |call: &i64| all(*call).all(|found| found.contains(&Decision::Permit));
    let mut calls = NEEDED.iter().chain(OTHERS);
    calls.all(is_harmless) && NEEDED.iter().all(is_permitted)
}

/// The decision of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Decision {
    /// The call is made.
    Permit,
    /// It fails.
    Refuse,
    /// The thread or the process is ended, stopped, or gets a signal.
    Harm,
}

impl Decision {
    fn of(value: u32) -> Self {
        const ALLOW: u32 = 0x7fff_0000;
        const LOG: u32 = 0x7ffc_0000;
        const ERRNO: u32 = 0x0005_0000;
        match value & 0xffff_0000 {
            ALLOW | LOG => Self::Permit,
            ERRNO => Self::Refuse,
            _ => Self::Harm,
        }
    }
}

/// A filter on its way: the next instruction, and what is known of its two registers and of its
/// memory.
#[derive(Debug, Clone)]
struct Path {
    at: usize,
    a: Option<u32>,
    x: Option<u32>,
    memory: [Option<u32>; 16],
}

/// All that a filter may decide of a call with any arguments. `None`: it has too many paths, or an
/// instruction that is not known.
fn decisions(filter: &[Instruction], call: i64) -> Option<BTreeSet<Decision>> {
    /// More steps than filters without arguments take.
    const MOST: usize = 200_000;
    let mut found = BTreeSet::new();
    let mut paths = vec![Path {
        at: 0,
        a: Some(0),
        x: Some(0),
        memory: [Some(0); 16],
    }];
    let mut steps = 0;
    while let Some(mut path) = paths.pop() {
        loop {
            steps += 1;
            if steps > MOST {
                return None;
            }
            let instruction = filter.get(path.at)?;
            path.at += 1;
            match step(&mut path, *instruction, call)? {
                Step::On => {}
                Step::Jump(ways) => {
                    let [first, second] = ways;
                    if let Some(second) = second {
                        let mut other = path.clone();
                        other.at += second;
                        paths.push(other);
                    }
                    path.at += first?;
                }
                Step::Decide(Some(value)) => {
                    found.insert(Decision::of(value));
                    break;
                }
                // It depends on the arguments.
                Step::Decide(None) => {
                    found.insert(Decision::Harm);
                    break;
                }
            }
        }
    }
    Some(found)
}

enum Step {
    On,
    /// How many instructions are left out, on each possible way.
    Jump([Option<usize>; 2]),
    Decide(Option<u32>),
}

/// The word of the kernel's description of a call at an offset. `None`: it may be any.
fn word_at(offset: u32, call: i64) -> Option<u32> {
    /// The kernel's number of the processor.
    const ARCHITECTURE: u32 = match cfg!(target_arch = "x86_64") {
        true => 0xC000_003E,
        false => 0xC000_00B7,
    };
    match offset {
        0 => Some(call as u32),
        4 => Some(ARCHITECTURE),
        _ => None,
    }
}

fn step(path: &mut Path, instruction: Instruction, call: i64) -> Option<Step> {
    const LENGTH: u32 = 64;
    let Instruction {
        code,
        if_true,
        if_false,
        value,
    } = instruction;
    let slot = (value as usize).min(15);
    let operand = match code & 0x08 {
        0 => Some(value),
        _ => path.x,
    };
    match code {
        // Loads.
        0x20 => path.a = word_at(value, call),
        0x00 => path.a = Some(value),
        0x01 => path.x = Some(value),
        0x80 => path.a = Some(LENGTH),
        0x81 => path.x = Some(LENGTH),
        0x60 => path.a = *path.memory.get(slot)?,
        0x61 => path.x = *path.memory.get(slot)?,
        // Stores and moves.
        0x02 => *path.memory.get_mut(slot)? = path.a,
        0x03 => *path.memory.get_mut(slot)? = path.x,
        0x07 => path.x = path.a,
        0x87 => path.a = path.x,
        // Decisions.
        0x06 => return Some(Step::Decide(Some(value))),
        0x16 => return Some(Step::Decide(path.a)),
        // Jumps.
        0x05 => return Some(Step::Jump([Some(value as usize), None])),
        0x15 | 0x1d | 0x25 | 0x2d | 0x35 | 0x3d | 0x45 | 0x4d => {
            let (yes, no) = (usize::from(if_true), usize::from(if_false));
            let (Some(a), Some(operand)) = (path.a, operand) else {
                return Some(Step::Jump([Some(yes), (yes != no).then_some(no)]));
            };
            let holds = match code & 0xf0 {
                0x10 => a == operand,
                0x20 => a > operand,
                0x30 => a >= operand,
                _ => a & operand != 0,
            };
            return Some(Step::Jump([Some(if holds { yes } else { no }), None]));
        }
        // Arithmetic.
        0x84 => path.a = path.a.map(|a| 0_u32.wrapping_sub(a)),
        _ if code & 0x07 == 0x04 => {
            let both = path.a.zip(operand);
            path.a = match code & 0xf0 {
                // The kernel ends the filter, and with it the program.
                0x30 if operand == Some(0) => return Some(Step::Decide(None)),
                0x00 => both.map(|(a, b)| a.wrapping_add(b)),
                0x10 => both.map(|(a, b)| a.wrapping_sub(b)),
                0x20 => both.map(|(a, b)| a.wrapping_mul(b)),
                0x30 => both.and_then(|(a, b)| a.checked_div(b)),
                0x40 => both.map(|(a, b)| a | b),
                0x50 => both.map(|(a, b)| a & b),
                0x60 => both.and_then(|(a, b)| a.checked_shl(b)),
                0x70 => both.and_then(|(a, b)| a.checked_shr(b)),
                0xa0 => both.map(|(a, b)| a ^ b),
                _ => return None,
            };
        }
        _ => return None,
    }
    Some(Step::On)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOW: u32 = 0x7fff_0000;
    const ERRNO: u32 = 0x0005_0001;
    const KILL: u32 = 0;

    fn at(code: u16, if_true: u8, if_false: u8, value: u32) -> Instruction {
        Instruction {
            code,
            if_true,
            if_false,
            value,
        }
    }

    /// Decides one call otherwise than the others.
    fn but(call: i64, decision: u32, others: u32) -> Vec<Instruction> {
        vec![
            at(0x20, 0, 0, 0),
            at(0x15, 0, 1, call as u32),
            at(0x06, 0, 0, decision),
            at(0x06, 0, 0, others),
        ]
    }

    #[test]
    fn a_filter_that_would_end_the_program_keeps_us_out() {
        let all = vec![at(0x06, 0, 0, ALLOW)];
        assert!(let_through(&[]));
        assert!(let_through(std::slice::from_ref(&all)));
        assert!(!let_through(&[vec![at(0x06, 0, 0, KILL)]]));
        assert!(!let_through(&[but(libc::SYS_mmap, KILL, ALLOW)]));
        assert!(!let_through(&[but(libc::SYS_mmap, ERRNO, ALLOW)]));
        assert!(let_through(&[but(libc::SYS_membarrier, ERRNO, ALLOW)]));
        assert!(!let_through(&[but(libc::SYS_membarrier, KILL, ALLOW)]));
        // The strictest one counts.
        let strict = but(libc::SYS_membarrier, KILL, ALLOW);
        assert!(!let_through(&[all.clone(), strict]));
        assert!(let_through(&[all, but(libc::SYS_mount, KILL, ALLOW)]));
    }

    #[test]
    fn a_filter_is_followed_for_all_arguments() {
        // Ends the program if the first argument has a bit.
        let by_argument = vec![
            at(0x20, 0, 0, 16),
            at(0x45, 0, 1, 0x10),
            at(0x06, 0, 0, KILL),
            at(0x06, 0, 0, ALLOW),
        ];
        let found = decisions(&by_argument, libc::SYS_clone);
        let both = BTreeSet::from([Decision::Permit, Decision::Harm]);
        assert_eq!(found, Some(both));
        assert!(!let_through(&[by_argument]));
        // What is not known, or ends nowhere, is no permission.
        assert!(!let_through(&[vec![at(0xffff, 0, 0, 0)]]));
        assert!(!let_through(&[vec![at(0x05, 0, 0, 7)]]));
        // Another processor's calls are none of ours.
        let mut of_processor = vec![at(0x20, 0, 0, 4), at(0x15, 1, 0, 0xC000_003E)];
        of_processor.extend([at(0x06, 0, 0, KILL), at(0x06, 0, 0, ALLOW)]);
        assert_eq!(let_through(&[of_processor]), cfg!(target_arch = "x86_64"));
    }
}
