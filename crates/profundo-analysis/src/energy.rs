//! The program's part of the machine's energy. The machine counts by package and not by program, so
//! this is an estimate: the program's share of the energy is its share of the machine's CPU time.
//! That holds where a second of each program costs the same.

use profundo_model::Profile;

use crate::{Filter, Selection};

/// The least CPU time of the machine for a share. The kernel counts it in ticks of ten
/// milliseconds, which are precise enough from here on.
const LEAST_MACHINE_CPU: u64 = 100_000_000;

/// The energy of a recording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnergyUse {
    /// The energy of the whole machine in joules.
    pub joules: f64,
    /// The length of the interval in seconds.
    pub seconds: f64,
    /// The program's share of the machine's CPU time; `None` where the interval was too short.
    pub share: Option<f64>,
}

/// The energy that the machine has used, where it was recorded.
pub fn energy(profile: &Profile) -> Option<EnergyUse> {
    let energy = profile.meta.energy.as_ref()?;
    let counted = energy.zones.iter().filter(|zone| zone.is_counted);
    let microjoules: f64 = counted.map(|zone| zone.microjoules as f64).sum();
    let (program, machine) = (energy.program_cpu.0, energy.machine_cpu.0);
    Some(EnergyUse {
        joules: microjoules / 1e6,
        seconds: energy.duration.0 as f64 / 1e9,
        // Ticks can be less than the program's own time, which the kernel knows more exactly.
        share: (machine >= LEAST_MACHINE_CPU).then(|| (program as f64 / machine as f64).min(1.0)),
    })
}

impl EnergyUse {
    /// The power of the whole machine in watts.
    pub fn watts(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.joules / self.seconds)
    }

    /// The program's part in joules.
    pub fn program(&self) -> Option<f64> {
        self.share.map(|share| self.joules * share)
    }
}

/// The estimated joules of a nanosecond of the program's sampled CPU time.
pub fn joules_per_nanosecond(profile: &Profile) -> Option<f64> {
    let program = energy(profile)?.program()?;
    let split = Selection::new(profile, &Filter::default()).split(profile);
    let busy = split.sum().saturating_sub(split.waiting);
    (busy > 0).then(|| program / busy as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_model::{Energy, EnergyZone, Nanos, State};

    fn recorded(machine_cpu: u64) -> Profile {
        let mut profile = Profile::from_folded("main;work 30\nmain;idle 10").unwrap();
        let zone = |microjoules, is_counted| EnergyZone {
            name: String::new(),
            microjoules,
            is_counted,
        };
        profile.meta.energy = Some(Energy {
            zones: vec![
                zone(30_000_000, true),
                zone(9_000_000, false),
                zone(10_000_000, true),
            ],
            duration: Nanos(2_000_000_000),
            machine_cpu: Nanos(machine_cpu * 1_000_000),
            program_cpu: Nanos(300_000_000),
        });
        profile
    }

    #[test]
    fn the_programs_part_is_that_of_its_time() {
        let used = energy(&recorded(1200)).unwrap();
        assert_eq!((used.joules, used.watts()), (40.0, Some(20.0)));
        assert_eq!((used.share, used.program()), (Some(0.25), Some(10.0)));
        // Ticks are coarse: no share is above 1.
        assert_eq!(energy(&recorded(200)).unwrap().share, Some(1.0));
        let unknown = recorded(99);
        assert_eq!(energy(&unknown).unwrap().program(), None);
        assert_eq!(joules_per_nanosecond(&unknown), None);
        assert_eq!(energy(&Profile::default()), None);
    }

    #[test]
    fn a_nanosecond_of_waiting_costs_nothing() {
        let mut profile = recorded(1200);
        let all = joules_per_nanosecond(&profile).unwrap();
        let busy: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
        assert!((all * busy as f64 - 10.0).abs() < 1e-9);
        for sample in profile.samples.iter_mut().skip(20) {
            sample.state = State::WallWaiting;
        }
        let half = joules_per_nanosecond(&profile).unwrap();
        assert!((half / all - 2.0).abs() < 1e-9, "{half} {all}");
    }
}
