//! Context switches: each time a thread is given a CPU or leaves it, as the kernel reports it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use perf_event_open_sys::bindings;

use super::record::{self, Switch};
use super::ring::PerfRing;
use super::{control, cpus, open, request};

/// Room for ten thousand switches on each CPU between two readings, where so much memory is
/// permitted.
const PAGES: usize = 64;

/// The open events.
#[derive(Debug)]
pub struct Switches {
    /// One ring for each CPU.
    rings: Vec<(i32, OwnedFd, PerfRing)>,
    /// The events of threads that existed already.
    others: Vec<OwnedFd>,
}

impl Switches {
    /// Watches a thread and all its descendants.
    pub fn open(tid: u32) -> io::Result<Self> {
        let mut rings = Vec::new();
        for cpu in cpus() {
            match open(&mut attributes(), tid, cpu) {
                Ok(event) => {
                    let ring = PerfRing::map(&event, PAGES)?;
                    rings.push((cpu, event, ring));
                }
                // The CPU has just gone offline.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self {
            rings,
            others: Vec::new(),
        })
    }

    /// Watches another thread and its descendants.
    pub fn add(&mut self, tid: u32) -> io::Result<()> {
        for (cpu, ring, _) in &self.rings {
            let event = match open(&mut attributes(), tid, *cpu) {
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
                event => event?,
            };
            control(&event, request::SET_OUTPUT, ring.as_raw_fd() as usize)?;
            self.others.push(event);
        }
        Ok(())
    }

    /// The switches since the last call, ordered by time, and whether some were lost.
    pub fn read(&self) -> (Vec<Switch>, bool) {
        let mut switches = Vec::new();
        let mut lost = false;
        for (_, _, ring) in &self.rings {
            ring.read(|kind, misc, body| match record::switch(kind, misc, body) {
                Some(switch) => switches.push(switch),
                None => lost |= kind == record::LOST,
            });
        }
        switches.sort_by_key(|switch| switch.time);
        (switches, lost)
    }
}

fn attributes() -> bindings::perf_event_attr {
    let mut attr = bindings::perf_event_attr::default();
    attr.type_ = bindings::PERF_TYPE_SOFTWARE;
    attr.config = u64::from(bindings::PERF_COUNT_SW_DUMMY);
    attr.sample_type = u64::from(bindings::PERF_SAMPLE_TID) | u64::from(bindings::PERF_SAMPLE_TIME);
    attr.set_inherit(1);
    attr.set_context_switch(1);
    attr.set_sample_id_all(1);
    attr.set_exclude_kernel(1);
    attr.set_use_clockid(1);
    attr.clockid = libc::CLOCK_MONOTONIC;
    attr
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_sleep_is_a_way_out_and_one_in() {
        const SLEEPS: usize = 20;
        let (sender, receiver) = std::sync::mpsc::channel();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            sender.send(crate::sys::thread_id()).unwrap();
            wait.recv().unwrap();
            for _ in 0..SLEEPS {
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let tid = receiver.recv().unwrap();
        let switches = match Switches::open(tid) {
            Ok(switches) => switches,
            // Nothing can be tested without perf.
            Err(_) => return,
        };
        go.send(()).unwrap();
        sleeper.join().unwrap();
        let (seen, lost) = switches.read();
        assert!(!lost);
        let sleeps = seen
            .windows(2)
            .filter(|pair| pair[0].is_out && !pair[0].is_preempted && !pair[1].is_out)
            .filter(|pair| pair[1].time - pair[0].time >= 2_000_000)
            .count();
        assert!(sleeps >= SLEEPS, "{sleeps}");
        assert!(seen.iter().all(|switch| switch.tid == tid));
    }
}
