//! The state of the machine during the measurement: whether anything else was running.

use std::fs;
use std::time::Instant;

use profundo_launch::{of_children, of_us};
use profundo_report::this_machine;
use profundo_usage::Surroundings;

/// A larger share of a processor used by others is reported.
const BUSY: f64 = 0.2;
/// The share of all processors' time that the hypervisor has stolen.
const STOLEN: f64 = 0.02;
/// The share of the time in which a CPU quota throttled us.
const HELD_BACK: f64 = 0.02;

/// The machine's counters at the start of the measurement.
#[derive(Debug)]
pub struct Watch {
    began: Instant,
    surroundings: Surroundings,
    /// The CPU time of this process and its children.
    own_cpu: f64,
}

/// The activity during the measurement; times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Meanwhile {
    passed: f64,
    own_cpu: f64,
    around: profundo_usage::Machine,
}

impl Watch {
    /// Notes the counters at the start.
    pub fn start() -> Self {
        Self {
            began: Instant::now(),
            surroundings: Surroundings::now(),
            own_cpu: cpu_used(),
        }
    }

    /// Notes for the reader, when the measurement and all that it started have ended.
    pub fn notes(&self, cpu_clock: bool) -> Vec<String> {
        let meanwhile = Meanwhile {
            passed: self.began.elapsed().as_secs_f64(),
            own_cpu: cpu_used() - self.own_cpu,
            around: self.surroundings.until_now(),
        };
        let mut notes = notes_on(&meanwhile, cpu_clock);
        let governor = this_machine().governor;
        if let Some(governor) = governor.filter(|governor| governor != "performance") {
            notes.push(format!(
                "the processors' frequency is up to the governor `{governor}`: it may change from run to run."
            ));
        }
        notes
    }
}

fn cpu_used() -> f64 {
    of_children().all() + of_us().all()
}

fn notes_on(meanwhile: &Meanwhile, cpu_clock: bool) -> Vec<String> {
    let Meanwhile {
        passed,
        own_cpu,
        around,
    } = meanwhile;
    let mut notes = Vec::new();
    // A shorter time is only a few ticks of the kernel.
    if *passed >= 0.1 {
        let busy = around.busy.unwrap_or(0) as f64 / 1e9;
        let others = (busy - own_cpu) / passed;
        if others >= BUSY {
            let load = read("/proc/loadavg");
            let load = load.split(' ').next().unwrap_or("?").to_owned();
            let advice = match cpu_clock {
                true => ".",
                false => ": `-p` measures CPU time, which they disturb less.",
            };
            notes.push(format!(
                "other programs had {others:.1} of the {} processors meanwhile (load {load}){advice}",
                around.cpus
            ));
        }
        let stolen = around.stolen as f64 / 1e9 / passed / around.cpus.max(1) as f64;
        if stolen >= STOLEN {
            notes.push(format!(
                "the hypervisor gave {:.0} % of the processors' time to other machines meanwhile.",
                stolen * 100.0
            ));
        }
        let held_back = around.held_back.unwrap_or(0) as f64 / 1e9;
        if held_back / passed >= HELD_BACK {
            notes.push(format!(
                "a quota of CPU time held us back meanwhile: CPUs stood still for {held_back:.1} s, added up over all of them."
            ));
        }
    }
    if around.overheated.is_some_and(|times| times > 0) {
        notes.push("processors were slowed down meanwhile because they were hot.".into());
    }
    if let Some((limit, most)) = around.limited {
        let mega = |kilo: u64| kilo / 1000;
        notes.push(format!(
            "processors may not run at more than {} of their {} MHz.",
            mega(limit),
            mega(most)
        ));
    }
    notes
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_noted() {
        let seconds = |seconds: f64| (seconds * 1e9) as u64;
        let quiet = Meanwhile {
            passed: 10.0,
            own_cpu: 10.0,
            around: profundo_usage::Machine {
                cpus: 2,
                busy: Some(seconds(10.5)),
                ..Default::default()
            },
        };
        assert_eq!(notes_on(&quiet, false), [""; 0]);
        let mut busy = quiet;
        busy.around.busy = Some(seconds(18.0));
        busy.around.stolen = seconds(1.0);
        busy.around.held_back = Some(seconds(1.5));
        busy.around.overheated = Some(1);
        busy.around.limited = Some((2_000_000, 4_200_000));
        let notes = notes_on(&busy, true);
        let parts = [
            "had 0.8 of the 2 processors",
            "5 %",
            "1.5 s",
            "hot",
            "2000 of their 4200 MHz",
        ];
        assert_eq!(notes.len(), parts.len());
        for (note, part) in notes.iter().zip(parts) {
            assert!(note.contains(part), "{part} in {note}");
        }
        assert!(notes_on(&busy, false)[0].contains("`-p` measures CPU time"));
        busy.passed = 0.01;
        assert_eq!(notes_on(&busy, false).len(), 2, "too short to tell");
    }

    #[test]
    fn our_own_work_is_known() {
        // This process has used CPU time, if only for some ticks.
        assert!(cpu_used() >= 0.0 && Watch::start().own_cpu <= cpu_used());
    }
}
