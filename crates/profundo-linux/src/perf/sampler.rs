//! Sampling a process without an agent in it: the kernel copies registers and a piece of the stack
//! at each tick of a task clock.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use perf_event_open_sys::bindings;

use super::record::{self, Record, Sample};
use super::registers::REGISTERS;
use super::ring::PerfRing;
use super::{control, cpus, open, request, set_period};

/// Bytes of the stack that are copied. Deeper stacks are walked that far.
pub(super) const STACK_BYTES: u32 = 16 << 10;

/// The size of a ring, the largest that ordinary users may have.
const PAGES: usize = 64;

/// The events of all processes that are sampled from outside.
#[derive(Debug)]
pub struct Sampler {
    /// One for each CPU, on an event that never fires.
    rings: Vec<Ring>,
    /// The process and the thread of each event.
    events: Vec<(u32, u32, OwnedFd)>,
    /// The threads sampled since the last change of the period.
    sampled: RefCell<HashSet<u32>>,
    /// The number of changes of the period.
    changes: Cell<u64>,
    /// By process, the factor of its clocks' period.
    rarer: HashMap<u32, u64>,
    /// By process, nanoseconds that closed clocks had counted.
    closed: HashMap<u32, u64>,
    what: Sampled,
}

/// The choice of what is sampled, and of the other records that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampled {
    /// Also samples time in the kernel.
    pub kernel: bool,
    /// Also records forks, ends, names and mappings: no side-band events do.
    pub sideband: bool,
    /// Wakes the reader of the rings at each sample.
    pub wakes: bool,
}

/// The records read from the rings.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Ordered by time.
    pub samples: Vec<Sample>,
    /// Side-band records, ordered by time.
    pub records: Vec<(u64, Record)>,
    /// The number of lost samples.
    pub lost: u64,
}

impl Sampler {
    /// Makes the rings.
    pub fn open(what: Sampled) -> io::Result<Self> {
        let mut rings = Vec::new();
        for cpu in cpus() {
            let mut attr = attributes(1_000_000_000, what);
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
            sampled: RefCell::default(),
            changes: Cell::default(),
            rarer: HashMap::new(),
            closed: HashMap::new(),
            what,
        })
    }

    /// Gives the clocks of a process this multiple of the others' period.
    pub fn sample_rarer(&mut self, pid: u32, times: u64) {
        if times > 1 {
            self.rarer.insert(pid, times);
        }
    }

    fn period_of(&self, pid: u32, usual: u64) -> u64 {
        usual.saturating_mul(self.rarer.get(&pid).copied().unwrap_or(1))
    }

    /// Samples the threads of a process, and those that they start, until the process executes
    /// another program.
    pub fn add(&mut self, pid: u32, tids: &[u32], period: u64) -> io::Result<()> {
        let period = self.period_of(pid, period);
        for &tid in tids {
            for (cpu, ring, _) in &self.rings {
                let mut attr = attributes(period, self.what);
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
                self.events.push((pid, tid, event));
            }
        }
        Ok(())
    }

    /// Lets the clocks of a process run, or stops them.
    pub fn set_running(&self, pid: u32, running: bool) {
        let request = if running {
            request::ENABLE
        } else {
            request::DISABLE
        };
        for (owner, _, event) in &self.events {
            if *owner == pid {
                let _ = control(event, request, 0);
            }
        }
    }

    /// Nanoseconds that the clocks of a process have counted.
    pub fn counted(&self, pid: u32) -> u64 {
        let events = self.events.iter().filter(|(owner, ..)| *owner == pid);
        let open: u64 = events.filter_map(|(.., event)| read_count(event)).sum();
        open + self.closed.get(&pid).copied().unwrap_or_default()
    }

    /// Closes the clocks of a process, which is to have others.
    pub fn close(&mut self, pid: u32) {
        let counted = self.counted(pid);
        self.closed.insert(pid, counted);
        self.events.retain(|(owner, ..)| *owner != pid);
    }

    /// Closes the clocks of a process, and forgets it.
    pub fn remove(&mut self, pid: u32) {
        self.events.retain(|(owner, ..)| *owner != pid);
        self.rarer.remove(&pid);
        self.closed.remove(&pid);
    }

    /// Changes the period of the clocks that have ticked; of rarer clocks that of as many fewer.
    /// Changing that of a sleeping thread's would wake a CPU.
    pub fn set_period(&self, nanoseconds: u64) {
        let change = self.changes.get();
        self.changes.set(change.wrapping_add(1));
        let times = |pid| self.rarer.get(&pid).copied().unwrap_or(1);
        let is_due = |pid| change.is_multiple_of(times(pid));
        let mut sampled = self.sampled.borrow_mut();
        for (pid, tid, event) in &self.events {
            if is_due(*pid) && sampled.contains(tid) {
                set_period(event, self.period_of(*pid, nanoseconds));
            }
        }
        let others = self.events.iter().filter(|(pid, ..)| !is_due(*pid));
        let others: HashSet<u32> = others.map(|(_, tid, _)| *tid).collect();
        sampled.retain(|tid| others.contains(tid));
    }

    /// The records since the last call.
    pub fn read(&self) -> Gathered {
        let gathered = gather(&self.rings, self.what);
        let sampled = gathered.samples.iter().map(|sample| sample.tid);
        self.sampled.borrow_mut().extend(sampled);
        gathered
    }

    /// Waits for records, at most this long.
    pub fn wait(&self, most: Duration) {
        wait(&self.rings, most);
    }
}

/// The ring of one CPU, with the event that it was made for.
pub(super) type Ring = (i32, OwnedFd, PerfRing);

/// Takes the records out of the rings.
pub(super) fn gather(rings: &[Ring], what: Sampled) -> Gathered {
    let mut gathered = Gathered::default();
    for (cpu, _, ring) in rings {
        ring.read(|kind, misc, body| {
            if kind == record::SAMPLE {
                let sample = record::sample(misc, body, what.kernel);
                let sample = sample.map(|sample| Sample {
                    cpu: *cpu,
                    ..sample
                });
                gathered.samples.extend(sample);
                return;
            }
            match record::side(kind, misc, body) {
                Some((_, Record::Lost { count })) => gathered.lost += count,
                records => gathered.records.extend(records),
            }
        });
    }
    gathered.samples.sort_by_key(|sample| sample.time);
    gathered.records.sort_by_key(|(time, _)| *time);
    gathered
}

/// Waits until a ring has records, at most this long.
pub(super) fn wait(rings: &[Ring], most: Duration) {
    let mut polled: Vec<libc::pollfd> = rings
        .iter()
        .map(|(_, event, _)| libc::pollfd {
            fd: event.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    let time = libc::timespec {
        tv_sec: most.as_secs().min(3600) as i64,
        tv_nsec: most.subsec_nanos().into(),
    };
    let count = polled.len() as libc::nfds_t;
    // SAFETY: the entries are valid and as many as said; no mask is set.
    unsafe { libc::ppoll(polled.as_mut_ptr(), count, &time, std::ptr::null()) };
}

pub(super) fn attributes(period: u64, what: Sampled) -> bindings::perf_event_attr {
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
    if what.kernel {
        // The kernel walks its own part of the stack; we walk the user's.
        attr.sample_type |= u64::from(bindings::PERF_SAMPLE_CALLCHAIN);
        attr.set_exclude_callchain_user(1);
    }
    attr.sample_regs_user = REGISTERS;
    attr.sample_stack_user = STACK_BYTES;
    attr.set_disabled(1);
    attr.set_exclude_kernel(u64::from(!what.kernel));
    if what.sideband {
        attr.set_task(1);
        attr.set_comm(1);
        attr.set_comm_exec(1);
        attr.set_mmap(1);
        attr.set_mmap2(1);
    }
    if what.wakes {
        attr.__bindgen_anon_2.wakeup_events = 1;
    }
    attr.set_exclude_hv(1);
    attr.set_sample_id_all(1);
    attr.set_use_clockid(1);
    attr.clockid = libc::CLOCK_MONOTONIC;
    attr
}

/// Tests whether time in the kernel may be sampled.
pub fn kernel_is_permitted() -> io::Result<()> {
    let what = Sampled {
        kernel: true,
        sideband: false,
        wakes: false,
    };
    let mut attr = attributes(1_000_000_000, what);
    open(&mut attr, std::process::id(), -1).map(drop)
}

/// The CPU time of a tree of processes.
#[derive(Debug)]
pub struct Counter {
    event: OwnedFd,
}

impl Counter {
    /// Counts from the `exec` of the process on, its descendants included.
    pub fn of_program(pid: u32) -> io::Result<Self> {
        let mut attr = bindings::perf_event_attr::default();
        attr.type_ = bindings::PERF_TYPE_SOFTWARE;
        attr.config = u64::from(bindings::PERF_COUNT_SW_TASK_CLOCK);
        attr.set_inherit(1);
        attr.set_disabled(1);
        attr.set_enable_on_exec(1);
        attr.set_exclude_kernel(1);
        attr.set_exclude_hv(1);
        let event = open(&mut attr, pid, -1)?;
        Ok(Self { event })
    }

    /// Nanoseconds on a CPU so far, in user code and in the kernel.
    pub fn read(&self) -> Option<u64> {
        read_count(&self.event)
    }
}

/// The count of an event.
pub(super) fn read_count(event: &OwnedFd) -> Option<u64> {
    let mut count = 0_u64;
    // SAFETY: eight bytes of ours are written.
    let read = unsafe { libc::read(event.as_raw_fd(), (&raw mut count).cast(), 8) };
    (read == 8).then_some(count)
}
