//! Sampling a process that nothing of ours can be loaded into: the kernel writes down registers
//! and a piece of the stack at each tick of a task clock.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use perf_event_open_sys::bindings;

use super::record::{self, REGISTERS, Record, Sample};
use super::ring::PerfRing;
use super::{control, cpus, open, request, set_period};

/// How much of a stack is copied. Deeper ones are walked as far as it goes.
const STACK_BYTES: u32 = 16 << 10;

/// The rings, as large as ordinary users may have them.
const PAGES: usize = 64;

/// The events of all processes that are sampled from outside.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// One for each CPU, on an event that never fires.
    rings: Vec<(i32, OwnedFd, PerfRing)>,
    /// The process of each event, and the event.
    events: Vec<(u32, OwnedFd)>,
    kernel: bool,
}

impl Sampler {
    /// Makes the rings. With `kernel`, time in the kernel is sampled too.
    pub(crate) fn open(kernel: bool) -> io::Result<Self> {
        let mut rings = Vec::new();
        for cpu in cpus() {
            let mut attr = attributes(1_000_000_000, kernel);
            attr.config = u64::from(bindings::PERF_COUNT_SW_DUMMY);
            match open(&mut attr, std::process::id(), cpu) {
                Ok(event) => {
                    let ring = PerfRing::map(&event, PAGES)?;
                    rings.push((cpu, event, ring));
                }
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self {
            rings,
            events: Vec::new(),
            kernel,
        })
    }

    /// Samples the threads of a process, and those that they start. What was executed by them is
    /// another matter.
    pub(crate) fn add(&mut self, pid: u32, tids: &[u32], period: u64) -> io::Result<()> {
        for &tid in tids {
            for (cpu, ring, _) in &self.rings {
                let mut attr = attributes(period, self.kernel);
                attr.set_inherit(1);
                attr.set_remove_on_exec(1);
                let event = match open(&mut attr, tid, *cpu) {
                    // A kernel that does not know `remove_on_exec`.
                    Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                        attr.set_remove_on_exec(0);
                        open(&mut attr, tid, *cpu)
                    }
                    opened => opened,
                };
                let event = match event {
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => break,
                    event => event?,
                };
                control(&event, request::SET_OUTPUT, ring.as_raw_fd() as usize)?;
                self.events.push((pid, event));
            }
        }
        Ok(())
    }

    /// Lets the clocks of a process run, or stops them.
    pub(crate) fn set_running(&self, pid: u32, running: bool) {
        let request = if running {
            request::ENABLE
        } else {
            request::DISABLE
        };
        for (owner, event) in &self.events {
            if *owner == pid {
                let _ = control(event, request, 0);
            }
        }
    }

    /// Closes the clocks of a process.
    pub(crate) fn remove(&mut self, pid: u32) {
        self.events.retain(|(owner, _)| *owner != pid);
    }

    /// Changes the period of all clocks.
    pub(crate) fn set_period(&self, nanoseconds: u64) {
        for (_, event) in &self.events {
            set_period(event, nanoseconds);
        }
    }

    /// What was sampled since the last look, in the order of time, and how many were lost.
    pub(crate) fn read(&self) -> (Vec<Sample>, u64) {
        let mut samples = Vec::new();
        let mut lost = 0;
        for (_, _, ring) in &self.rings {
            ring.read(|kind, misc, body| {
                if kind == record::SAMPLE {
                    samples.extend(record::sample(misc, body));
                } else if let Some((_, Record::Lost { count })) = record::side(kind, misc, body) {
                    lost += count;
                }
            });
        }
        samples.sort_by_key(|sample| sample.time);
        (samples, lost)
    }
}

fn attributes(period: u64, kernel: bool) -> bindings::perf_event_attr {
    let mut attr = bindings::perf_event_attr::default();
    attr.type_ = bindings::PERF_TYPE_SOFTWARE;
    attr.config = u64::from(bindings::PERF_COUNT_SW_TASK_CLOCK);
    attr.__bindgen_anon_1.sample_period = period;
    attr.sample_type = u64::from(
        bindings::PERF_SAMPLE_TID
            | bindings::PERF_SAMPLE_TIME
            | bindings::PERF_SAMPLE_PERIOD
            | bindings::PERF_SAMPLE_REGS_USER
            | bindings::PERF_SAMPLE_STACK_USER,
    );
    attr.sample_regs_user = REGISTERS;
    attr.sample_stack_user = STACK_BYTES;
    attr.set_disabled(1);
    attr.set_exclude_kernel(u64::from(!kernel));
    attr.set_exclude_hv(1);
    attr.set_sample_id_all(1);
    attr.set_use_clockid(1);
    attr.clockid = libc::CLOCK_MONOTONIC;
    attr
}

/// Whether the kernel's part of the time may be sampled.
pub(crate) fn kernel_is_permitted() -> bool {
    let mut attr = attributes(1_000_000_000, true);
    open(&mut attr, std::process::id(), -1).is_ok()
}

/// The CPU time of a whole tree of processes.
#[derive(Debug)]
pub(crate) struct Counter {
    event: OwnedFd,
}

impl Counter {
    /// Counts from now on, what descends from the process included.
    pub(crate) fn open(pid: u32) -> io::Result<Self> {
        let mut attr = bindings::perf_event_attr::default();
        attr.type_ = bindings::PERF_TYPE_SOFTWARE;
        attr.config = u64::from(bindings::PERF_COUNT_SW_TASK_CLOCK);
        attr.set_inherit(1);
        attr.set_exclude_kernel(1);
        attr.set_exclude_hv(1);
        let event = open(&mut attr, pid, -1)?;
        Ok(Self { event })
    }

    /// Nanoseconds on a CPU so far, in user code and in the kernel.
    pub(crate) fn read(&self) -> Option<u64> {
        read_count(&self.event)
    }
}

/// What an event has counted.
pub(super) fn read_count(event: &OwnedFd) -> Option<u64> {
    let mut count = 0_u64;
    // SAFETY: eight bytes of ours are written.
    let read = unsafe { libc::read(event.as_raw_fd(), (&raw mut count).cast(), 8) };
    (read == 8).then_some(count)
}
