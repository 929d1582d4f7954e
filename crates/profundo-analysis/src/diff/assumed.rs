//! The spread between runs that is assumed where only one run is known. It depends on what is
//! measured, and on what else the machine did: on a CPU that others use as well, the same code
//! takes more time in some runs and less in others, function by function.

use profundo_model::{Profile, SampleKind};

/// The spread between runs, as a part of the amount.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assumed {
    /// That of one row. On quiet machines most functions stay below it: caches, addresses and the
    /// order of hash tables differ from run to run.
    pub row: f64,
    /// That of a whole run: the clock rate, the other hardware thread, the machine's other work.
    pub whole: f64,
    /// The part of all CPUs that other programs had, in the run where that was most.
    pub busy: f64,
}

/// So much other work is usual, and changes nothing.
const USUAL_WORK: f64 = 0.1;

impl Assumed {
    /// For CPU time and memory.
    pub const USUAL: Self = Self::quiet(0.005, 0.015);
    /// For elapsed time, in which other programs and devices are as well.
    pub const ELAPSED: Self = Self::quiet(0.03, 0.05);
    /// For times of traced calls. They are elapsed times of short pieces, less what counting costs.
    pub const TRACED: Self = Self::quiet(0.15, 0.10);

    const fn quiet(row: f64, whole: f64) -> Self {
        Self {
            row,
            whole,
            busy: 0.0,
        }
    }

    /// The assumption for runs of one kind.
    pub(super) fn of<'a>(kind: SampleKind, runs: impl IntoIterator<Item = &'a Profile>) -> Self {
        let busy = runs.into_iter().map(busy).fold(0.0, f64::max);
        // At full load, by measurement: the same Python functions differed by 12 % of their CPU
        // time from run to run, and by a third of the time that passed.
        let (quiet, [row, whole]) = match kind {
            // Allocations are the same however busy the machine is.
            SampleKind::Heap(_) => (Self::USUAL, [0.0, 0.0]),
            SampleKind::Cpu | SampleKind::Events => (Self::USUAL, [0.12, 0.1]),
            SampleKind::Wall => (Self::ELAPSED, [0.3, 0.3]),
            SampleKind::Traced => (Self::TRACED, [0.5, 0.3]),
        };
        let beyond = (busy - USUAL_WORK).max(0.0);
        Self {
            row: quiet.row + row * beyond,
            whole: quiet.whole + whole * beyond,
            busy,
        }
    }

    /// Whether the machine was busy enough to change the assumption.
    pub fn is_busy(&self) -> bool {
        self.busy > USUAL_WORK
    }
}

/// The part of the machine's CPUs that other programs had during a recording.
pub(super) fn busy(profile: &Profile) -> f64 {
    let meta = &profile.meta;
    let load = (meta.machine.as_ref()).and_then(|machine| {
        let cpus = f64::from(machine.cpus);
        (cpus > 0.0).then_some(machine.load(meta.duration)? / cpus)
    });
    load.unwrap_or(0.0).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use profundo_model::{Machine, Nanos};

    use super::*;

    /// A recording of ten seconds on two CPUs, of which others had so many seconds.
    fn beside(seconds: u64) -> Profile {
        let mut profile = Profile::default();
        profile.meta.duration = Nanos(10_000_000_000);
        profile.meta.machine = Some(Machine {
            cpus: 2,
            others: Some(Nanos(seconds * 1_000_000_000)),
            ..Machine::default()
        });
        profile
    }

    #[test]
    fn the_busiest_run_decides() {
        let of = |runs: &[Profile]| Assumed::of(SampleKind::Cpu, runs);
        assert_eq!(of(&[beside(1), Profile::default()]).row, Assumed::USUAL.row);
        let busy = of(&[beside(1), beside(20)]);
        assert!(busy.is_busy() && busy.busy == 1.0, "{busy:?}");
        assert!(busy.row > 0.1 && busy.whole > 0.05, "{busy:?}");
        let half = of(&[beside(10)]);
        assert!(half.row > Assumed::USUAL.row && half.row < busy.row);
        let memory = SampleKind::Heap(profundo_model::Measure::default());
        let memory = Assumed::of(memory, &[beside(20)]);
        assert_eq!(memory.row, Assumed::USUAL.row);
    }
}
