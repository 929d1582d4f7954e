//! What the machine did meanwhile that the program has no part in, and that may have held it up.

use std::fs;
use std::path::Path;

use super::quota;
use crate::perf::cpus;
use crate::proc::ticks_per_second;

/// Times are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Machine {
    /// How many CPUs it has.
    pub cpus: u64,
    /// The CPU time of all that ran, in ticks of a hundredth of a second. `None`: the kernel does not tell.
    pub busy: Option<u64>,
    /// For which CPUs had work and the hypervisor gave none.
    pub stolen: u64,
    /// In which CPUs served interrupts.
    pub interrupted: u64,
    /// How often a CPU was slowed down because it was hot. `None`: the machine does not count it.
    pub overheated: Option<u64>,
    /// For which a quota of CPU time held a group back that the program is in, added up over CPUs: it may be more than
    /// the time that passed. `None`: it is in none.
    pub held_back: Option<u64>,
    /// How many kilohertz CPUs are limited to, and how many they could have, where that is less.
    pub limited: Option<(u64, u64)>,
}

/// The machine's counts at the start of something.
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

    /// What has come to them since.
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

/// The first line of `/proc/stat`. What guests of our own used is in the user's time already.
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

/// How often cores and packages were too hot so far. Each core of a package tells of the package, so the most
/// that one has is taken.
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

/// The first CPU that may not run as fast as it could.
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
    fn this_machine_tells_something() {
        let before = Surroundings::now();
        let machine = before.until_now();
        assert!(machine.cpus > 0);
        assert!(machine.busy.is_some());
    }
}
