//! What the machine uses while it is recorded, by the counters that its processors have (RAPL). They
//! count by package and by memory, never by program, so what is told with it is how much of the CPU time
//! of all that ran was the recorded programs' own.

mod busy;
mod zone;

use std::io;
use std::path::{Path, PathBuf};

use profundo_wire::recording::{EnergyUsed, ZoneUsed};

use crate::account::Account;
use crate::sys;
use zone::Zone;

/// Where the kernel has the counters.
pub const POWERCAP: &str = "/sys/class/powercap";

/// Nanoseconds between two readings. The fastest counters begin anew after some minutes.
const EVERY: u64 = 10_000_000_000;

/// Why nothing can be counted.
#[derive(Debug)]
pub(crate) enum Uncounted {
    /// There are no such counters, or we do not see them.
    None,
    /// There is one, which cannot be read.
    Unreadable { file: PathBuf, error: io::Error },
}

/// What is counted while samples are taken.
#[derive(Debug)]
pub(crate) struct Meter {
    zones: Vec<Zone>,
    ran: Account,
    busy: Account,
    /// When the counters were read last.
    looked: u64,
}

impl Meter {
    /// The counters below this directory, if they can be read.
    pub(crate) fn open(root: &Path) -> Result<Self, Uncounted> {
        Ok(Self {
            zones: zone::find(root)?,
            ran: Account::default(),
            busy: Account::default(),
            looked: 0,
        })
    }

    /// The names of what is counted.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.zones.iter().map(|zone| zone.name.as_str()).collect()
    }

    /// Counts from now on, or no more.
    pub(crate) fn set_running(&mut self, running: bool) {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let busy = busy::nanoseconds();
        for zone in &mut self.zones {
            zone.look(running);
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
        self.looked = now;
    }

    /// Forgets what was counted so far. It does not count just now.
    pub(crate) fn clear(&mut self) {
        for zone in &mut self.zones {
            zone.used = 0;
        }
        (self.ran, self.busy) = (Account::default(), Account::default());
    }

    /// Whether it is time to read them, so that none begins anew unseen.
    pub(crate) fn is_due(&self, now: u64) -> bool {
        now.saturating_sub(self.looked) >= EVERY
    }

    /// What was counted so far. The programs had this much CPU time meanwhile.
    pub(crate) fn used(&mut self, running: bool, program_cpu: u64) -> EnergyUsed {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        self.looked = now;
        let used = |zone: &mut Zone| {
            if running {
                zone.look(true);
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
pub(crate) mod tests;
