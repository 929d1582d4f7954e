//! The resources used by a run of a program, by the kernel's count: its quantities, their scatter
//! over several runs, and remarks about them.

mod remarks;

use crate::Spread;

pub use remarks::{Remark, remarks};

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// An exit with this code.
    Exited(u8),
    /// Killed by this signal.
    Killed(u8),
}

/// A run. Times are nanoseconds; unknown figures are `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its end.
    pub ending: Ending,
    /// Elapsed time.
    pub real: u64,
    /// CPU time in programs and libraries.
    pub user: u64,
    /// CPU time in the kernel.
    pub system: u64,
    /// The part of `user + system` used by processes that were never reaped.
    pub unwaited: Option<u64>,
    /// Whether the kernel's share of `unwaited` is an estimate.
    pub split_is_estimated: bool,
    /// The peak of the resident bytes of one process.
    pub peak_resident: Option<u64>,
    /// True if `peak_resident` is an upper bound.
    pub peak_is_bound: bool,
    /// The highest observed sum over all processes; a single process is not observed.
    pub tree_resident: Option<u64>,
    /// Minor page faults.
    pub minor_faults: u64,
    /// Major page faults.
    pub major_faults: u64,
    /// Voluntary context switches.
    pub voluntary: u64,
    /// Involuntary context switches.
    pub involuntary: u64,
    /// Bytes read and written by system calls.
    pub calls: Option<(u64, u64)>,
    /// Bytes read from disks and written to them.
    pub disk: (u64, u64),
    /// The number of processes.
    pub processes: Option<u64>,
    /// The number of threads.
    pub threads: Option<u64>,
    /// The number of processes that ran on after it.
    pub still_running: Option<u64>,
    /// The state of the machine meanwhile.
    pub around: Around,
}

/// The state of the machine during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Around {
    /// The number of CPUs.
    pub cpus: u64,
    /// The CPU time of the whole machine, to a few hundredths of a second.
    pub busy: Option<u64>,
    /// The CPU time that the hypervisor gave to others.
    pub stolen: u64,
    /// The number of times that a CPU was throttled for its heat.
    pub overheated: Option<u64>,
    /// The time for which a quota held the program back, added up over CPUs.
    pub held_back: Option<u64>,
    /// The CPUs' permitted and possible frequency in kilohertz.
    pub limited: Option<(u64, u64)>,
}

/// A measured quantity of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Elapsed time.
    Real,
    /// CPU time in programs.
    User,
    /// CPU time in the kernel.
    System,
    /// The CPU time by the elapsed time.
    Cpu,
    /// The peak of the resident bytes of one process.
    PeakResident,
    /// The peak of the resident bytes of all processes.
    TreeResident,
    /// Minor page faults.
    MinorFaults,
    /// Major page faults.
    MajorFaults,
    /// Voluntary context switches.
    Voluntary,
    /// Involuntary context switches.
    Involuntary,
    /// Bytes read by system calls.
    Read,
    /// Bytes written by system calls.
    Written,
    /// Bytes from disks.
    DiskRead,
    /// Bytes to disks.
    DiskWritten,
    /// Processes.
    Processes,
    /// Threads.
    Threads,
}

/// The unit of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measured {
    /// Nanoseconds.
    Time,
    /// A part of one CPU.
    Share,
    /// Bytes.
    Bytes,
    /// A number of things.
    Count,
}

impl Quantity {
    /// All, in the order of reports.
    pub const ALL: [Self; 16] = [
        Self::Real,
        Self::User,
        Self::System,
        Self::Cpu,
        Self::PeakResident,
        Self::TreeResident,
        Self::MinorFaults,
        Self::MajorFaults,
        Self::Voluntary,
        Self::Involuntary,
        Self::Read,
        Self::Written,
        Self::DiskRead,
        Self::DiskWritten,
        Self::Processes,
        Self::Threads,
    ];

    /// Its unit.
    pub fn measured(self) -> Measured {
        match self {
            Self::Real | Self::User | Self::System => Measured::Time,
            Self::Cpu => Measured::Share,
            Self::PeakResident
            | Self::TreeResident
            | Self::Read
            | Self::Written
            | Self::DiskRead
            | Self::DiskWritten => Measured::Bytes,
            Self::MinorFaults
            | Self::MajorFaults
            | Self::Voluntary
            | Self::Involuntary
            | Self::Processes
            | Self::Threads => Measured::Count,
        }
    }

    /// Its value in a run, where known.
    pub fn of(self, run: &Run) -> Option<f64> {
        let number = match self {
            Self::Real => run.real,
            Self::User => run.user,
            Self::System => run.system,
            Self::Cpu => return run.cpu_share(),
            Self::PeakResident => run.peak_resident?,
            Self::TreeResident => run.tree_resident?,
            Self::MinorFaults => run.minor_faults,
            Self::MajorFaults => run.major_faults,
            Self::Voluntary => run.voluntary,
            Self::Involuntary => run.involuntary,
            Self::Read => run.calls?.0,
            Self::Written => run.calls?.1,
            Self::DiskRead => run.disk.0,
            Self::DiskWritten => run.disk.1,
            Self::Processes => run.processes?,
            Self::Threads => run.threads?,
        };
        Some(number as f64)
    }

    /// Its statistics over the runs in which it is known.
    pub fn over(self, runs: &[Run]) -> Option<Spread> {
        let known: Vec<f64> = runs.iter().filter_map(|run| self.of(run)).collect();
        Spread::of(&known)
    }
}

impl Run {
    /// User and system time together.
    pub fn cpu(&self) -> u64 {
        self.user + self.system
    }

    /// The mean number of CPUs at work for it.
    pub fn cpu_share(&self) -> Option<f64> {
        (self.real > 0).then(|| self.cpu() as f64 / self.real as f64)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const MS: u64 = 1_000_000;

    /// A quiet run of one second that computes.
    pub(crate) fn ordinary() -> Run {
        Run {
            ending: Ending::Exited(0),
            real: 1_000 * MS,
            user: 900 * MS,
            system: 50 * MS,
            unwaited: Some(0),
            split_is_estimated: false,
            peak_resident: Some(20_000_000),
            peak_is_bound: false,
            tree_resident: None,
            minor_faults: 1_000,
            major_faults: 0,
            voluntary: 10,
            involuntary: 20,
            calls: Some((1_000, 2_000)),
            disk: (0, 0),
            processes: Some(1),
            threads: Some(1),
            still_running: Some(0),
            around: Around {
                cpus: 4,
                busy: Some(980 * MS),
                ..Around::default()
            },
        }
    }

    #[test]
    fn quantities_that_are_not_known_are_left_out() {
        let mut runs = [ordinary(), ordinary(), ordinary()];
        runs[0].processes = None;
        runs[1].processes = Some(3);
        runs[2].real = 3_000 * MS;
        let processes = Quantity::Processes.over(&runs).unwrap();
        assert_eq!((processes.count, processes.mean), (2, 2.0));
        let real = Quantity::Real.over(&runs).unwrap();
        assert_eq!((real.least, real.most), (1e9, 3e9));
        assert_eq!(Quantity::TreeResident.over(&runs), None);
        assert_eq!(Quantity::Cpu.of(&ordinary()), Some(0.95));
        runs[0].real = 0;
        assert_eq!(Quantity::Cpu.of(&runs[0]), None);
    }

    #[test]
    fn all_are_all() {
        for (index, quantity) in Quantity::ALL.into_iter().enumerate() {
            assert_eq!(quantity as usize, index);
        }
    }
}
