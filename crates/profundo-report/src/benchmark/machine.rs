//! The machine that something was measured on, so that a later measurement can be told from one on
//! another machine.

use std::fs;

use profundo_analysis::bench::Machine;

/// This machine's name, processor, system and settings.
pub fn this_machine() -> Machine {
    let info = read("/proc/cpuinfo");
    let model = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let line = |path| Some(read(path).trim().to_owned()).filter(|text| !text.is_empty());
    Machine {
        cpu: model("model name").or_else(|| model("CPU implementer")),
        cpus: std::thread::available_parallelism().map_or(0, |count| count.get() as u64),
        kernel: line("/proc/sys/kernel/osrelease"),
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known() {
        let machine = this_machine();
        assert!(machine.cpus > 0 && machine.kernel.is_some(), "{machine:?}");
    }
}
