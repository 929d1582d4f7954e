//! Counting how often functions of a file are called, by breakpoints that the kernel sets
//! (uprobes).
//!
//! They are opened for each CPU and not for a process: the kernel looks for a new process's or
//! thread's event by the path that its opener's memory has, so events that children inherit make
//! each `fork` and each new thread fail.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use perf_event_open_sys::bindings::perf_event_attr;

use super::sampler::read_count;

fn most_files() -> usize {
    let (_, most) = crate::sys::limit(libc::RLIMIT_NOFILE).unwrap_or((0, u64::MAX));
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// The counters of some functions.
#[derive(Debug)]
pub struct FunctionCounters {
    /// The events of each function, one for each CPU.
    events: Vec<Vec<OwnedFd>>,
}

/// The largest number of events: each takes a descriptor and some kernel memory.
const MOST_EVENTS: usize = 8192;

impl FunctionCounters {
    /// The number of functions that can be counted at once here.
    pub fn most() -> usize {
        /// Descriptors for other purposes.
        const OTHERS: usize = 64;
        let files = most_files().saturating_sub(OTHERS);
        MOST_EVENTS.min(files) / super::cpus().len().max(1)
    }

    /// Counts the calls of the functions at these offsets of a file, in all processes that run it.
    pub fn open(path: &Path, offsets: &[u64]) -> io::Result<Self> {
        let kind = std::fs::read_to_string("/sys/bus/event_source/devices/uprobe/type")?;
        let kind = kind.trim().parse::<u32>().map_err(io::Error::other)?;
        let path = CString::new(path.as_os_str().as_bytes())?;
        let cpus = super::cpus();
        let events = offsets.iter().map(|&offset| {
            let on_each = cpus.iter().map(|&cpu| {
                let mut attr = perf_event_attr::default();
                attr.type_ = kind;
                attr.__bindgen_anon_3.config1 = path.as_ptr() as u64;
                attr.__bindgen_anon_4.config2 = offset;
                super::open(&mut attr, u32::MAX, cpu)
            });
            on_each.collect()
        });
        let events = events.collect::<io::Result<_>>()?;
        Ok(Self { events })
    }

    /// The number of calls of each so far.
    pub fn read(&self) -> Vec<u64> {
        let sum = |on_each: &Vec<OwnedFd>| on_each.iter().filter_map(read_count).sum();
        self.events.iter().map(sum).collect()
    }
}
