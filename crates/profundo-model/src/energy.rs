//! The energy that the machine has used while it was recorded, as its own counters have it. They
//! know of packages and of memory, and nothing of programs.

use crate::Nanos;

/// The energy used while samples were taken.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Energy {
    /// The energy of each counter.
    pub zones: Vec<EnergyZone>,
    /// The length of that time.
    pub duration: Nanos,
    /// CPU time of the whole machine meanwhile.
    pub machine_cpu: Nanos,
    /// CPU time of the recorded programs meanwhile.
    pub program_cpu: Nanos,
}

/// A part of the machine that has a counter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnergyZone {
    /// Its name, such as `package-0`, or `package-0/dram` for a part of a package.
    pub name: String,
    /// The energy used, in microjoules.
    pub microjoules: u64,
    /// True if the zone counts in the sum: it is no part of another one.
    pub is_counted: bool,
}
