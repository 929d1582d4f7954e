//! The side-band of a tree of processes: forks, execs, names, mappings and ends, as the kernel
//! reports them. Programs without an agent are included.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use perf_event_open_sys::bindings;

use super::record::{self, Record};
use super::ring::PerfRing;
use super::{control, cpus, open, request};

/// Room for some hundred records on each CPU between two readings.
const PAGES: usize = 16;

/// The open events, one for each CPU.
#[derive(Debug)]
pub struct SideBand {
    rings: Vec<(OwnedFd, PerfRing)>,
    /// The events of further threads, whose records go to the same rings.
    _others: Vec<OwnedFd>,
}

/// The most events of one side-band: each is a descriptor.
const MOST_EVENTS: usize = 8192;

impl SideBand {
    /// Watches a process and all its descendants.
    pub fn open(pid: u32) -> io::Result<Self> {
        Self::with(&[pid], ask_for_all)
    }

    /// Watches threads that run already, and all their descendants.
    pub fn open_running(tids: &[u32]) -> io::Result<Self> {
        Self::with(tids, ask_for_all)
    }

    /// Watches beginnings and ends only. The reader is not woken before a ring is half full.
    pub fn of_beginnings(pid: u32) -> io::Result<Self> {
        Self::with(&[pid], |attr| {
            attr.set_watermark(1);
            // The kernel's default: half the ring.
            attr.__bindgen_anon_2.wakeup_watermark = 0;
        })
    }

    fn with(tids: &[u32], ask: impl Fn(&mut bindings::perf_event_attr)) -> io::Result<Self> {
        let cpus = cpus();
        if tids.len().saturating_mul(cpus.len()) > MOST_EVENTS {
            return Err(io::Error::other("there are too many threads"));
        }
        let mut rings = Vec::new();
        let mut others = Vec::new();
        for cpu in cpus {
            let mut ring: Option<(OwnedFd, PerfRing)> = None;
            let mut attr = bindings::perf_event_attr::default();
            attr.type_ = bindings::PERF_TYPE_SOFTWARE;
            attr.config = u64::from(bindings::PERF_COUNT_SW_DUMMY);
            attr.sample_type =
                u64::from(bindings::PERF_SAMPLE_TID) | u64::from(bindings::PERF_SAMPLE_TIME);
            attr.set_inherit(1);
            attr.set_task(1);
            attr.set_sample_id_all(1);
            attr.set_exclude_kernel(1);
            attr.set_use_clockid(1);
            attr.clockid = libc::CLOCK_MONOTONIC;
            ask(&mut attr);
            for &tid in tids {
                match (open(&mut attr, tid, cpu), &ring) {
                    (Ok(event), None) => {
                        let records = PerfRing::map(&event, PAGES)?;
                        ring = Some((event, records));
                    }
                    (Ok(event), Some((first, _))) => {
                        control(&event, request::SET_OUTPUT, first.as_raw_fd() as usize)?;
                        others.push(event);
                    }
                    // The CPU has just gone offline.
                    (Err(error), _) if error.raw_os_error() == Some(libc::ENODEV) => break,
                    // One of several threads has just ended.
                    (Err(error), _)
                        if error.raw_os_error() == Some(libc::ESRCH) && tids.len() > 1 => {}
                    (Err(error), _) => return Err(error),
                }
            }
            rings.extend(ring);
        }
        Ok(Self {
            rings,
            _others: others,
        })
    }

    /// The descriptors to poll.
    pub fn descriptors(&self) -> impl Iterator<Item = i32> {
        self.rings.iter().map(|(event, _)| event.as_raw_fd())
    }

    /// The records since the last call, ordered by time.
    pub fn read(&self) -> Vec<(u64, Record)> {
        let mut records = Vec::new();
        for (_, ring) in &self.rings {
            ring.read(|kind, misc, body| records.extend(record::side(kind, misc, body)));
        }
        records.sort_by_key(|(time, _)| *time);
        records
    }
}

fn ask_for_all(attr: &mut bindings::perf_event_attr) {
    attr.set_comm(1);
    attr.set_comm_exec(1);
    attr.set_mmap(1);
    attr.set_mmap2(1);
    attr.__bindgen_anon_2.wakeup_events = 1;
}
