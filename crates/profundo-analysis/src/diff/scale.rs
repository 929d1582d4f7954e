//! The common scale of both sides: a run, a second, or a piece of work.

use profundo_model::{ProcessEnd, Profile};

use super::{CompareError, Options};
use crate::{Selection, shares, traced};

/// The choice of a scale.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Per {
    /// A run where both programs ran to their end, else a second.
    #[default]
    Automatic,
    /// A run.
    Run,
    /// A second of the recording.
    Second,
    /// A second of the time that all functions take together: shares.
    Share,
    /// A call of any function, where calls were counted.
    Calls,
    /// A call of this function where calls were counted, else a second of its time.
    Function(String),
}

/// The scale of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum Scale {
    /// Amounts are those of a run.
    Run,
    /// Amounts are those of a second of the recording.
    Second,
    /// Amounts are parts of a second that all functions take together.
    Share,
    /// Amounts are those of a call of any function.
    Call {
        /// The calls before and after, of all runs.
        calls: [u64; 2],
    },
    /// Amounts are those of a call of this function.
    CallOf {
        /// The function.
        function: String,
        /// Its calls before and after, of all runs.
        calls: [u64; 2],
    },
    /// Amounts are those of a second of this function's time, callees included.
    SecondOf {
        /// The function.
        function: String,
    },
}

impl Scale {
    pub(super) fn new(
        profiles: [&[&Profile]; 2],
        selections: &[Vec<Selection>; 2],
        options: &Options,
    ) -> Result<Self, CompareError> {
        let all = || profiles.iter().flat_map(|side| side.iter());
        let scale = match &options.per {
            Per::Run => Self::Run,
            // A part of a run is chosen by time: both parts are as long as they are.
            Per::Automatic if all().all(|profile| ran_to_its_end(profile)) => Self::Run,
            Per::Automatic if all().any(|profile| profile.meta.duration.0 == 0) => Self::Run,
            Per::Automatic => Self::Second,
            Per::Second if all().any(|profile| profile.meta.duration.0 == 0) => {
                return Err(CompareError::NoDuration);
            }
            Per::Second => Self::Second,
            Per::Share => Self::Share,
            Per::Calls => {
                let calls = [0, 1].map(|side| {
                    let runs = profiles[side].iter().zip(&selections[side]);
                    runs.map(|(profile, selection)| selection.calls(profile))
                        .sum()
                });
                if calls.contains(&0) {
                    return Err(CompareError::NoCalls);
                }
                Self::Call { calls }
            }
            Per::Function(name) => {
                let counts = |side: usize, work: fn(&Profile, &Selection, &str) -> u64| {
                    let runs = profiles[side].iter().zip(&selections[side]);
                    runs.map(|(profile, selection)| work(profile, selection, name))
                        .collect::<Vec<u64>>()
                };
                let function = name.clone();
                match all().all(|profile| !profile.traced.calls.is_empty()) {
                    true => {
                        let calls = [0, 1].map(|side| counts(side, calls_of));
                        for (calls, side) in calls.iter().zip(["before", "after"]) {
                            if calls.contains(&0) {
                                return Err(CompareError::NoWork(function, side));
                            }
                        }
                        Self::CallOf {
                            function,
                            calls: calls.map(|calls| calls.iter().sum()),
                        }
                    }
                    false => {
                        for (side, word) in ["before", "after"].into_iter().enumerate() {
                            if counts(side, time_of).contains(&0) {
                                return Err(CompareError::NoWork(function, word));
                            }
                        }
                        Self::SecondOf { function }
                    }
                }
            }
        };
        Ok(scale)
    }

    /// The factor that brings a run's amounts to this scale.
    pub(super) fn of_run(&self, profile: &Profile, selection: &Selection) -> f64 {
        let per = |work: u64| 1.0 / work.max(1) as f64;
        match self {
            Self::Run => 1.0,
            Self::Second => 1e9 * per(profile.meta.duration.0),
            Self::Share => 1e9 * per(selection.weight(profile)),
            Self::Call { .. } => per(selection.calls(profile)),
            Self::CallOf { function, .. } => per(calls_of(profile, selection, function)),
            Self::SecondOf { function } => 1e9 * per(time_of(profile, selection, function)),
        }
    }
}

/// Whether the recording began and ended with its program.
fn ran_to_its_end(profile: &Profile) -> bool {
    match profile.processes.first() {
        Some(process) => process.end != ProcessEnd::Unknown,
        // Made by hand.
        None => true,
    }
}

fn is_named(name: &str, wanted: &str) -> bool {
    let ends = |separator: char| {
        name.strip_suffix(wanted)
            .is_some_and(|rest| rest.ends_with(separator))
    };
    name == wanted || ends('.') || ends(':')
}

fn calls_of(profile: &Profile, selection: &Selection, name: &str) -> u64 {
    let table = traced(profile, selection);
    let functions = table
        .functions
        .iter()
        .filter(|function| match function.place {
            crate::Place::Frame(frame) => is_named(profile.function_name(frame), name),
            _ => false,
        });
    functions.map(|function| function.counted.begun.calls).sum()
}

fn time_of(profile: &Profile, selection: &Selection, name: &str) -> u64 {
    let all = shares(profile, selection, crate::Shown::ALL);
    let named = all.iter().filter(|row| match row.place {
        crate::Place::Frame(frame) => is_named(profile.function_name(frame), name),
        _ => false,
    });
    named.map(|row| row.total_amount.weight).max().unwrap_or(0)
}
