//! The machine beside the measurement: whether it did anything else meanwhile.

use std::fs;
use std::time::Instant;

use profundo_remote::usage::Surroundings;
use profundo_report::this_machine;

use crate::launch::{of_children, of_us};

/// So much of a processor for others is worth a word.
const BUSY: f64 = 0.2;
/// So much of all processors' time was taken by the hypervisor.
const STOLEN: f64 = 0.02;
/// So much of the time a quota of CPU time kept us waiting.
const HELD_BACK: f64 = 0.02;

/// What the machine had done when the measurement began.
#[derive(Debug)]
pub struct Watch {
    began: Instant,
    surroundings: Surroundings,
    /// The CPU time that we and our children had.
    own: f64,
}

/// What it did meanwhile; times are seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Meanwhile {
    passed: f64,
    own: f64,
    around: profundo_remote::usage::Machine,
}

impl Watch {
    /// Begins to watch.
    pub fn start() -> Self {
        Self {
            began: Instant::now(),
            surroundings: Surroundings::now(),
            own: own(),
        }
    }

    /// What the reader has to know, now that the measurement is over and what it has started has ended.
    pub fn notes(&self, cpu_clock: bool) -> Vec<String> {
        let meanwhile = Meanwhile {
            passed: self.began.elapsed().as_secs_f64(),
            own: own() - self.own,
            around: self.surroundings.until_now(),
        };
        let mut notes = said(&meanwhile, cpu_clock);
        let governor = this_machine().governor;
        if let Some(governor) = governor.filter(|governor| governor != "performance") {
            notes.push(format!(
                "the processors' frequency is up to the governor `{governor}`: it may change from run to run."
            ));
        }
        notes
    }
}

fn own() -> f64 {
    of_children().all() + of_us().all()
}

fn said(meanwhile: &Meanwhile, cpu_clock: bool) -> Vec<String> {
    let Meanwhile {
        passed,
        own,
        around,
    } = meanwhile;
    let mut notes = Vec::new();
    // What is shorter is a few ticks of the kernel's.
    if *passed >= 0.1 {
        let busy = around.busy.unwrap_or(0) as f64 / 1e9;
        let others = (busy - own) / passed;
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
    fn a_busy_machine_is_said() {
        let seconds = |seconds: f64| (seconds * 1e9) as u64;
        let quiet = Meanwhile {
            passed: 10.0,
            own: 10.0,
            around: profundo_remote::usage::Machine {
                cpus: 2,
                busy: Some(seconds(10.5)),
                ..Default::default()
            },
        };
        assert_eq!(said(&quiet, false), [""; 0]);
        let mut busy = quiet;
        busy.around.busy = Some(seconds(18.0));
        busy.around.stolen = seconds(1.0);
        busy.around.held_back = Some(seconds(1.5));
        busy.around.overheated = Some(1);
        busy.around.limited = Some((2_000_000, 4_200_000));
        let notes = said(&busy, true);
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
        assert!(said(&busy, false)[0].contains("`-p` measures CPU time"));
        busy.passed = 0.01;
        assert_eq!(said(&busy, false).len(), 2, "too short to tell");
    }

    #[test]
    fn our_own_work_is_known() {
        // We have been at work ourselves, if only for some ticks.
        assert!(own() >= 0.0 && Watch::start().own <= own());
    }
}
