//! The machine that a recording was made on, so that one on another machine can be told from it.

use crate::Nanos;

/// The machine of a recording, and its other work meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Machine {
    /// The model of its processors; empty where unknown.
    pub cpu: String,
    /// The number of its CPUs that are online; 0 where unknown.
    pub cpus: u32,
    /// The release of its kernel; empty where unknown.
    pub kernel: String,
    /// The CPU time of all programs that were not recorded. `None`: it is not known.
    pub others: Option<Nanos>,
}

impl Machine {
    /// Whether the other machine has the same processors and the same kernel.
    pub fn is_like(&self, other: &Self) -> bool {
        let hardware = |it: &Self| (it.cpu.clone(), it.cpus, it.kernel.clone());
        hardware(self) == hardware(other)
    }

    /// The number of CPUs that other programs had, on average over this time.
    pub fn load(&self, duration: Nanos) -> Option<f64> {
        let others = self.others?;
        (duration.0 > 0).then(|| others.0 as f64 / duration.0 as f64)
    }
}
