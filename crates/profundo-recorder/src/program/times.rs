//! The CPU time of a program: the time while it was sampled, and the part of it that could be
//! sampled.

use profundo_linux::account::Account;
use profundo_linux::proc;
use profundo_wire::recording::{Engine, HowEnded, ProcessEnd};

use super::{Program, Way};

impl Program {
    /// Reads its times; `None` if it is gone.
    pub(crate) fn read_times(&mut self) -> Option<proc::Stat> {
        if self.is_over {
            return None;
        }
        let stat = proc::stat(self.pid)?;
        // A reaped process has no times.
        let (user, system) = match self.way {
            // The agent reports them itself.
            Way::Agent(_) => (stat.user, stat.system),
            _ => proc::times(self.pid, &stat),
        };
        self.times.0 = self.times.0.max(user);
        self.times.1 = self.times.1.max(system);
        Some(stat)
    }

    /// Counts its times from now on.
    pub(crate) fn resume(&mut self) {
        self.read_times();
        self.user.go(self.times.0);
        self.system.go(self.times.1);
    }

    /// Stops counting its times.
    pub(crate) fn pause(&mut self) {
        self.read_times();
        self.user.stop(self.times.0);
        self.system.stop(self.times.1);
    }

    /// User and system time while it was sampled; all time of one that could not be sampled.
    pub(crate) fn sampled_times(&self) -> (u64, u64) {
        let (before, cleared) = (self.times_before, self.times_cleared);
        let before = (before.0.max(cleared.0), before.1.max(cleared.1));
        let sampled = |account: Account, now: u64, before: u64| match account.has_begun() {
            true => account.at(now),
            false => now.saturating_sub(before),
        };
        (
            sampled(self.user, self.times.0, before.0),
            sampled(self.system, self.times.1, before.1),
        )
    }

    /// Its CPU time while it was sampled, as far as it was read.
    pub(crate) fn cpu(&self) -> u64 {
        let (user, system) = self.sampled_times();
        user + system
    }

    /// The event of its end.
    pub(crate) fn end(&self, ended: u64, how: HowEnded) -> ProcessEnd {
        let (user, system) = self.sampled_times();
        ProcessEnd {
            process: self.key,
            ended,
            user: Some(user),
            system: Some(system),
            how,
        }
    }

    /// The CPU time that the engine could have sampled.
    pub(crate) fn expected(&self, engine: Engine) -> u64 {
        let user = self.user.at(self.times.0);
        let system = self.system.at(self.times.1);
        if let Way::Outside(outside) = &self.way
            && let Some(counted) = outside.counted
        {
            return counted.saturating_sub(self.outside_cleared);
        }
        let sees_the_kernel = match &self.way {
            Way::Agent(_) => engine == Engine::CpuTimer,
            Way::Outside(outside) if user == 0 => {
                return outside.sampled.saturating_sub(self.outside_cleared);
            }
            Way::Outside(outside) => outside.sees_the_kernel,
        };
        if sees_the_kernel { user + system } else { user }
    }

    /// The part of it that the kernel samples, because the program has no agent.
    pub(crate) fn expected_by_kernel(&self, engine: Engine) -> u64 {
        match self.way {
            Way::Agent(_) => 0,
            Way::Outside(_) => self.expected(engine),
        }
    }

    /// Subtracts its times so far. It is paused.
    pub(crate) fn clear_times(&mut self) {
        self.read_times();
        (self.user, self.system) = (Account::default(), Account::default());
        self.times_cleared = self.times;
        if let Way::Outside(outside) = &self.way {
            self.outside_cleared = outside.counted.unwrap_or(outside.sampled);
        }
    }
}
