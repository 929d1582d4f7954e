//! The machine's activity besides the program, which may have slowed it down.

use std::fs;
use std::path::Path;

use profundo_linux::perf::cpus;
use profundo_linux::proc::ticks_per_second;

use super::quota;

/// Times are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Machine {
    /// The number of CPUs.
    pub cpus: u64,
    /// The CPU time of all processes, in ticks of a hundredth of a second. `None`: the kernel does
    /// not report it.
    pub busy: Option<u64>,
    /// Time in which CPUs had work, but the hypervisor did not run them.
    pub stolen: u64,
    /// Time in which CPUs served interrupts.
    pub interrupted: u64,
    /// The number of times that a CPU was throttled because it was hot. `None`: the machine does
    /// not count it.
    pub overheated: Option<u64>,
    /// Time in which a CPU quota throttled a control group of the program, summed over CPUs, so it
    /// may exceed the elapsed time. `None`: there is no quota.
    pub held_back: Option<u64>,
    /// The frequency limit of the CPUs in kilohertz, and their maximum, if the limit is lower.
    pub limited: Option<(u64, u64)>,
}

/// The machine's counts at a start.
#[derive(Debug, Default)]
pub struct Surroundings {
    ticks: Option<Ticks>,
    overheated: Option<u64>,
    held_back: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    interrupted: u64,
    stolen: u64,
}

const CPUS: &str = "/sys/devices/system/cpu";

impl Surroundings {
    /// The counts now.
    pub fn now() -> Self {
        Self {
            ticks: ticks(&fs::read_to_string("/proc/stat").unwrap_or_default()),
            overheated: overheated(Path::new(CPUS)),
            held_back: quota::held_back(),
        }
    }

    /// The growth of the counts since.
    pub fn until_now(&self) -> Machine {
        let now = Self::now();
        let per_tick = 1_000_000_000 / ticks_per_second();
        let ticks = self.ticks.zip(now.ticks);
        let grown = |what: fn(&Ticks) -> u64| {
            ticks.map(|(before, now)| what(&now).saturating_sub(what(&before)) * per_tick)
        };
        let more = |before: Option<u64>, now: Option<u64>| {
            before
                .zip(now)
                .map(|(before, now)| now.saturating_sub(before))
        };
        Machine {
            cpus: cpus().len() as u64,
            busy: grown(|ticks| ticks.busy),
            stolen: grown(|ticks| ticks.stolen).unwrap_or(0),
            interrupted: grown(|ticks| ticks.interrupted).unwrap_or(0),
            overheated: more(self.overheated, now.overheated),
            held_back: more(self.held_back, now.held_back),
            limited: limited(Path::new(CPUS)),
        }
    }
}

/// The first line of `/proc/stat`. The time of our own guests is contained in the user time.
fn ticks(text: &str) -> Option<Ticks> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let numbers: Vec<u64> = line
        .split_ascii_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect();
    let [user, nice, system, _idle, _waiting, interrupts, softly, ..] = *numbers.as_slice() else {
        return None;
    };
    Some(Ticks {
        busy: user + nice + system + interrupts + softly,
        interrupted: interrupts + softly,
        stolen: numbers.get(7).copied().unwrap_or(0),
    })
}

/// The number of times that cores and packages were too hot. Each core of a package has the
/// package's count, so the largest is taken.
fn overheated(root: &Path) -> Option<u64> {
    let mut cores = None;
    let mut packages = None;
    for cpu in cpus() {
        let folder = root.join(format!("cpu{cpu}/thermal_throttle"));
        let count = |file: &str| number(&folder.join(file));
        if let Some(count) = count("core_throttle_count") {
            *cores.get_or_insert(0) += count;
        }
        packages = packages.max(count("package_throttle_count"));
    }
    match (cores, packages) {
        (None, None) => None,
        (cores, packages) => Some(cores.unwrap_or(0) + packages.unwrap_or(0)),
    }
}

/// The limit of the first CPU that may not run at its maximum.
fn limited(root: &Path) -> Option<(u64, u64)> {
    cpus().into_iter().find_map(|cpu| {
        let folder = root.join(format!("cpu{cpu}/cpufreq"));
        let limit = number(&folder.join("scaling_max_freq"))?;
        let most = number(&folder.join("cpuinfo_max_freq"))?;
        (limit < most).then_some((limit, most))
    })
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_of_all() {
        let text = "cpu  1 20 300 4000 50000 600000 7000000 80000000 9 9\ncpu0 5 5 5\n";
        let expected = Ticks {
            busy: 7_600_321,
            interrupted: 7_600_000,
            stolen: 80_000_000,
        };
        assert_eq!(ticks(text), Some(expected));
        assert_eq!(ticks("cpu  1 20 300"), None);
        assert_eq!(ticks("intr 5"), None);
    }

    #[test]
    fn heat_and_limits_are_found_where_they_are() {
        let root = std::env::temp_dir().join(format!("profundo-machine-{}", std::process::id()));
        let first = cpus()[0];
        let folder = root.join(format!("cpu{first}"));
        assert_eq!((overheated(&root), limited(&root)), (None, None));
        let write = |file: &str, number: &str| {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, number).unwrap();
        };
        write("thermal_throttle/core_throttle_count", "3\n");
        write("thermal_throttle/package_throttle_count", "4\n");
        write("cpufreq/cpuinfo_max_freq", "4200000\n");
        write("cpufreq/scaling_max_freq", "4200000\n");
        assert_eq!((overheated(&root), limited(&root)), (Some(7), None));
        write("cpufreq/scaling_max_freq", "2000000\n");
        assert_eq!(limited(&root), Some((2_000_000, 4_200_000)));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn this_machine_has_figures() {
        let before = Surroundings::now();
        let machine = before.until_now();
        assert!(machine.cpus > 0);
        machine.busy.expect("the kernel counts busy time");
    }
}
