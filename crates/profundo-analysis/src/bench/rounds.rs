//! The amount of measuring: the loops in a run, and the number of runs.

use std::time::Duration;

/// The numbers of loops that are tried until a run takes long enough, as in timeit: 1, 2, 5, 10,
/// 20, 50 …
pub fn loop_counts() -> impl Iterator<Item = u64> {
    (0..19).flat_map(|power| [1, 2, 5].map(|step| step * 10_u64.pow(power)))
}

/// The largest number of short runs that one run of a comparison is cut into.
const MOST_PARTS: f64 = 20.0;

/// Candidates that differ by less have parts of as many loops. With numbers from a disturbed trial,
/// equal candidates would have parts of different lengths, and the fixed cost of each part would
/// make them differ.
const ALIKE: f64 = 1.25;

/// The result of a candidate's trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tried {
    /// The number of loops tried.
    pub loops: u64,
    /// Their time in seconds.
    pub seconds: f64,
    /// The extra time to run them, such as the setup.
    pub aside: f64,
}

impl Tried {
    /// The better of this and another trial round.
    pub fn better(self, loops: u64, seconds: f64) -> Self {
        Self {
            loops,
            seconds,
            ..self
        }
    }
}

/// The parts of a comparison's run: short runs, which the candidates take in turn, and of which the
/// best counts. A disturbance does not hit all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// The number of parts.
    pub count: u64,
    /// By candidate, the number of loops of a part.
    pub loops: Vec<u64>,
}

impl Parts {
    /// The least time of a trial's loops, if those of a whole run are to take `least`.
    pub fn length(least: f64) -> f64 {
        least / MOST_PARTS
    }

    /// A run in one piece, with `loops` loops of each candidate.
    pub fn whole(loops: u64, candidates: usize) -> Self {
        Self {
            count: 1,
            loops: vec![loops; candidates],
        }
    }

    /// The parts of runs that take at least so long. The parts of all candidates take equally long,
    /// if possible, so that none has a better chance to be undisturbed.
    pub fn of(least: f64, tried: &[Tried]) -> Self {
        let most = |of: fn(&Tried) -> f64| tried.iter().map(of).fold(1e-9, f64::max);
        let one_loop = most(|tried| tried.seconds / tried.loops as f64);
        let aside = most(|tried| tried.aside);
        let count = (least / one_loop.max(aside)).clamp(1.0, MOST_PARTS).floor();
        let each = |tried: &Tried| (tried.seconds / tried.loops as f64).max(1e-12);
        let mut order: Vec<usize> = (0..tried.len()).collect();
        order.sort_by(|a, b| each(&tried[*a]).total_cmp(&each(&tried[*b])));
        let mut loops = vec![1; tried.len()];
        let mut shortest = 0.0;
        for index in order {
            let own = each(&tried[index]);
            if own > shortest * ALIKE {
                shortest = own;
            }
            loops[index] = ((least / count / shortest).round() as u64).max(1);
        }
        Self {
            count: count as u64,
            loops,
        }
    }
}

/// The number of rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// This number.
    Exactly(u64),
    /// The number that a comparison or a command needs.
    Enough {
        /// The least number, if they do not take too long.
        wanted: u64,
        /// The largest number.
        most: u64,
    },
}

/// The number of rounds however long one takes: fewer prove nothing.
const FEWEST: u64 = 10;
/// The limit of the time of all rounds, beyond the fewest.
const LONG: Duration = Duration::from_secs(60);
/// The least time of a candidate's runs, within the largest number.
const SHORT: Duration = Duration::from_secs(3);

impl Rounds {
    /// The number of rounds before the time of one is known.
    pub fn at_first(self) -> u64 {
        match self {
            Self::Exactly(count) => count,
            Self::Enough { .. } => FEWEST,
        }
    }

    /// The number of rounds if one takes so long, with so many candidates.
    pub fn count(self, round: Duration, candidates: usize) -> u64 {
        let (wanted, most) = match self {
            Self::Exactly(count) => return count,
            Self::Enough { wanted, most } => (wanted, most),
        };
        let round = round.as_secs_f64().max(1e-6);
        let within = |time: Duration| (time.as_secs_f64() / round) as u64;
        let affordable = within(LONG).clamp(FEWEST, wanted.max(FEWEST));
        let for_a_while = within(SHORT * candidates as u32);
        for_a_while.clamp(affordable, most.max(affordable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_is_timeits() {
        let first: Vec<u64> = loop_counts().take(8).collect();
        assert_eq!(first, [1, 2, 5, 10, 20, 50, 100, 200]);
        assert_eq!(loop_counts().last(), Some(5_000_000_000_000_000_000));
    }

    #[test]
    fn runs_are_cut_into_parts_that_take_equally_long() {
        let tried = |loops, seconds, aside| Tried {
            loops,
            seconds,
            aside,
        };
        let parts = |tried: &[Tried]| {
            let parts = Parts::of(0.1, tried);
            (parts.count, parts.loops)
        };
        assert_eq!(Parts::length(0.1), 0.005);
        // Two that take 15 and 100 µs a loop.
        let two = [tried(500, 0.0075, 0.0), tried(50, 0.005, 1e-5)];
        assert_eq!(parts(&two), (20, vec![333, 50]));
        // One of which a loop takes 30 ms, and one whose loop takes longer than a run.
        assert_eq!(parts(&[tried(1, 0.03, 0.0), two[1]]), (3, vec![1, 333]));
        assert_eq!(parts(&[tried(1, 7.0, 0.0), two[1]]), (1, vec![1, 1000]));
        // A long setup is not repeated often.
        assert_eq!(parts(&[tried(500, 0.0075, 0.05)]), (2, vec![3333]));
        assert_eq!(parts(&[tried(500, 0.0075, 5.0)]), (1, vec![6667]));
        // Candidates that may well be equal have as many loops.
        let alike = [
            tried(100, 0.011, 0.0),
            tried(10, 0.005, 0.0),
            tried(100, 0.01, 0.0),
        ];
        assert_eq!(parts(&alike), (20, vec![50, 10, 50]));
        assert_eq!(Parts::whole(7, 2).loops, [7, 7]);
    }

    #[test]
    fn there_are_enough_rounds_but_not_for_ever() {
        let command = Rounds::Enough {
            wanted: 10,
            most: 1000,
        };
        let compared = Rounds::Enough {
            wanted: 20,
            most: 1000,
        };
        let count = |rounds: Rounds, milliseconds, candidates| {
            rounds.count(Duration::from_millis(milliseconds), candidates)
        };
        assert_eq!(count(command, 30_000, 1), 10);
        assert_eq!(count(command, 100, 1), 30);
        assert_eq!(count(command, 1, 1), 1000);
        assert_eq!(count(compared, 30_000, 2), 10);
        assert_eq!(count(compared, 4_000, 2), 15);
        assert_eq!(count(compared, 1_000, 2), 20);
        assert_eq!(count(compared, 100, 2), 60);
        assert_eq!(
            count(
                Rounds::Enough {
                    wanted: 20,
                    most: 20
                },
                1,
                2
            ),
            20
        );
        assert_eq!(count(Rounds::Exactly(3), 1, 2), 3);
    }
}
