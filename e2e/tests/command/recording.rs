//! A recording, and the shape that it must have: shares, never exact numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use profundo_formats::read_file;
use profundo_model::{FrameId, Language, LocationKind, Profile, Sample, State};

/// A recording, as it was read from its file.
pub struct Recording {
    pub profile: Profile,
    /// The program's durations, without and with the profiler.
    pub took: (Duration, Duration),
}

/// The part of an expected share that must be there. Expected shares are those of a machine that
/// does nothing else. The tests run beside each other, and on machines that others use, where a
/// program's time goes elsewhere too. The benches measure how right the figures are.
const ON_A_BUSY_MACHINE: f64 = 0.5;

impl Recording {
    #[track_caller]
    pub fn read(file: &Path, plain: Duration, recorded: Duration) -> Self {
        let (profile, warnings) =
            read_file(file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
        assert!(warnings.is_empty(), "{warnings:?}");
        Self {
            profile,
            took: (plain, recorded),
        }
    }

    /// The names of a sample's functions, innermost first.
    pub fn names(&self, sample: &Sample) -> Vec<&str> {
        let profile = &self.profile;
        let locations = profile.stacks.locations(sample.stack);
        locations
            .flat_map(|location| &profile.locations.get(location).frames)
            .map(|&frame| profile.function_name(frame))
            .collect()
    }

    /// A sample's Python frames, innermost first.
    fn python_frames(&self, sample: &Sample) -> impl Iterator<Item = FrameId> {
        let profile = &self.profile;
        let locations = profile.stacks.locations(sample.stack);
        locations
            .flat_map(|location| &profile.locations.get(location).frames)
            .copied()
            .filter(|&frame| profile.frames.get(frame).language == Language::Python)
    }

    /// The sum of all weights, in seconds.
    pub fn seconds(&self) -> f64 {
        self.seconds_where(|_| true)
    }

    /// The weights of some samples.
    pub fn seconds_where(&self, wanted: impl Fn(&Sample) -> bool) -> f64 {
        let wanted = self.profile.samples.iter().filter(|sample| wanted(sample));
        wanted.map(|sample| sample.weight.0 as f64 / 1e9).sum()
    }

    /// The share of all time that has a function anywhere in its stack, in percent.
    pub fn share(&self, function: &str) -> f64 {
        let of = |sample: &Sample| self.names(sample).contains(&function);
        100.0 * self.seconds_where(of) / self.seconds().max(1e-9)
    }

    /// Asserts that this function and what it calls have at least so many percent of the time.
    #[track_caller]
    pub fn assert_share(&self, function: &str, percent: f64) -> &Self {
        let share = self.share(function);
        assert!(
            share >= percent * ON_A_BUSY_MACHINE,
            "{function} has {share:.1} %, not {percent} %; {}",
            self.outline()
        );
        self
    }

    /// Asserts the share of each of these functions in the time of all of them, in percent.
    #[track_caller]
    pub fn assert_parts(&self, parts: &[(&str, f64)], tolerance: f64) -> &Self {
        let shares: Vec<f64> = parts.iter().map(|(name, _)| self.share(name)).collect();
        let whole: f64 = shares.iter().sum();
        for ((name, wanted), share) in parts.iter().zip(shares) {
            let share = 100.0 * share / whole.max(1e-9);
            assert!(
                (share - wanted).abs() <= tolerance / ON_A_BUSY_MACHINE,
                "{name} has {share:.1} % of them, not {wanted} %; {}",
                self.outline()
            );
        }
        self
    }

    /// Asserts that nearly all of the CPU time was sampled, and that nearly all stacks are whole.
    #[track_caller]
    pub fn assert_sound(&self) -> &Self {
        self.assert_sampled(97.0).assert_whole(99.9)
    }

    /// Asserts that samples stand for at least so many percent of the CPU time.
    #[track_caller]
    pub fn assert_sampled(&self, percent: f64) -> &Self {
        let expected = self.profile.meta.cpu.expect("the kernel's count").0 as f64 / 1e9;
        let taken = self.seconds_where(|sample| sample.state == State::Running);
        let share = 100.0 * taken / expected;
        // Time with blocked signals is user time and system time in one.
        let (user, system) = self.profile.cpu_used().unwrap_or_default();
        let most = expected.max((user.0 + system.0) as f64 / 1e9) * 1.2;
        assert!(
            share >= percent * 0.85 && taken <= most,
            "{taken:.3} s of {expected:.3} s were sampled ({share:.1} %); {}",
            self.outline()
        );
        self
    }

    /// Asserts that at least so many percent of the stacks reach their root.
    #[track_caller]
    pub fn assert_whole(&self, percent: f64) -> &Self {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        let mut broken = 0;
        for sample in &self.profile.samples {
            let mut is_broken = false;
            for location in self.profile.stacks.locations(sample.stack) {
                if let LocationKind::Reason(reason) = self.profile.locations.get(location).kind
                    && reason.is_gap()
                {
                    *reasons.entry(reason.name()).or_default() += 1;
                    is_broken = true;
                }
            }
            broken += usize::from(is_broken);
        }
        let all = self.profile.samples.len();
        let share = 100.0 * (all - broken) as f64 / all.max(1) as f64;
        // One of a few samples is more than a thousandth of them.
        assert!(
            100.0 - share <= (100.0 - percent) / ON_A_BUSY_MACHINE + 0.5 || broken <= 1,
            "{share:.2} % of {all} stacks are whole: {reasons:?}; {}",
            self.outline()
        );
        self
    }

    /// Asserts that no stack has a pair of functions of which one cannot call the other. The
    /// callers of each function of the file are known.
    #[track_caller]
    pub fn assert_callers(&self, file: &str, callers: &BTreeMap<String, Vec<String>>) -> &Self {
        let profile = &self.profile;
        for sample in &profile.samples {
            let frames: Vec<FrameId> = self.python_frames(sample).collect();
            let short = |frame: FrameId| {
                let name = profile.function_name(frame);
                name.rsplit('.').next().unwrap_or(name)
            };
            for (place, &frame) in frames.iter().enumerate() {
                let Some(allowed) = callers.get(short(frame)) else {
                    continue;
                };
                if !profile.file_path(frame).ends_with(file) {
                    continue;
                }
                let caller = frames.get(place + 1).map(|&frame| short(frame));
                assert!(
                    caller.is_some_and(|caller| allowed.iter().any(|allowed| allowed == caller)),
                    "{} below {caller:?} in {:?}",
                    short(frame),
                    frames.iter().map(|&frame| short(frame)).collect::<Vec<_>>()
                );
            }
        }
        self
    }

    /// Asserts that at least so many programs ran whose command lines contain this.
    #[track_caller]
    pub fn assert_processes(&self, part: &str, at_least: usize) -> &Self {
        let found = self
            .commands()
            .filter(|command| command.contains(part))
            .count();
        assert!(found >= at_least, "{found} × {part:?}; {}", self.outline());
        self
    }

    /// Asserts that every program but the first was started by another one in the recording.
    #[track_caller]
    pub fn assert_one_root(&self) -> &Self {
        let orphans = self.profile.processes.iter();
        let orphans: Vec<u32> = orphans
            .filter(|process| process.parent.is_none())
            .map(|process| process.pid)
            .collect();
        assert_eq!(orphans.len(), 1, "roots {orphans:?}; {}", self.outline());
        self
    }

    fn commands(&self) -> impl Iterator<Item = &str> {
        let processes = self.profile.processes.iter();
        processes.map(|process| self.profile.strings.get(process.command))
    }

    /// The names of the threads that were sampled.
    pub fn threads(&self) -> BTreeSet<&str> {
        let threads = self.profile.samples.iter().map(|sample| sample.thread);
        threads
            .map(|thread| {
                self.profile
                    .strings
                    .get(self.profile.threads.get(thread).name)
            })
            .collect()
    }

    /// A summary of the recording, for the reader of a failure.
    pub fn outline(&self) -> String {
        let mut shares: BTreeMap<&str, f64> = BTreeMap::new();
        for sample in &self.profile.samples {
            let names: BTreeSet<&str> = self.names(sample).into_iter().collect();
            for name in names {
                *shares.entry(name).or_default() += sample.weight.0 as f64 / 1e9;
            }
        }
        let mut shares: Vec<_> = shares.into_iter().collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares.truncate(25);
        format!(
            "{} samples, {:.3} s, took {:?}, of processes {:?}, threads {:?}, functions {shares:?}, {:?}",
            self.profile.samples.len(),
            self.seconds(),
            self.took,
            self.commands().collect::<Vec<_>>(),
            self.threads(),
            self.profile.meta,
        )
    }
}
