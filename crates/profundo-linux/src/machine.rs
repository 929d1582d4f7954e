//! This machine: its processors, its kernel, and how busy it is.

use std::fs::File;
use std::io::Read;

use crate::perf::cpus;
use crate::sys;

pub use crate::energy::busy::nanoseconds as busy;

/// What a machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The model of its processors; empty where the kernel does not name it.
    pub cpu: String,
    /// The number of its CPUs that are online.
    pub cpus: u32,
    /// The release of its kernel; empty where it cannot be read.
    pub kernel: String,
}

/// The CPU time of this process so far, in nanoseconds.
pub fn own() -> u64 {
    sys::nanoseconds(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// This machine.
pub fn this() -> Machine {
    /// The first processor of many is enough: asking for the speed of each takes long.
    const MOST: u64 = 4096;
    let read = |path| {
        let mut bytes = Vec::new();
        // What cannot be read is not known.
        let _ = File::open(path).map(|file| file.take(MOST).read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Machine {
        cpu: model(&read("/proc/cpuinfo")),
        cpus: u32::try_from(cpus().len()).unwrap_or(u32::MAX),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
    }
}

/// The model of the first processor. ARM has numbers in place of a name.
fn model(info: &str) -> String {
    let value = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let of_arm = || {
        let (maker, part) = (value("CPU implementer")?, value("CPU part")?);
        Some(format!("ARM {maker}/{part}"))
    };
    value("model name").or_else(of_arm).unwrap_or_default()
}

/// The name of this machine; empty where it is not known.
pub fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_the_first_processors() {
        let info = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: A: B\n\nmodel name\t: C\n";
        assert_eq!(model(info), "A: B");
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(model(arm), "ARM 0x41/0xd0c");
        assert_eq!(model(""), "");
    }

    #[test]
    fn this_machine_is_known() {
        let machine = this();
        assert!(
            machine.cpus > 0 && !machine.kernel.is_empty(),
            "{machine:?}"
        );
    }
}
