//! What happens in a tree of processes, as the kernel tells it: forks, programs that begin, names,
//! mappings and ends. It needs nothing in the programs, so it knows those without an agent too.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use perf_event_open_sys::bindings;

use super::record::{self, Record};
use super::ring::PerfRing;
use super::{cpus, open};

/// Some hundred records on each CPU between two looks.
const PAGES: usize = 16;

/// The open events, one for each CPU.
#[derive(Debug)]
pub(crate) struct SideBand {
    rings: Vec<(OwnedFd, PerfRing)>,
}

impl SideBand {
    /// Watches a process and all that will descend from it.
    pub(crate) fn open(pid: u32) -> io::Result<Self> {
        Self::with(pid, |attr| {
            attr.set_comm(1);
            attr.set_comm_exec(1);
            attr.set_mmap(1);
            attr.set_mmap2(1);
            attr.__bindgen_anon_2.wakeup_events = 1;
        })
    }

    /// The same for who begins and who ends alone. Nobody is woken for that until a ring is half full.
    pub(crate) fn of_beginnings(pid: u32) -> io::Result<Self> {
        Self::with(pid, |attr| {
            attr.set_watermark(1);
            // Nothing is said of where: then it is the middle.
            attr.__bindgen_anon_2.wakeup_watermark = 0;
        })
    }

    fn with(pid: u32, ask: impl Fn(&mut bindings::perf_event_attr)) -> io::Result<Self> {
        let mut rings = Vec::new();
        for cpu in cpus() {
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
            match open(&mut attr, pid, cpu) {
                Ok(event) => {
                    let ring = PerfRing::map(&event, PAGES)?;
                    rings.push((event, ring));
                }
                // A CPU that has just gone offline.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { rings })
    }

    /// What can be polled for news.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = i32> {
        self.rings.iter().map(|(event, _)| event.as_raw_fd())
    }

    /// What has happened since the last look, in the order of time.
    pub(crate) fn read(&self) -> Vec<(u64, Record)> {
        let mut records = Vec::new();
        for (_, ring) in &self.rings {
            ring.read(|kind, misc, body| records.extend(record::side(kind, misc, body)));
        }
        records.sort_by_key(|(time, _)| *time);
        records
    }
}
