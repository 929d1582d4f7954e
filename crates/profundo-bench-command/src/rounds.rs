//! Run after run: each round runs all candidates in turn. The first round determines the number of
//! rounds.

use std::time::Instant;

use anyhow::{Error, Result};
use profundo_analysis::bench::{Candidate, Order, Rounds, Run, seed};
use profundo_console::progress::Progress;
use profundo_launch::Interrupted;

/// The reason why there are fewer rounds than planned.
#[derive(Debug)]
pub enum Cut {
    /// The user has interrupted the measurement.
    Interrupted(Interrupted),
    /// A run has failed.
    Failed(Error),
}

impl From<Error> for Cut {
    fn from(error: Error) -> Self {
        match error.downcast_ref() {
            Some(&interrupted) => Self::Interrupted(interrupted),
            None => Self::Failed(error),
        }
    }
}

/// Takes the runs: `round` gets the order of the candidates, and returns the run of each, in their
/// own order. Runs before an interruption are kept.
pub fn take(
    candidates: &mut [Candidate],
    rounds: Rounds,
    progress: &Progress,
    mut round: impl FnMut(&[usize]) -> Result<Vec<Run>>,
) -> Option<Cut> {
    let mut order = Order::new(candidates.len(), seed());
    let started = Instant::now();
    let mut count = rounds.at_first();
    let mut done = 0;
    while done < count {
        let runs = match round(&order.next().unwrap_or_default()) {
            Ok(runs) => runs,
            Err(error) => return Some(error.into()),
        };
        // Half a round gives no pairs.
        for (candidate, run) in candidates.iter_mut().zip(runs) {
            candidate.runs.push(run);
        }
        done += 1;
        if done == 1 {
            count = rounds.count(started.elapsed(), candidates.len());
        }
        let each = started.elapsed().as_secs_f64() / done as f64;
        let left = (each * count.saturating_sub(done) as f64).ceil();
        progress.set_text(format!("{done} of {count} runs, {left:.0} s to go"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_by(error: impl Fn() -> Error) -> Option<Cut> {
        let mut candidates = vec![Candidate::default(), Candidate::default()];
        let mut rounds = 0;
        let progress = Progress::silent();
        let ended = take(&mut candidates, Rounds::Exactly(10), &progress, |order| {
            rounds += 1;
            assert_eq!(order.len(), 2);
            match rounds {
                3 => Err(error()),
                _ => Ok(vec![Run::default(); 2]),
            }
        });
        assert_eq!(candidates[0].runs.len(), 2);
        assert_eq!(candidates[1].runs.len(), 2);
        ended
    }

    #[test]
    fn what_was_measured_before_it_was_cut_short_is_kept() {
        let interrupted = cut_by(|| Interrupted(2).into());
        let interrupted = matches!(interrupted, Some(Cut::Interrupted(Interrupted(2))));
        assert!(interrupted);
        match cut_by(|| anyhow::anyhow!("it has failed")) {
            Some(Cut::Failed(error)) => assert_eq!(error.to_string(), "it has failed"),
            other => panic!("{other:?}"),
        }
    }
}
