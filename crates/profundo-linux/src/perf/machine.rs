//! Sampling all processes at once, by a clock on each CPU.

use std::io;
use std::time::Duration;

use perf_event_open_sys::bindings;

use super::ring::PerfRing;
use super::sampler::{Gathered, Ring, STACK_BYTES, Sampled, attributes, gather, wait};
use super::{control, cpus, open, request, set_period};

/// The time for which a ring has room.
const ROOM: u64 = 300_000_000;
/// The sizes of a ring in pages, each a power of two. The smallest is the largest that ordinary
/// users may have.
const PAGES: [usize; 2] = [64, 2048];
/// The period from which on more of each stack is copied, in nanoseconds.
const SELDOM: u64 = 4_000_000;
/// The bytes that are copied then. A record has at most 64 KB.
const LARGE_STACK: u32 = 48 << 10;
/// The pages of a sample, with its stack.
const PAGES_OF_A_SAMPLE: u64 = 13;

/// A clock on each CPU. The samples of all processes are in its ring, with the forks, names,
/// mappings and ends of all processes.
#[derive(Debug)]
pub struct MachineSampler {
    rings: Vec<Ring>,
    what: Sampled,
}

impl MachineSampler {
    /// Opens the clocks, which do not run yet. `period` is in nanoseconds of each CPU's time.
    pub fn open(period: u64, what: Sampled) -> io::Result<Self> {
        let mut rings = Vec::new();
        for cpu in cpus() {
            match open(&mut clock(period, what), ALL, cpu) {
                Ok(event) => {
                    let ring = PerfRing::map(&event, pages(period))?;
                    rings.push((cpu, event, ring));
                }
                // The CPU has just gone offline.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { rings, what })
    }

    /// Tests whether all processes may be sampled.
    pub fn is_permitted(what: Sampled) -> io::Result<()> {
        let first = cpus().first().copied().unwrap_or(0);
        open(&mut clock(1_000_000_000, what), ALL, first).map(drop)
    }

    /// Lets the clocks run, or stops them.
    pub fn set_running(&self, running: bool) {
        let request = match running {
            true => request::ENABLE,
            false => request::DISABLE,
        };
        for (_, event, _) in &self.rings {
            let _ = control(event, request, 0);
        }
    }

    /// Changes the period of all clocks.
    pub fn set_period(&self, nanoseconds: u64) {
        for (_, event, _) in &self.rings {
            set_period(event, nanoseconds);
        }
    }

    /// The records since the last call.
    pub fn read(&self) -> Gathered {
        gather(&self.rings, self.what)
    }

    /// Waits for records, at most this long.
    pub fn wait(&self, most: Duration) {
        wait(&self.rings, most);
    }

    /// The number of CPUs that have a clock.
    pub fn cpus(&self) -> usize {
        self.rings.len()
    }
}

/// The process id that stands for all of them.
const ALL: u32 = u32::MAX;

/// A clock of a CPU. It does not sample the time in which the CPU has nothing to do.
fn clock(period: u64, what: Sampled) -> bindings::perf_event_attr {
    let mut attr = attributes(period, what);
    attr.config = u64::from(bindings::PERF_COUNT_SW_CPU_CLOCK);
    attr.set_exclude_idle(1);
    attr.sample_stack_user = match period {
        SELDOM.. => LARGE_STACK,
        _ => STACK_BYTES,
    };
    attr
}

/// The pages of a ring for samples at this interval.
fn pages(period: u64) -> usize {
    let samples = ROOM.div_ceil(period.max(1));
    let pages = samples.saturating_mul(PAGES_OF_A_SAMPLE) as usize;
    let [least, most] = PAGES;
    pages.clamp(least, most).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_has_room_for_a_while() {
        assert_eq!(pages(10_000_000), 512);
        assert_eq!(pages(1_000_000), 2048);
        assert_eq!(pages(u64::MAX), 64);
        assert_eq!(pages(0), 2048);
    }

    #[test]
    fn idle_time_is_left_out() {
        let what = Sampled {
            kernel: true,
            sideband: true,
            wakes: false,
        };
        let attr = clock(1_000_000, what);
        assert_eq!((attr.exclude_idle(), attr.exclude_kernel()), (1, 0));
        assert_eq!((attr.task(), attr.mmap2(), attr.inherit()), (1, 1, 0));
    }
}
