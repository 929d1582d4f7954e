//! The energy that the machine has used while it was recorded, as its own counters have it. They know
//! of packages and of memory, and nothing of programs.

use crate::Nanos;

/// What was used while samples were taken.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Energy {
    /// What each counter has counted.
    pub zones: Vec<EnergyZone>,
    /// For how long.
    pub duration: Nanos,
    /// CPU time of all that ran on the machine meanwhile.
    pub machine_cpu: Nanos,
    /// CPU time of the recorded programs meanwhile.
    pub program_cpu: Nanos,
}

/// A part of the machine that has a counter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnergyZone {
    /// Its name, as `package-0`; of what is inside of a package, as `package-0/dram`.
    pub name: String,
    /// What was used there.
    pub microjoules: u64,
    /// Whether it is no part of another zone, so that it counts in the sum.
    pub is_counted: bool,
}
