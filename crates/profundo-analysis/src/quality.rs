//! The reliability of a profile: the sampled part of the CPU time, and the losses.

use profundo_model::{Engine, Nanos, Profile};

use crate::Selection;
use crate::interval::Estimate;
use crate::run_spread::RunSpread;

/// The quality of a profile. Unknown figures are `None`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    /// The number of samples taken.
    pub samples: u64,
    /// The sum of their counts; more than `samples` where one stands for several.
    pub counted: u64,
    /// The measured CPU time that the samples stand for, in nanoseconds.
    pub sampled: u64,
    /// The part of it in the kernel.
    pub sampled_in_kernel: u64,
    /// The CPU time by the kernel's count.
    pub used: Option<u64>,
    /// The part of it in the kernel.
    pub used_in_kernel: Option<u64>,
    /// The number of samples that the CPU time should have given, if each stood for one period.
    pub expected: Option<f64>,
    /// Samples that are missing altogether.
    pub lost: u64,
    /// Samples whose stack was too deep.
    pub truncated: u64,
    /// Samples whose stack could not be walked to its root.
    pub broken: u64,
    /// The source of the samples.
    pub engine: Engine,
    /// The nominal time between two samples.
    pub period: Option<Nanos>,
    /// The profiler's own cost as a share of the program's CPU time. For a program that is read
    /// from outside: how long its threads were held.
    pub own_cost: Option<f64>,
    /// The uncounted part of the own cost, where that matters: then the cost is a lower bound.
    pub not_in_own_cost: Option<Uncounted>,
    /// CPU time of the profiler's own process until the end of the recording, where it read from
    /// outside.
    pub recorder_cpu: Option<u64>,
    /// CPU time sampled at the kernel's ticks, of threads that lived shortly or were switched
    /// often.
    pub by_ticks: Option<u64>,
    /// The largest uncertainty of a share, to either side, in the selection's samples.
    pub margin: Option<f64>,
    /// In a merged recording, what the intervals of shares are from.
    pub intervals: Intervals,
}

/// The source of the intervals of shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intervals {
    /// The samples of one recording.
    Samples,
    /// The samples of several recordings, which are not runs of one thing, or too few.
    SamplesOfSeveral,
    /// The spread between so many runs of one thing.
    Runs(usize),
}

impl Intervals {
    fn of(profile: &Profile, selection: &Selection) -> Self {
        match RunSpread::new(profile, selection) {
            Some(runs) => Self::Runs(runs.count()),
            None if profile.is_merged() => Self::SamplesOfSeveral,
            None => Self::Samples,
        }
    }
}

impl Quality {
    /// The part of the used CPU time that has samples. More than 1 where the kernel's count is
    /// coarse.
    pub fn sampled_share(&self) -> Option<f64> {
        let used = self.used.filter(|&used| used > 0)?;
        Some(self.sampled as f64 / used as f64)
    }

    /// Whether more was sampled in the kernel than counted there. The kernel divides a process's
    /// time into user and system by its ticks, and samples are finer.
    pub fn kernel_is_rough(&self) -> bool {
        (self.used_in_kernel).is_some_and(|counted| self.sampled_in_kernel > counted)
    }
}

/// The CPU time of the programs by the kernel's count, and its part in the kernel, where known. A
/// program that profiles itself knows the time that its clocks can see.
pub fn cpu_used(profile: &Profile) -> Option<(Nanos, Option<Nanos>)> {
    match profile.cpu_used() {
        Some((user, system)) => {
            let all = Nanos(user.0.saturating_add(system.0));
            Some((all, Some(system)))
        }
        None => profile.meta.cpu.map(|cpu| (cpu, None)),
    }
}

/// The quality of the profile, and of shares in the selection.
pub fn quality(profile: &Profile, selection: &Selection) -> Quality {
    let meta = &profile.meta;
    // A share of one half is the least certain of all.
    let effective = selection.mass(profile).effective_samples();
    let margin = (effective > 0.0 && !selection.is_few(profile))
        .then(|| Estimate::new(0.5, effective).margin());
    let sums = selection.whole(profile).sums(profile);
    let (sampled, sampled_in_kernel) = match meta.settled {
        Some(settled) => (settled.sampled.0, settled.sampled_in_kernel.0),
        None => (sums.awake_weight, sums.split.system),
    };
    // On the wall clock the samples are not meant to add up to CPU time.
    let is_cpu = meta.kind == profundo_model::SampleKind::Cpu && meta.engine != Engine::Wall;
    let used = cpu_used(profile).filter(|_| is_cpu);
    let expected = used.filter(|_| meta.period.0 > 0);
    Quality {
        samples: profile.samples_taken(),
        counted: sums.count,
        sampled,
        sampled_in_kernel,
        used: used.map(|(all, _)| all.0),
        used_in_kernel: used.and_then(|(_, in_kernel)| in_kernel).map(|time| time.0),
        expected: expected.map(|(all, _)| all.0 as f64 / meta.period.0 as f64),
        lost: meta.loss.lost(),
        truncated: meta.loss.truncated,
        broken: meta.loss.broken,
        engine: meta.engine,
        period: (meta.period.0 > 0).then_some(meta.period),
        own_cost: meta
            .own_cost
            .zip(cpu_used(profile).filter(|(cpu, _)| cpu.0 > 0))
            .map(|(own, (cpu, _))| own.0 as f64 / cpu.0 as f64),
        not_in_own_cost: match has_short_processes(profile) {
            true => Some(Uncounted::Processes),
            false => has_threads_that_switch(profile, sampled).then_some(Uncounted::Switches),
        },
        recorder_cpu: meta.recorder_cpu.map(|cpu| cpu.0),
        by_ticks: meta.by_ticks.map(|cpu| cpu.0),
        margin,
        intervals: Intervals::of(profile, selection),
    }
}

/// The uncounted part of the own cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uncounted {
    /// The longer forks and ends of many short processes.
    Processes,
    /// The longer waits of threads that switch all the time for each other.
    Switches,
}

/// Whether much of the time belongs to threads that are switched often, perhaps for each other.
fn has_threads_that_switch(profile: &Profile, sampled: u64) -> bool {
    const THREADS: usize = 3;
    /// A thread that is sampled at ticks for longer than this is no short one.
    const LONG: u64 = 20_000_000;
    let by_ticks = profile.meta.by_ticks.map_or(0, |time| time.0);
    let threads = profile.threads.len();
    threads >= THREADS && by_ticks > sampled / 4 && by_ticks / threads as u64 > LONG
}

/// Whether most of the profiler's cost are starts and ends of processes.
fn has_short_processes(profile: &Profile) -> bool {
    const MANY: u64 = 20;
    const SHORT: u64 = 20_000_000;
    let count = profile.processes.len() as u64;
    let used = cpu_used(profile).map_or(u64::MAX, |(all, _)| all.0);
    count >= MANY && used / count < SHORT
}
