//! Run after run: in each round all candidates in turn. The first round shows how many there will be.

use std::time::Instant;

use anyhow::Result;
use profundo_analysis::bench::{Candidate, Order, Rounds, Run, seed};

use crate::launch::Interrupted;
use crate::progress::Progress;

/// Takes the runs: `round` is given the order of the candidates, and gives the run of each, in their own order. What was measured before somebody interrupted it is kept, and whose signal it was is returned.
pub fn take(
    candidates: &mut [Candidate],
    rounds: Rounds,
    progress: &Progress,
    mut round: impl FnMut(&[usize]) -> Result<Vec<Run>>,
) -> Result<Option<Interrupted>> {
    let mut order = Order::new(candidates.len(), seed());
    let started = Instant::now();
    let mut count = rounds.at_first();
    let mut done = 0;
    while done < count {
        let runs = match round(&order.next().unwrap_or_default()) {
            Ok(runs) => runs,
            Err(error) => {
                return match error.downcast_ref::<Interrupted>() {
                    Some(interrupted) => Ok(Some(*interrupted)),
                    None => Err(error),
                };
            }
        };
        // Half a round would be no pair.
        for (candidate, run) in candidates.iter_mut().zip(runs) {
            candidate.runs.push(run);
        }
        done += 1;
        if done == 1 {
            count = rounds.count(started.elapsed(), candidates.len());
        }
        let each = started.elapsed().as_secs_f64() / done as f64;
        let left = (each * count.saturating_sub(done) as f64).ceil();
        progress.says(format!("{done} of {count} runs, {left:.0} s to go"));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_before_an_interruption_is_kept() {
        let mut candidates = vec![Candidate::default(), Candidate::default()];
        let mut rounds = 0;
        let progress = Progress::silent();
        let ended = take(&mut candidates, Rounds::Exactly(10), &progress, |order| {
            rounds += 1;
            assert_eq!(order.len(), 2);
            match rounds {
                3 => Err(Interrupted(2).into()),
                _ => Ok(vec![Run::default(); 2]),
            }
        });
        assert_eq!(ended.unwrap(), Some(Interrupted(2)));
        assert_eq!(candidates[0].runs.len(), 2);
        assert_eq!(candidates[1].runs.len(), 2);
    }
}
