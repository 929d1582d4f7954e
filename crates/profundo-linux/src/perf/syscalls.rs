//! System calls as they return: the kernel's tracepoint `raw_syscalls:sys_exit`, one record a call.
//!
//! Only calls that return are seen. `exit` does not, nor does a call in which a thread is killed.
//! The return from a signal handler has lost its number, and is left out.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use perf_event_open_sys::bindings;

use super::record::{self, Returned};
use super::ring::PerfRing;
use super::{control, cpus, open, request};
use crate::tracefs;

/// The memory of all rings together, in pages.
const ALL_PAGES: usize = 8192;
/// The memory of one ring at most: some 250 000 calls.
const MOST_PAGES: usize = 4096;

/// The reason why calls cannot be counted.
#[derive(Debug)]
pub enum Uncounted {
    /// The tracepoint's number cannot be read.
    Tracepoint(io::Error),
    /// The kernel refuses the event.
    Event(io::Error),
}

/// The beginning of the counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// At the next `exec` of the process.
    AtExec,
    /// When it is told to.
    Later,
}

/// The open events.
#[derive(Debug)]
pub struct SyscallExits {
    tracepoint: u64,
    /// One ring for each CPU.
    rings: Vec<(i32, OwnedFd, PerfRing)>,
    /// The events of threads that existed already.
    others: Vec<OwnedFd>,
}

impl SyscallExits {
    /// Counts the calls of a thread and of all its descendants.
    pub fn open(tid: u32, begins: Begins) -> Result<Self, Uncounted> {
        let tracepoint =
            tracefs::number_of("raw_syscalls/sys_exit").map_err(Uncounted::Tracepoint)?;
        let attr = || attributes(tracepoint, begins);
        let rings = open_rings(tid, attr).map_err(Uncounted::Event)?;
        Ok(Self {
            tracepoint,
            rings,
            others: Vec::new(),
        })
    }

    /// Counts those of another thread and its descendants, later.
    pub fn add(&mut self, tid: u32) -> io::Result<()> {
        for (cpu, ring, _) in &self.rings {
            let mut attr = attributes(self.tracepoint, Begins::Later);
            let event = match open(&mut attr, tid, *cpu) {
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
                event => event?,
            };
            control(&event, request::SET_OUTPUT, ring.as_raw_fd() as usize)?;
            self.others.push(event);
        }
        Ok(())
    }

    /// The tracepoint's number.
    pub fn tracepoint(&self) -> u64 {
        self.tracepoint
    }

    /// Goes on with counting, or stops.
    pub fn set_running(&self, running: bool) {
        let request = match running {
            true => request::ENABLE,
            false => request::DISABLE,
        };
        let first = self.rings.iter().map(|(_, event, _)| event);
        for event in first.chain(&self.others) {
            let _ = control(event, request, 0);
        }
    }

    /// The descriptors to poll. They are readable when half a ring is full.
    pub fn descriptors(&self) -> impl Iterator<Item = i32> {
        self.rings.iter().map(|(_, event, _)| event.as_raw_fd())
    }

    /// Hands the calls since the last time to `f`; returns the number of those that were lost.
    pub fn read(&self, mut f: impl FnMut(Returned)) -> u64 {
        let mut lost = 0;
        for (_, _, ring) in &self.rings {
            ring.read(|kind, _, body| match record::returned(kind, body) {
                Some(returned) => f(returned),
                None => lost += record::lost(kind, body),
            });
        }
        lost
    }
}

fn open_rings(
    tid: u32,
    attr: impl Fn() -> bindings::perf_event_attr,
) -> io::Result<Vec<(i32, OwnedFd, PerfRing)>> {
    let cpus = cpus();
    let each = (ALL_PAGES / cpus.len().max(1)).clamp(16, MOST_PAGES);
    let pages = 1 << each.ilog2();
    let mut rings = Vec::new();
    for cpu in cpus {
        match open(&mut attr(), tid, cpu) {
            Ok(event) => {
                let ring = PerfRing::map(&event, pages)?;
                rings.push((cpu, event, ring));
            }
            // The CPU has just gone offline.
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(rings)
}

/// The register that holds the address of the next instruction, as a bit of the kernel's numbers.
#[cfg(target_arch = "x86_64")]
const NEXT_INSTRUCTION: u64 = 1 << 8;
/// The register that holds the address of the next instruction, as a bit of the kernel's numbers.
#[cfg(not(target_arch = "x86_64"))]
const NEXT_INSTRUCTION: u64 = 1 << 32;

fn attributes(tracepoint: u64, begins: Begins) -> bindings::perf_event_attr {
    let mut attr = bindings::perf_event_attr::default();
    attr.type_ = bindings::PERF_TYPE_TRACEPOINT;
    attr.config = tracepoint;
    attr.__bindgen_anon_1.sample_period = 1;
    attr.sample_type = u64::from(
        bindings::PERF_SAMPLE_TID | bindings::PERF_SAMPLE_RAW | bindings::PERF_SAMPLE_REGS_USER,
    );
    attr.sample_regs_user = NEXT_INSTRUCTION;
    attr.set_inherit(1);
    attr.set_disabled(1);
    attr.set_enable_on_exec(u64::from(begins == Begins::AtExec));
    attr.set_watermark(1);
    // The kernel's default: half the ring.
    attr.__bindgen_anon_2.wakeup_watermark = 0;
    attr
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_has_one_record() {
        const CALLS: usize = 500;
        let me = crate::sys::thread_id();
        let exits = match SyscallExits::open(me, Begins::Later) {
            Ok(exits) => exits,
            Err(why) => return profundo_testing::skip(&format!("calls are not counted: {why:?}")),
        };
        exits.set_running(true);
        for _ in 0..CALLS {
            // SAFETY: no descriptor has this number.
            unsafe { libc::close(-1) };
        }
        exits.set_running(false);
        // SAFETY: as above; this one is not counted.
        unsafe { libc::close(-1) };
        let mut closed = Vec::new();
        let lost = exits.read(|returned| {
            if returned.number == libc::SYS_close {
                closed.push(returned);
            }
        });
        assert_eq!((closed.len(), lost), (CALLS, 0));
        let same = closed.iter().all(|call| {
            (call.tid, call.error(), call.next) == (me, libc::EBADF as u32, closed[0].next)
        });
        assert!(same && closed[0].next != 0, "{:?}", closed[0]);
    }
}
