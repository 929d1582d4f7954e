//! Errors at the start of a session, with their remedies.

use std::io;
use std::time::Duration;

/// The refused request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// `perf_event_open`.
    PerfEvents,
    /// `timer_create` on a thread's CPU clock.
    CpuTimer,
    /// Reserving memory for the buffer.
    Memory,
    /// Installing a signal handler.
    SignalHandler,
    /// Starting the helper thread.
    Thread,
    /// Reading `/proc/self`.
    Proc,
    /// Making a copy of the process.
    Copy,
    /// Reading the copy's memory.
    ReadCopy,
}

impl Refusal {
    fn what(self) -> &'static str {
        match self {
            Self::PerfEvents => "perf_event_open",
            Self::CpuTimer => "timer_create on a thread's CPU clock",
            Self::Memory => "memory for the sample buffer",
            Self::SignalHandler => "a signal handler",
            Self::Thread => "a helper thread",
            Self::Proc => "/proc/self",
            Self::Copy => "a copy of the process",
            Self::ReadCopy => "to read the copy's memory (process_vm_readv)",
        }
    }

    fn remedy(self, errno: Option<i32>) -> &'static str {
        match (self, errno) {
            (Self::PerfEvents, Some(libc::EACCES | libc::EPERM)) => {
                "it is permitted by `sysctl kernel.perf_event_paranoid=2` (or CAP_PERFMON, or a \
                 container's seccomp profile that allows the call); the engine `cpu-timer` does \
                 without"
            }
            (Self::PerfEvents, Some(libc::EMFILE | libc::ENFILE)) => {
                "raise the limit of open files (`ulimit -n`), or use the engine `cpu-timer`"
            }
            (Self::PerfEvents, Some(libc::ENOSYS)) => {
                "this kernel has no perf events; use the engine `cpu-timer`"
            }
            (Self::PerfEvents, _) => "the engine `cpu-timer` does without",
            (Self::CpuTimer, Some(libc::EAGAIN)) => {
                "raise the limit of pending signals (`ulimit -i`)"
            }
            (Self::CpuTimer, _) => {
                "a seccomp profile of the container that allows the call permits it"
            }
            (Self::Memory, _) => "ask `init` for fewer words, or raise `ulimit -v`",
            (Self::SignalHandler, _) => {
                "a seccomp profile of the container that allows `rt_sigaction` permits it"
            }
            (Self::Thread, _) => {
                "raise the limit of processes (`ulimit -u`, or the container's `pids.max`)"
            }
            (Self::Copy, Some(libc::EAGAIN)) => {
                "raise the limit of processes (`ulimit -u`, or the container's `pids.max`)"
            }
            (Self::Copy, _) => {
                "there has to be memory for it (`vm.overcommit_memory=2` counts all that it might write to)"
            }
            (Self::ReadCopy, _) => {
                "it is permitted by `sysctl kernel.yama.ptrace_scope=1` (or 0), by a seccomp profile of the \
                 container that allows the call, and in a process that is dumpable (`PR_SET_DUMPABLE`)"
            }
            (Self::Proc, _) => "mount /proc, or let the program read its own `/proc/self/task`",
        }
    }
}

/// The reason why a session could not start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is one buffer and one set of timers.
    #[error(
        "a profile is already running in this process; sessions cannot be nested or concurrent"
    )]
    AlreadyRunning,
    /// The buffer cannot be replaced while it is being written.
    #[error("the buffer cannot be changed while a profile is running; call `stop` first")]
    InitWhileRunning,
    /// A delay of nothing, or one too long to be meant.
    #[error("delay {0:?} is not possible; it must be from 10 microseconds to 1 hour")]
    Delay(Duration),
    /// Not one sample would fit.
    #[error("a buffer of {0} words is not possible; it must be from 1 to 2^40 words")]
    Words(u64),
    /// Not one allocation would fit.
    #[error("room for {0} allocations is not possible; it must be for 1 to 2^36 of them")]
    Allocations(u64),
    /// The room for allocations cannot be replaced while it is being written.
    #[error(
        "the room for allocations cannot be changed while they are recorded; call `stop` first"
    )]
    AllocationsWhileRecording,
    /// There is one recording of allocations.
    #[error(
        "allocations are already being recorded in this process; `profile!` cannot be nested or concurrent"
    )]
    AlreadyRecording,
    /// A rate that is not a number.
    #[error("sample rate {0} is not possible; it must be a number, of which 1 and above means all")]
    SampleRate(f64),
    /// The program's allocator does not report allocations.
    #[error(
        "this program's allocator does not tell of allocations: it must have          `#[global_allocator] static ALLOC: profundo::Alloc = profundo::Alloc::system();`"
    )]
    NotInstalled,
    /// The program's allocator does not report all blocks.
    #[error(
        "this program's allocator does not follow its blocks from the beginning: it must have \
         `#[global_allocator] static ALLOC: profundo::Alloc = profundo::Alloc::system().following();`"
    )]
    NotFollowing,
    /// One snapshot at a time.
    #[error("a heap snapshot is already being taken in this process")]
    SnapshotGoingOn,
    /// The snapshot took too long.
    #[error("the heap snapshot took longer than 5 minutes, and was given up")]
    SnapshotLong,
    /// The copy was killed, perhaps for want of memory.
    #[error("the copy of the process could not be read to its end: perhaps memory has run out")]
    SnapshotGone,
    /// The program might run out of memory.
    #[error(
        "there is too little memory for a heap snapshot: while the copy is there the program may write to all of its \
         {} MiB, and {who} has {} MiB left",
        needed >> 20, available >> 20
    )]
    Headroom {
        /// The program's own memory in bytes.
        needed: u64,
        /// The free memory in bytes.
        available: u64,
        /// The owner of the limit.
        who: &'static str,
    },
    /// Nothing was ever recorded.
    #[error(
        "the profiling data buffer is not initialized: no profile has been requested in this process"
    )]
    NotInitialized,
    /// The kernel refused.
    #[error("the kernel refused {}: {source}; {}", what.what(), what.remedy(source.raw_os_error()))]
    Refused {
        /// The refused request.
        what: Refusal,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl Error {
    /// The kernel's refusal in `errno`.
    pub(crate) fn refused(what: Refusal) -> Self {
        Self::Refused {
            what,
            source: io::Error::last_os_error(),
        }
    }
}
