//! The energy that the machine uses while it is recorded, by the counters of its processors (RAPL).
//! They count by package and by memory, never by program. So the programs' share of the machine's
//! CPU time is reported with the energy.

pub mod busy;
mod zone;

use std::io;
use std::path::{Path, PathBuf};

use profundo_wire::recording::{EnergyUsed, ZoneUsed};

use crate::account::Account;
use crate::sys;

use zone::Zone;

/// The directory of the kernel's counters.
pub const POWERCAP: &str = "/sys/class/powercap";

/// Nanoseconds between two readings. The fastest counters wrap around after some minutes.
const EVERY: u64 = 10_000_000_000;

/// The reason why nothing can be counted.
#[derive(Debug)]
pub enum Uncounted {
    /// There are no such counters, or we do not see them.
    None,
    /// A counter exists, but cannot be read.
    Unreadable {
        /// The counter.
        file: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

/// Counts energy while samples are taken.
#[derive(Debug)]
pub struct Meter {
    zones: Vec<Zone>,
    ran: Account,
    busy: Account,
    /// The time at which the counters were read last.
    last_read: u64,
}

impl Meter {
    /// The counters below this directory, if they can be read.
    pub fn open(root: &Path) -> Result<Self, Uncounted> {
        Ok(Self {
            zones: zone::find(root)?,
            ran: Account::default(),
            busy: Account::default(),
            last_read: 0,
        })
    }

    /// The names of what is counted.
    pub fn names(&self) -> Vec<&str> {
        self.zones.iter().map(|zone| zone.name.as_str()).collect()
    }

    /// Counts from now on, or no more.
    pub fn set_running(&mut self, running: bool) {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let busy = busy::nanoseconds();
        for zone in &mut self.zones {
            zone.read(running);
        }
        match running {
            true => {
                self.ran.go(now);
                self.busy.go(busy);
            }
            false => {
                self.ran.stop(now);
                self.busy.stop(busy);
            }
        }
        self.last_read = now;
    }

    /// Forgets the counts so far. The meter is not running.
    pub fn clear(&mut self) {
        for zone in &mut self.zones {
            zone.used = 0;
        }
        (self.ran, self.busy) = (Account::default(), Account::default());
    }

    /// Whether the counters must be read, before any of them wraps around twice.
    pub fn is_due(&self, now: u64) -> bool {
        now.saturating_sub(self.last_read) >= EVERY
    }

    /// The energy used so far. The programs had this much CPU time meanwhile.
    pub fn used(&mut self, running: bool, program_cpu: u64) -> EnergyUsed {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        self.last_read = now;
        let used = |zone: &mut Zone| {
            if running {
                zone.read(true);
            }
            ZoneUsed {
                name: zone.name.clone(),
                microjoules: zone.used,
                is_counted: zone.is_counted,
            }
        };
        EnergyUsed {
            zones: self.zones.iter_mut().map(used).collect(),
            duration: self.ran.at(now),
            machine_cpu: self.busy.at(busy::nanoseconds()),
            program_cpu,
        }
    }
}

#[cfg(test)]
mod tests;
