//! The CPU time of unreaped processes: what an inherited counter has beyond the accounts. The
//! counter does not separate user from system time. The last readings of those processes do, as far
//! as there are any.

/// CPU time in nanoseconds, by the kernel's account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Times {
    pub(super) user: u64,
    pub(super) system: u64,
}

/// The readings of the processes of a tree, without the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Seen {
    /// All time of processes that still ran when the first had ended.
    pub(super) alive: Times,
    /// The time at the last reading of orphans that ended meanwhile.
    pub(super) orphans: Times,
    /// The time at the last reading of all others that ended meanwhile.
    pub(super) others: Times,
}

/// The CPU time of unreaped processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unwaited {
    /// It is not known.
    #[default]
    Unknown,
    /// There was none, or too little to be measured.
    None,
    /// Nanoseconds of it.
    Some {
        /// In user code.
        user: u64,
        /// In the kernel.
        system: u64,
        /// Whether the split is estimated from the readings of some of them.
        is_estimated: bool,
    },
}

impl Times {
    fn sum(self) -> u64 {
        self.user + self.system
    }

    fn plus(self, other: Self) -> Self {
        Self {
            user: self.user + other.user,
            system: self.system + other.system,
        }
    }

    /// A time split in the proportion of these.
    fn scaled(self, sum: u64) -> Self {
        let user = match self.sum() {
            0 => 0,
            all => (u128::from(sum) * u128::from(self.user) / u128::from(all)) as u64,
        };
        Self {
            user,
            system: sum - user,
        }
    }
}

/// The kernel's unit of other processes' times.
const TICK: u64 = 10_000_000;
/// The tolerance between both clocks, a hundredth. Where very many processes end, the counter has
/// less: it misses their last steps.
const PART: u64 = 100;
const LEAST: u64 = 1_000_000;

/// The part of `counted` that is not in `waited`. `out_of_sight`: time that only one clock counts.
/// The counter goes on while the machine serves interrupts, or while the hypervisor runs another
/// machine.
pub(super) fn of(counted: u64, waited: Times, seen: &Seen, out_of_sight: u64) -> Unwaited {
    let tolerance = LEAST.max(counted / PART) + out_of_sight;
    if counted + tolerance < waited.sum() / 2 {
        // The counter stops at a program that gets another user's rights.
        return Unwaited::Unknown;
    }
    let rest = counted.saturating_sub(waited.sum());
    // The readings are certain, even where the counter has less than it should.
    let sure = seen.alive.plus(seen.orphans);
    if rest <= sure.sum() + tolerance {
        return match sure.sum() {
            0 => Unwaited::None,
            _ => Unwaited::Some {
                user: sure.user,
                system: sure.system,
                is_estimated: false,
            },
        };
    }
    let unseen = rest - seen.alive.sum();
    let like = [seen.orphans, seen.alive, seen.others, waited];
    let like = like.into_iter().find(|times| times.sum() > 0);
    let ended = like.unwrap_or(Times { user: 1, system: 0 }).scaled(unseen);
    Unwaited::Some {
        user: seen.alive.user + ended.user,
        system: seen.alive.system + ended.system,
        is_estimated: unseen > (2 * TICK).max(rest / 50),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn times(user: u64, system: u64) -> Times {
        Times {
            user: user * MS,
            system: system * MS,
        }
    }

    fn check(counted: u64, waited: Times, seen: Seen, expected: Option<(u64, u64, bool)>) {
        let expected = match expected {
            None => Unwaited::None,
            Some((user, system, is_estimated)) => Unwaited::Some {
                user: user * MS,
                system: system * MS,
                is_estimated,
            },
        };
        assert_eq!(of(counted * MS, waited, &seen, 0), expected);
    }

    #[test]
    fn where_all_are_waited_for_both_clocks_agree() {
        let others = Seen {
            others: times(50, 50),
            ..Seen::default()
        };
        check(1000, times(600, 400), others, None);
        check(1005, times(600, 400), others, None);
        check(995, times(600, 400), others, None);
        check(900, times(600, 400), others, None);
    }

    #[test]
    fn a_process_that_runs_on_is_counted_whole() {
        let alive = Seen {
            alive: times(300, 100),
            ..Seen::default()
        };
        check(1404, times(600, 400), alive, Some((300, 100, false)));
        // Where very many processes have ended, the counter has too little.
        check(1200, times(600, 400), alive, Some((300, 100, false)));
        check(900, times(600, 400), alive, Some((300, 100, false)));
        // The counter has more than the readings.
        check(1804, times(600, 400), alive, Some((603, 201, true)));
    }

    #[test]
    fn a_process_that_runs_on_does_not_hide_a_difference_of_clocks() {
        let little = Seen {
            alive: times(0, 10),
            orphans: times(10, 0),
            ..Seen::default()
        };
        check(1008, times(600, 400), little, Some((10, 10, false)));
        check(1028, times(600, 400), little, Some((10, 10, false)));
        let found = of(1200 * MS, times(600, 400), &little, 200 * MS);
        let expected = Unwaited::Some {
            user: 10 * MS,
            system: 10 * MS,
            is_estimated: false,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn ended_processes_are_distinguished_by_their_last_figures() {
        let orphans = Seen {
            orphans: times(10, 30),
            others: times(900, 0),
            ..Seen::default()
        };
        check(2000, times(600, 400), orphans, Some((250, 750, true)));
        let nothing = Seen::default();
        check(2000, times(600, 400), nothing, Some((600, 400, true)));
        check(100, times(0, 0), nothing, Some((100, 0, true)));
    }

    #[test]
    fn time_out_of_sight_is_nobodys() {
        let waited = times(600, 400);
        let found = of(1100 * MS, waited, &Seen::default(), 200 * MS);
        assert_eq!(found, Unwaited::None);
    }

    #[test]
    fn a_counter_that_stopped_is_not_believed() {
        let found = of(100 * MS, times(600, 400), &Seen::default(), 0);
        assert_eq!(found, Unwaited::Unknown);
    }
}
