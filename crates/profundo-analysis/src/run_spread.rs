//! The uncertainty of shares in a merged recording, from the spread between its runs.
//!
//! Samples of one run say how well that run is known. Another run of the same program differs by
//! more: other addresses, caches and orders of hash tables. Where a recording was merged from
//! several runs of one thing, each row's share in each run is known, and so is how far the runs are
//! apart.
//!
//! The spread of three runs is itself uncertain. So each row's own spread is drawn to that of all
//! rows, in parts of what the samples alone give, and is never less than that.

use profundo_model::{Alignment, OriginId, ProcessId, Profile, SampleKind};

use crate::Selection;
use crate::amount::Amount;
use crate::diff::student::quantile;
use crate::interval::{Estimate, Mass, Z};
use crate::scatter::Members;
use crate::weights::weight_of;

/// Fewer runs say little about their spread.
const FEWEST: usize = 3;

/// The weight of all rows' spread beside a row's own, as a number of runs.
const OF_ALL: f64 = 4.0;

/// The runs of one thing that a selection is from.
#[derive(Debug, Clone)]
pub(crate) struct RunSpread {
    /// By thread.
    of_threads: Vec<Option<OriginId>>,
    is_run: Vec<bool>,
    count: usize,
}

impl RunSpread {
    /// The runs, if the selection is from enough of them. Recordings of one command are runs of one
    /// thing. But those that were made at the same time are parts of a whole, such as the ranks of
    /// a job, and their difference is no chance.
    pub(crate) fn new(profile: &Profile, selection: &Selection) -> Option<Self> {
        let is_sampled = matches!(profile.meta.kind, SampleKind::Cpu | SampleKind::Wall);
        if !is_sampled || profile.origins.len() < FEWEST {
            return None;
        }
        let of_threads: Vec<Option<OriginId>> = (profile.threads.iter())
            .map(|(_, thread)| profile.origin_of(thread.process))
            .collect();
        let mut is_run = vec![false; profile.origins.len()];
        for thread in selection.threads() {
            if let Some(origin) = of_threads[thread.index()] {
                is_run[origin.index()] = true;
            }
        }
        let count = is_run.iter().filter(|is_run| **is_run).count();
        (count >= FEWEST && have_one_command(profile, &is_run) && !do_overlap(profile, &is_run))
            .then_some(Self {
                of_threads,
                is_run,
                count,
            })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Widens the estimates of rows by the spread between the runs. `members` has the rows of each
    /// of the selection's stacks, of which those that are within count.
    pub(crate) fn widen(
        &self,
        profile: &Profile,
        selection: &Selection,
        (members, amounts): (&Members, &[Amount]),
        whole: Mass,
        is_within: impl Fn(usize) -> bool,
        estimates: &mut [Estimate],
    ) {
        let sums = self.sums(profile, selection, members, amounts.len(), is_within);
        let runs = self.count as f64;
        let own = runs - 1.0;
        // By row, the variance of the share by the samples alone, and by the spread.
        let variances: Vec<Option<(f64, f64)>> = (estimates.iter().zip(&sums.rows))
            .map(|(estimate, row)| {
                let share = estimate.share;
                let is_known = share > 0.0 && share < 1.0 && !estimate.is_exact();
                let sampled = (estimate.margin() / Z).powi(2);
                is_known.then(|| (sampled, row.variance(share, &sums, runs)))
            })
            .collect();
        let known = || variances.iter().flatten();
        let sampled: f64 = known().map(|(sampled, _)| sampled).sum();
        let spread: f64 = known().map(|(_, spread)| spread).sum();
        if sampled <= 0.0 {
            return;
        }
        let more = spread / sampled;
        let freedom = OF_ALL + own;
        let deviations = quantile(0.05, freedom);
        for ((estimate, amount), variance) in estimates.iter_mut().zip(amounts).zip(&variances) {
            let Some((sampled, spread)) = *variance else {
                continue;
            };
            let variance = (OF_ALL * more * sampled + own * spread) / freedom;
            let share = estimate.share;
            let samples = share * (1.0 - share) / variance.max(sampled);
            *estimate =
                Estimate::after_wilson(share, samples, deviations).unless_few(amount.mass(), whole);
        }
    }

    /// Goes through the selection run by run.
    fn sums(
        &self,
        profile: &Profile,
        selection: &Selection,
        members: &Members,
        rows: usize,
        is_within: impl Fn(usize) -> bool,
    ) -> Sums {
        let mut numbers = vec![0_usize; profile.stacks.len()];
        for (number, row) in selection.stacks(profile).iter().enumerate() {
            numbers[row.stack.index()] = number;
        }
        // Samples of one run mostly follow one another.
        let mut of_runs: Vec<Vec<(usize, f64)>> = vec![Vec::new(); self.is_run.len()];
        selection.each(profile, |_, sample| {
            let number = numbers[sample.stack.index()];
            if let Some(origin) = self.of_threads[sample.thread.index()]
                && is_within(number)
            {
                let weight = weight_of(profile, sample) as f64;
                let of_run = &mut of_runs[origin.index()];
                match of_run.last_mut() {
                    Some((last, sum)) if *last == number => *sum += weight,
                    _ => of_run.push((number, weight)),
                }
            }
        });
        let mut sums = Sums {
            rows: vec![RowSums::default(); rows],
            whole: 0.0,
            squares: 0.0,
        };
        let mut weights = vec![0.0; rows];
        let mut touched: Vec<u32> = Vec::new();
        for of_run in of_runs {
            let whole: f64 = of_run.iter().map(|(_, weight)| weight).sum();
            for (number, weight) in of_run {
                for &row in members.of(number) {
                    let sum = &mut weights[row as usize];
                    if *sum == 0.0 {
                        touched.push(row);
                    }
                    *sum += weight;
                }
            }
            for row in touched.drain(..) {
                let weight = std::mem::take(&mut weights[row as usize]);
                let row = &mut sums.rows[row as usize];
                row.squares += weight * weight;
                row.with_whole += weight * whole;
            }
            sums.whole += whole;
            sums.squares += whole * whole;
        }
        sums
    }
}

/// Sums over the runs.
struct Sums {
    rows: Vec<RowSums>,
    /// Of the runs' weights, and of their squares.
    whole: f64,
    squares: f64,
}

/// Sums over the runs for one row: of the squares of its weights, and of their products with the
/// weights of the runs.
#[derive(Debug, Clone, Copy, Default)]
struct RowSums {
    squares: f64,
    with_whole: f64,
}

impl RowSums {
    /// The variance of a row's share, as that of a ratio of two sums over the runs.
    fn variance(&self, share: f64, sums: &Sums, runs: f64) -> f64 {
        let distance = self.squares - 2.0 * share * self.with_whole + share * share * sums.squares;
        distance.max(0.0) * runs / (runs - 1.0) / sums.whole.powi(2).max(f64::MIN_POSITIVE)
    }
}

/// Whether the first processes of these recordings run one command.
fn have_one_command(profile: &Profile, is_run: &[bool]) -> bool {
    let mut commands = vec![None; is_run.len()];
    for index in 0..profile.processes.len() {
        if let Some(origin) = profile.origin_of(ProcessId::from_index(index)) {
            let command = profile.processes[index].command;
            commands[origin.index()].get_or_insert(command);
        }
    }
    let commands = commands.iter().zip(is_run).filter(|(_, is_run)| **is_run);
    let mut commands = commands.map(|(command, _)| command);
    let first = commands.next();
    commands.all(|command| Some(command) == first)
}

/// Whether any of these recordings were made at the same time, or were placed in time by their
/// clocks, as those of one job are.
fn do_overlap(profile: &Profile, is_run: &[bool]) -> bool {
    if profile.alignment() == Alignment::Clock {
        return true;
    }
    let origins = profile.origins.iter().zip(is_run);
    let known = origins.filter(|(origin, is_run)| **is_run && origin.started_at_unix > 0);
    let mut times: Vec<(u64, u64)> = known
        .map(|(origin, _)| {
            let start = origin.started_at_unix;
            (start, start.saturating_add(origin.duration.0))
        })
        .collect();
    times.sort_unstable();
    times.windows(2).any(|pair| pair[1].0 < pair[0].1)
}

#[cfg(test)]
mod tests {
    use profundo_model::{Nanos, Sample};

    use super::*;
    use crate::{Filter, InputLabels, Intervals, Shown, merge, quality, shares};

    const RUNS: u64 = 5;
    const SAMPLES: u64 = 2000;
    const SECOND: u64 = 1_000_000_000;

    struct Random(u64);

    impl Random {
        fn uniform(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }
    }

    /// A run in which `a` has this share of the samples, by chance, and `b` and `c` the rest.
    fn run(number: u64, share: f64, random: &mut Random) -> Profile {
        let mut run = Profile::from_folded("main;a 1\nmain;b 1\nmain;c 1").unwrap();
        let command = run.strings.intern("app --fast");
        run.processes[0].command = command;
        run.meta.started_at_unix = number * 10 * SECOND;
        run.meta.duration = Nanos(3 * SECOND);
        let each = std::mem::take(&mut run.samples);
        run.samples = (0..SAMPLES)
            .map(|at| {
                let of = match random.uniform() {
                    low if low < share => 0,
                    other if other < share + (1.0 - share) * 0.6 => 1,
                    _ => 2,
                };
                Sample {
                    time: Nanos(at * 1_000_000),
                    ..each[of]
                }
            })
            .collect();
        run
    }

    /// Five runs whose shares of `a` spread around 0.3.
    fn runs(spread: f64, seed: u64) -> Vec<Profile> {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..8 {
            random.uniform();
        }
        (1..=RUNS)
            .map(|number| {
                let share = 0.3 + spread * random.normal();
                run(number, share, &mut random)
            })
            .collect()
    }

    fn merged(runs: Vec<Profile>, alignment: Alignment) -> Profile {
        let labelled: Vec<_> = (1..)
            .zip(runs)
            .map(|(number, run): (u32, _)| {
                let labels = vec![("run".to_owned(), number.to_string())];
                let name = format!("r{number}");
                (run, InputLabels { name, labels })
            })
            .collect();
        merge(&labelled, alignment).unwrap()
    }

    fn of_a(profile: &Profile) -> (Estimate, Intervals) {
        let selection = Selection::new(profile, &Filter::default());
        let rows = shares(profile, &selection, Shown::COMMAND);
        let name = |place| match place {
            crate::Place::Frame(frame) => profile.function_name(frame),
            _ => "",
        };
        let row = rows.iter().find(|row| name(row.place) == "a").unwrap();
        (row.own, quality(profile, &selection).intervals)
    }

    /// The part of 200 seeds in which the interval holds the true share, and its mean margin.
    fn coverage(spread: f64, alignment: Alignment) -> (f64, f64) {
        const SEEDS: u64 = 200;
        let found = (1..=SEEDS).map(|seed| of_a(&merged(runs(spread, seed), alignment)).0);
        let (mut held, mut margins) = (0, 0.0);
        for estimate in found {
            held += u64::from((estimate.interval.low..=estimate.interval.high).contains(&0.3));
            margins += estimate.margin();
        }
        (held as f64 / SEEDS as f64, margins / SEEDS as f64)
    }

    #[test]
    fn the_spread_between_runs_is_in_the_interval() {
        let (held, _) = coverage(0.04, Alignment::Start);
        assert!((0.88..=0.995).contains(&held), "{held}");
        // The samples alone promise too much.
        let (held, _) = coverage(0.04, Alignment::Clock);
        assert!(held < 0.6, "{held}");
    }

    #[test]
    fn runs_that_are_alike_cost_little() {
        let (held, margin) = coverage(0.0, Alignment::Start);
        assert!(held >= 0.93, "{held}");
        let (_, by_samples) = coverage(0.0, Alignment::Clock);
        assert!(margin < 1.5 * by_samples, "{margin} and {by_samples}");
    }

    #[test]
    fn only_runs_of_one_thing_are_runs() {
        let intervals = |runs: Vec<Profile>| of_a(&merged(runs, Alignment::Start)).1;
        assert_eq!(intervals(runs(0.0, 1)), Intervals::Runs(5));
        let mut few = runs(0.0, 1);
        few.truncate(2);
        assert_eq!(intervals(few), Intervals::SamplesOfSeveral);
        let mut others = runs(0.0, 1);
        others[2].processes[0].command = others[2].strings.intern("other");
        assert_eq!(intervals(others), Intervals::SamplesOfSeveral);
        // Ranks of a job run at the same time.
        let mut ranks = runs(0.0, 1);
        ranks[3].meta.started_at_unix = ranks[2].meta.started_at_unix + SECOND;
        assert_eq!(intervals(ranks), Intervals::SamplesOfSeveral);
        let single = runs(0.0, 1).remove(0);
        assert_eq!(of_a(&single).1, Intervals::Samples);
    }
}
