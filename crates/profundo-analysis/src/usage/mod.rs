//! What a run of a program has taken of the machine, by the kernel's count: its quantities, how they scatter over
//! several runs, and what is remarkable about them.

mod remarks;

use crate::Spread;

pub use remarks::{Remark, remarks};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With this code.
    Exited(u8),
    /// Of this signal.
    Killed(u8),
}

/// A run. Times are nanoseconds; what is `None` is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// How it ended.
    pub ending: Ending,
    /// From its start to its end.
    pub real: u64,
    /// On CPUs, in programs and libraries.
    pub user: u64,
    /// On CPUs, in the kernel.
    pub system: u64,
    /// What of both is of processes that nobody waited for.
    pub unwaited: Option<u64>,
    /// Whether it was estimated what of that was in the kernel.
    pub split_is_estimated: bool,
    /// The most bytes that one process had in memory.
    pub peak_resident: Option<u64>,
    /// Whether it may have been less.
    pub peak_is_bound: bool,
    /// The most that was seen of all processes together; of one alone it is not looked at.
    pub tree_resident: Option<u64>,
    /// Page faults for which no disk was read.
    pub minor_faults: u64,
    /// Those for which one was.
    pub major_faults: u64,
    /// How often a thread waited for something.
    pub voluntary: u64,
    /// How often it had to leave its CPU to another.
    pub involuntary: u64,
    /// Bytes that calls read and wrote.
    pub calls: Option<(u64, u64)>,
    /// Bytes from disks and to them.
    pub disk: (u64, u64),
    /// How many processes there were.
    pub processes: Option<u64>,
    /// And how many threads.
    pub threads: Option<u64>,
    /// How many processes ran on after it.
    pub still_running: Option<u64>,
    /// What went on around it.
    pub around: Around,
}

/// What the machine did meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Around {
    /// How many CPUs there are.
    pub cpus: u64,
    /// The CPU time of all that ran, to a few hundredths of a second.
    pub busy: Option<u64>,
    /// Which the hypervisor gave to others.
    pub stolen: u64,
    /// How often a CPU was slowed down for its heat.
    pub overheated: Option<u64>,
    /// For which a quota held the program back, added up over CPUs.
    pub held_back: Option<u64>,
    /// Kilohertz that CPUs may have, and could have.
    pub limited: Option<(u64, u64)>,
}

/// What is measured in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// From start to end.
    Real,
    /// On CPUs, in programs.
    User,
    /// On CPUs, in the kernel.
    System,
    /// The last two by the first.
    Cpu,
    /// The most of one process in memory.
    PeakResident,
    /// The most of all.
    TreeResident,
    /// Page faults without a disk.
    MinorFaults,
    /// Page faults with one.
    MajorFaults,
    /// Switches because something was waited for.
    Voluntary,
    /// Switches because another had the CPU.
    Involuntary,
    /// Bytes that calls read.
    Read,
    /// Bytes that calls wrote.
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

/// What a quantity is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measured {
    /// Nanoseconds.
    Time,
    /// A part of one CPU.
    Share,
    /// Bytes.
    Bytes,
    /// Things.
    Count,
}

impl Quantity {
    /// All, in the order in which they are told.
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

    /// What it is counted in.
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

    /// Of a run, where it is known.
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

    /// Over several runs: of those in which it is known.
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

    /// How many CPUs were at work for it on average.
    pub fn cpu_share(&self) -> Option<f64> {
        (self.real > 0).then(|| self.cpu() as f64 / self.real as f64)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const MS: u64 = 1_000_000;

    /// A quiet run of one second that computes.
    pub(crate) fn quiet() -> Run {
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
        let mut runs = [quiet(), quiet(), quiet()];
        runs[0].processes = None;
        runs[1].processes = Some(3);
        runs[2].real = 3_000 * MS;
        let processes = Quantity::Processes.over(&runs).unwrap();
        assert_eq!((processes.count, processes.mean), (2, 2.0));
        let real = Quantity::Real.over(&runs).unwrap();
        assert_eq!((real.least, real.most), (1e9, 3e9));
        assert_eq!(Quantity::TreeResident.over(&runs), None);
        assert_eq!(Quantity::Cpu.of(&quiet()), Some(0.95));
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
