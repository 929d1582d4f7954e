//! How far a profile can be trusted: what was taken, what should have been, and what was lost.

use profundo_model::{Engine, Nanos, Profile};

use crate::interval::Estimate;
use crate::{Filter, Selection};

/// The quality of a profile. What is not known is `None`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    /// How many samples there are.
    pub samples: u64,
    /// The sum of their counts; more than `samples` where one stands for several.
    pub counted: u64,
    /// The part of `counted` that `expected` is about: an engine that is blind in system calls
    /// expects none from there.
    pub comparable: u64,
    /// What the CPU time should have given.
    pub expected: Option<f64>,
    /// Samples that are missing altogether.
    pub lost: u64,
    /// Samples whose stack was too deep.
    pub truncated: u64,
    /// Samples whose stack could not be walked to its root.
    pub broken: u64,
    /// What made the samples.
    pub engine: Engine,
    /// The nominal time between two samples.
    pub period: Option<Nanos>,
    /// The profiler's own cost as a share of the program's CPU time.
    pub own_cost: Option<f64>,
    /// To how much at most a share is sure, to either side, in the selection's samples.
    pub margin: Option<f64>,
}

/// The quality of the profile, and of shares in the selection.
pub fn quality(profile: &Profile, selection: &Selection) -> Quality {
    let meta = &profile.meta;
    let cpu = meta.cpu.filter(|cpu| cpu.0 > 0);
    // A share of one half is the least sure of all.
    let effective = selection.mass(profile).effective_samples();
    let margin = (effective > 0.0).then(|| Estimate::new(0.5, effective).margin());
    let whole = (selection.len() != profile.samples.len())
        .then(|| Selection::new(profile, &Filter::default()));
    let sums = whole.as_ref().unwrap_or(selection).sums(profile);
    Quality {
        samples: profile.samples.len() as u64,
        counted: sums.count,
        comparable: match meta.engine {
            Engine::PerfSignal => sums.count - sums.in_system,
            _ => sums.count,
        },
        expected: meta.expected_samples(),
        lost: meta.loss.lost(),
        truncated: meta.loss.truncated,
        broken: meta.loss.broken,
        engine: meta.engine,
        period: (meta.period.0 > 0).then_some(meta.period),
        own_cost: meta
            .own_cost
            .zip(cpu)
            .map(|(own, cpu)| own.0 as f64 / cpu.0 as f64),
        margin,
    }
}
