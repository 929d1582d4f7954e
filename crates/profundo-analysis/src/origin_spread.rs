//! The time of each function in each of the merged recordings: the least, the median and the most,
//! and how uneven that is.
//!
//! Samples differ from recording to recording by chance alone. So each row says whether its times
//! differ by more than that: a chi-squared test against equal times, in which the
//! Benjamini–Hochberg procedure bounds the false ones of all rows to one in twenty.

use profundo_model::{OriginId, Profile};

use crate::amount::Amount;
use crate::shares::{FunctionNumbers, functions_of};
use crate::shown::{Shown, Sieve};
use crate::tally::{Keep, tally};
use crate::{Place, Selection, stats};

/// The part of rows that may be called uneven by chance.
const FALSE: f64 = 0.05;

/// The times of one thing in the recordings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OriginTimes {
    /// The least, in nanoseconds, or in the unit of the profile's weights.
    pub least: u64,
    /// The middle one.
    pub median: f64,
    /// The most.
    pub most: u64,
    /// The mean.
    pub mean: f64,
    /// The recording that has the most.
    pub most_at: OriginId,
    /// Whether they differ by more than samples do by chance.
    pub is_uneven: bool,
    /// The logarithm of the probability that equal times differ so much.
    chance: f64,
}

impl OriginTimes {
    /// By how much the most is above the mean: 0 where all are equal, 1 where the most is twice the
    /// mean.
    pub fn imbalance(&self) -> f64 {
        match self.mean > 0.0 {
            true => self.most as f64 / self.mean - 1.0,
            false => 0.0,
        }
    }

    fn of(origins: &[OriginId], amounts: &[Amount]) -> Self {
        let weights: Vec<f64> = amounts.iter().map(|amount| amount.weight as f64).collect();
        let mean = stats::mean(&weights);
        let most = (0..amounts.len())
            .rev()
            .max_by_key(|&at| amounts[at].weight);
        let most = most.unwrap_or(0);
        Self {
            least: amounts
                .iter()
                .map(|amount| amount.weight)
                .min()
                .unwrap_or(0),
            median: stats::median(&weights),
            most: amounts.get(most).map_or(0, |amount| amount.weight),
            mean,
            most_at: origins.get(most).copied().unwrap_or_default(),
            is_uneven: false,
            chance: chance(
                &weights,
                mean,
                amounts.iter().map(|amount| amount.squares).sum(),
            ),
        }
    }
}

/// A function in the recordings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FunctionInOrigins {
    /// The function's place.
    pub place: Place,
    /// Its own time.
    pub own: OriginTimes,
    /// Its time with its callees.
    pub total: OriginTimes,
}

/// The functions of a selection in the recordings that it is from.
#[derive(Debug, Clone, PartialEq)]
pub struct OriginSpread {
    /// The recordings.
    pub origins: Vec<OriginId>,
    /// The time of everything.
    pub whole: OriginTimes,
    /// The functions, the one with the most own time in any recording first.
    pub functions: Vec<FunctionInOrigins>,
}

/// The time of functions by recording. `None` where the selection has fewer than two recordings.
pub fn origin_spread(
    profile: &Profile,
    selection: &Selection,
    shown: impl Into<Shown>,
) -> Option<OriginSpread> {
    let mut is_there = vec![false; profile.origins.len()];
    let by_thread: Vec<Option<OriginId>> = (profile.threads.iter())
        .map(|(_, thread)| profile.origin_of(thread.process))
        .collect();
    for thread in selection.threads() {
        if let Some(origin) = by_thread[thread.index()] {
            is_there[origin.index()] = true;
        }
    }
    let origins: Vec<OriginId> = (0..is_there.len())
        .filter(|&index| is_there[index])
        .map(OriginId::from_index)
        .collect();
    if origins.len() < 2 {
        return None;
    }
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); profile.origins.len()];
    selection.each(profile, |row, sample| {
        if let Some(origin) = by_thread[sample.thread.index()] {
            rows[origin.index()].push(row);
        }
    });
    let sieve = Sieve::new(profile, shown.into());
    let numbers = FunctionNumbers::new(profile);
    // By function, its own and total amounts in each recording.
    let mut places: Vec<Option<(Place, u64)>> = vec![None; numbers.slots];
    let mut slots: Vec<u32> = Vec::new();
    let mut amounts: Vec<Vec<(u32, Amount, Amount)>> = Vec::with_capacity(origins.len());
    let mut wholes: Vec<Amount> = Vec::with_capacity(origins.len());
    for origin in &origins {
        let part = selection.part(std::mem::take(&mut rows[origin.index()]), None, None);
        let stacks = part.stacks(profile);
        let mut whole = Amount::default();
        stacks.iter().for_each(|stack| whole.add(stack));
        wholes.push(whole);
        let tallies = tally(
            profile,
            &part,
            &mut functions_of(profile, &sieve, &numbers),
            Keep::Sums,
        );
        let of_origin = tallies.list.iter().map(|tally| {
            let slot = numbers.of(profile, tally.place);
            let place = &mut places[slot as usize];
            if place.is_none() {
                slots.push(slot);
            }
            // The place that is the hottest anywhere stands for the function.
            if place.is_none_or(|(_, heat)| tally.own.weight > heat) {
                *place = Some((tally.place, tally.own.weight));
            }
            (slot, tally.own, tally.total)
        });
        amounts.push(of_origin.collect());
    }
    let mut functions = functions(&origins, &amounts, &places, &slots);
    mark_uneven(&mut functions, |function| &mut function.own);
    mark_uneven(&mut functions, |function| &mut function.total);
    functions.sort_by_key(|function| {
        let (own, total) = (function.own.most, function.total.most);
        std::cmp::Reverse((own, total))
    });
    let mut whole = [OriginTimes::of(&origins, &wholes)];
    mark_uneven(&mut whole, |whole| whole);
    let [whole] = whole;
    Some(OriginSpread {
        origins,
        whole,
        functions,
    })
}

fn functions(
    origins: &[OriginId],
    amounts: &[Vec<(u32, Amount, Amount)>],
    places: &[Option<(Place, u64)>],
    slots: &[u32],
) -> Vec<FunctionInOrigins> {
    let mut numbers = vec![0_usize; places.len()];
    for (number, &slot) in slots.iter().enumerate() {
        numbers[slot as usize] = number;
    }
    let none = vec![Amount::default(); origins.len()];
    let mut own = vec![none.clone(); slots.len()];
    let mut total = vec![none; slots.len()];
    for (at, of_origin) in amounts.iter().enumerate() {
        for &(slot, its_own, its_total) in of_origin {
            let number = numbers[slot as usize];
            own[number][at] = its_own;
            total[number][at] = its_total;
        }
    }
    let rows = slots.iter().zip(own.iter().zip(&total));
    rows.filter_map(|(&slot, (own, total))| {
        let (place, _) = places[slot as usize]?;
        Some(FunctionInOrigins {
            place,
            own: OriginTimes::of(origins, own),
            total: OriginTimes::of(origins, total),
        })
    })
    .collect()
}

/// The logarithm of the probability that times of equal functions differ so much. `squares` is the
/// sum of the squares of all weights, which is the variance of their sum.
fn chance(weights: &[f64], mean: f64, squares: f64) -> f64 {
    let degrees = weights.len() as f64 - 1.0;
    let distance: f64 = weights.iter().map(|weight| (weight - mean).powi(2)).sum();
    if distance <= 0.0 || degrees < 1.0 {
        return 0.0;
    }
    // What was counted and not sampled does not differ by chance.
    if squares <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let variance = squares / weights.len() as f64;
    let chi_squared = distance / variance;
    // Wilson and Hilferty: the cube root is nearly normal.
    let part = 2.0 / (9.0 * degrees);
    let normal = ((chi_squared / degrees).cbrt() - (1.0 - part)) / part.sqrt();
    log_of_tail(normal)
}

/// The logarithm of the probability that a normal variable exceeds `z`.
fn log_of_tail(z: f64) -> f64 {
    if z <= 0.0 {
        // Above one half: of no interest.
        return 0.5_f64.ln() * (1.0 + z / 3.0).max(0.0);
    }
    // Abramowitz and Stegun 26.2.17, without the factor that underflows.
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series = t
        * (0.319_381_530
            + t * (-0.356_563_782
                + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    -z * z / 2.0 - (2.0 * std::f64::consts::PI).sqrt().ln() + series.ln()
}

/// Marks rows as uneven, after Benjamini and Hochberg: of these, one in twenty is so by chance.
fn mark_uneven<T>(rows: &mut [T], times: impl Fn(&mut T) -> &mut OriginTimes) {
    let mut chances: Vec<f64> = (rows.iter_mut()).map(|row| times(row).chance).collect();
    chances.sort_by(f64::total_cmp);
    let all = chances.len() as f64;
    let passing = (1..).zip(&chances).filter(|(number, chance)| {
        let limit = FALSE * f64::from(*number) / all;
        **chance <= limit.ln()
    });
    let Some(limit) = passing.map(|(_, chance)| *chance).last() else {
        return;
    };
    for row in rows {
        let times = times(row);
        times.is_uneven = times.chance <= limit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_the_normal_distribution_is_known() {
        for (z, tail) in [
            (1.0, 0.158_655),
            (1.959_964, 0.025),
            (3.0, 0.001_349_9),
            (8.0, 6.22e-16),
        ] {
            let found = log_of_tail(z).exp();
            // The formula is good to some per cent of what is small.
            assert!((found / tail - 1.0).abs() < 2e-2, "{z}: {found}");
        }
        assert!(log_of_tail(40.0) < -800.0);
    }

    #[test]
    fn equal_times_differ_by_chance() {
        let of = |weights: &[f64]| {
            let mean = stats::mean(weights);
            // Each is a sum of samples that weigh 1.
            chance(weights, mean, weights.iter().sum()).exp()
        };
        assert!(of(&[100.0, 100.0, 100.0]) > 0.4);
        assert!(of(&[95.0, 104.0, 101.0]) > 0.4);
        // Chi-squared is 11.74: with 2 degrees of freedom, the tail is exp(-11.74 / 2) = 0.0028.
        let found = of(&[100.0, 100.0, 145.0]);
        assert!((0.0025..0.0032).contains(&found), "{found}");
        assert_eq!(chance(&[1.0, 2.0], 1.5, 0.0), f64::NEG_INFINITY);
    }
}
