//! Remarks about runs: where their time probably went, and reasons for doubt about their figures.

use super::{Ending, Run};

/// A remark. Times are nanoseconds, and means over the runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Remark {
    /// Some of the runs failed.
    Failed {
        /// The number of failed runs.
        count: usize,
        /// The end of the first of them.
        first: Ending,
    },
    /// A large part of the CPU time is the kernel's.
    System {
        /// The kernel's share.
        share: f64,
        /// Minor page faults, if there were many.
        faults: Option<u64>,
        /// Processes, if there were many.
        processes: Option<u64>,
    },
    /// It mostly waited.
    Waiting {
        /// The waiting time.
        waited: u64,
        /// The elapsed time.
        real: u64,
    },
    /// Several CPUs were at work at once.
    Parallel {
        /// The mean number of CPUs.
        cpus: f64,
    },
    /// Pages had to be read from a disk.
    Cold {
        /// Major page faults.
        faults: u64,
    },
    /// Processes that were never reaped had a part of the CPU time.
    Unwaited {
        /// Their CPU time.
        cpu: u64,
        /// True if the part in the kernel is an estimate.
        is_estimated: bool,
    },
    /// Processes ran on.
    StillRunning {
        /// The number of processes.
        count: u64,
    },
    /// Other processes had a part of the machine.
    Busy {
        /// The CPUs that they used.
        others: f64,
        /// The number of CPUs.
        cpus: u64,
    },
    /// The hypervisor gave CPU time to others.
    Stolen {
        /// The stolen time.
        time: u64,
    },
    /// A quota of CPU time held the program back.
    HeldBack {
        /// The time held back.
        time: u64,
    },
    /// CPUs were throttled because they were hot.
    Overheated {
        /// The number of times.
        count: u64,
    },
    /// CPUs may not run at full frequency.
    Limited {
        /// The permitted frequency in kilohertz.
        to: u64,
        /// The possible frequency in kilohertz.
        of: u64,
    },
    /// The first run took much longer than all others.
    SlowStart {
        /// The time of the first run.
        first: u64,
        /// The time of the longest other run.
        others: u64,
    },
    /// The runs scatter a lot.
    Scattered {
        /// The deviation, as a part of the mean.
        share: f64,
    },
}

const MS: u64 = 1_000_000;

/// The kernel counts the machine's work in hundredths of a second: shorter runs are not compared
/// with it.
const LEAST: u64 = 200 * MS;

/// The remarks, the most important first.
pub fn remarks(runs: &[Run]) -> Vec<Remark> {
    let mut found = Vec::new();
    if runs.is_empty() {
        return found;
    }
    found.extend(failed(runs));
    let (real, cpu) = (mean(runs, |run| run.real), mean(runs, Run::cpu));
    let system = mean(runs, |run| run.system);
    let unwaited = mean(runs, |run| run.unwaited.unwrap_or(0));
    if unwaited > 0 {
        let is_estimated = runs.iter().any(|run| run.split_is_estimated);
        found.push(Remark::Unwaited {
            cpu: unwaited,
            is_estimated,
        });
    }
    let still_running = runs.iter().filter_map(|run| run.still_running).sum();
    if still_running > 0 {
        found.push(Remark::StillRunning {
            count: still_running,
        });
    }
    let share = system as f64 / cpu.max(1) as f64;
    if share >= 0.3 && system >= 50 * MS {
        found.push(system_time(share, system, runs));
    }
    if real >= cpu * 2 && real - cpu >= 100 * MS {
        found.push(Remark::Waiting {
            waited: real - cpu,
            real,
        });
    }
    if cpu > real + real / 5 && real >= 10 * MS {
        let cpus = cpu as f64 / real as f64;
        found.push(Remark::Parallel { cpus });
    }
    let faults = mean(runs, |run| run.major_faults);
    if faults >= 100 {
        found.push(Remark::Cold { faults });
    }
    found.extend(around(runs, real));
    found.extend(scattered(runs));
    found
}

fn mean(runs: &[Run], of: impl Fn(&Run) -> u64) -> u64 {
    runs.iter().map(of).sum::<u64>() / runs.len().max(1) as u64
}

fn failed(runs: &[Run]) -> Option<Remark> {
    let failed = || runs.iter().filter(|run| run.ending != Ending::Exited(0));
    let first = failed().next()?.ending;
    // The end of a single run is reported anyway.
    let count = failed().count();
    (runs.len() > 1).then_some(Remark::Failed { count, first })
}

/// The kernel's time is mostly due to page faults and process starts, if it is not due to system
/// calls.
fn system_time(share: f64, system: u64, runs: &[Run]) -> Remark {
    let faults = mean(runs, |run| run.minor_faults);
    let processes = mean(runs, |run| run.processes.unwrap_or(0));
    Remark::System {
        share,
        // A fault takes half a microsecond, and up to four where a hypervisor stands below; a
        // process half a millisecond.
        faults: (faults * 1000 >= system / 5).then_some(faults),
        processes: (processes * MS / 2 >= system / 5).then_some(processes),
    }
}

fn around(runs: &[Run], real: u64) -> Vec<Remark> {
    let mut found = Vec::new();
    let count = runs.len() as u64;
    let sum = |of: fn(&Run) -> u64| runs.iter().map(of).sum::<u64>();
    let cpus = runs.first().map_or(1, |run| run.around.cpus).max(1);
    let all = real * count;
    if all >= LEAST && runs.iter().all(|run| run.around.busy.is_some()) {
        let busy = sum(|run| run.around.busy.unwrap_or(0));
        let others = busy.saturating_sub(sum(Run::cpu)) as f64 / all as f64;
        if others >= 0.1 * cpus as f64 {
            found.push(Remark::Busy { others, cpus });
        }
    }
    let stolen = sum(|run| run.around.stolen);
    if stolen >= 20 * MS && stolen >= all / 100 * cpus {
        found.push(Remark::Stolen { time: stolen });
    }
    let held_back = sum(|run| run.around.held_back.unwrap_or(0));
    if held_back > MS {
        found.push(Remark::HeldBack { time: held_back });
    }
    let overheated = sum(|run| run.around.overheated.unwrap_or(0));
    if overheated > 0 {
        found.push(Remark::Overheated { count: overheated });
    }
    if let Some((to, of)) = runs.iter().find_map(|run| run.around.limited) {
        found.push(Remark::Limited { to, of });
    }
    found
}

fn scattered(runs: &[Run]) -> Option<Remark> {
    let (first, others) = runs.split_first()?;
    let longest = others.iter().map(|run| run.real).max()?;
    // Warming up would not mend a single millisecond.
    if others.len() > 1 && first.real > longest + longest / 2 && first.real > longest + MS {
        return Some(Remark::SlowStart {
            first: first.real,
            others: longest,
        });
    }
    let real = super::Quantity::Real.over(runs)?;
    let share = real.deviation? / real.mean.max(1.0);
    (share > 0.1 && runs.len() > 2).then_some(Remark::Scattered { share })
}

#[cfg(test)]
mod tests {
    use super::super::Around;
    use super::super::tests::ordinary;
    use super::*;

    fn check(change: impl Fn(&mut Run), expected: &[Remark]) {
        let mut run = ordinary();
        change(&mut run);
        assert_eq!(remarks(&[run]), expected);
    }

    #[test]
    fn an_ordinary_run_has_no_remarks() {
        check(|_| {}, &[]);
        assert_eq!(remarks(&[]), []);
        check(|run| run.ending = Ending::Exited(3), &[]);
    }

    #[test]
    fn where_the_time_went() {
        let system = |faults, processes| Remark::System {
            share: 0.5,
            faults,
            processes,
        };
        let half = |run: &mut Run| (run.user, run.system) = (450 * MS, 450 * MS);
        check(half, &[system(None, None)]);
        check(
            |run| {
                half(run);
                (run.minor_faults, run.processes) = (400_000, Some(500));
            },
            &[system(Some(400_000), Some(500))],
        );
        check(
            |run| {
                (run.user, run.system) = (100 * MS, 10 * MS);
                run.around.busy = Some(120 * MS);
            },
            &[Remark::Waiting {
                waited: 890 * MS,
                real: 1_000 * MS,
            }],
        );
        check(
            |run| (run.user, run.around.busy) = (2_950 * MS, Some(3_000 * MS)),
            &[Remark::Parallel { cpus: 3.0 }],
        );
        check(
            |run| run.major_faults = 100,
            &[Remark::Cold { faults: 100 }],
        );
    }

    #[test]
    fn children_that_were_not_waited_for() {
        check(
            |run| {
                run.unwaited = Some(30 * MS);
                run.split_is_estimated = true;
                run.still_running = Some(2);
            },
            &[
                Remark::Unwaited {
                    cpu: 30 * MS,
                    is_estimated: true,
                },
                Remark::StillRunning { count: 2 },
            ],
        );
    }

    #[test]
    fn what_was_around_it() {
        let busy = Around {
            cpus: 4,
            busy: Some(1_950 * MS),
            stolen: 100 * MS,
            overheated: Some(2),
            held_back: Some(5 * MS),
            limited: Some((2_000_000, 4_000_000)),
        };
        check(
            |run| run.around = busy,
            &[
                Remark::Busy {
                    others: 1.0,
                    cpus: 4,
                },
                Remark::Stolen { time: 100 * MS },
                Remark::HeldBack { time: 5 * MS },
                Remark::Overheated { count: 2 },
                Remark::Limited {
                    to: 2_000_000,
                    of: 4_000_000,
                },
            ],
        );
        // Counts in hundredths of a second say nothing for a few of them.
        let short = |run: &mut Run| {
            (run.real, run.user, run.system) = (20 * MS, 18 * MS, 0);
            run.around.busy = Some(60 * MS);
        };
        check(short, &[]);
    }

    #[test]
    fn runs_that_differ() {
        let of = |reals: &[u64]| {
            let runs = reals.iter().map(|&real| Run {
                real: real * MS,
                user: real * MS,
                system: 0,
                around: Around::default(),
                ..ordinary()
            });
            remarks(&runs.collect::<Vec<_>>())
        };
        assert_eq!(of(&[100, 101, 99]), []);
        let slow = Remark::SlowStart {
            first: 200 * MS,
            others: 101 * MS,
        };
        assert_eq!(of(&[200, 101, 99]), [slow]);
        let found = of(&[100, 200, 100, 200]);
        assert!(
            matches!(found.as_slice(), [Remark::Scattered { share }] if (0.3..0.5).contains(share)),
            "{found:?}"
        );
        let mut runs = [ordinary(), ordinary(), ordinary()];
        runs[1].ending = Ending::Killed(9);
        let failed = Remark::Failed {
            count: 1,
            first: Ending::Killed(9),
        };
        assert_eq!(remarks(&runs), [failed]);
    }
}
