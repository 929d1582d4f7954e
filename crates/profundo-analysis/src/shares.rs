//! The share of each function, or of each function at each line, in the time that was sampled,
//! and how sure it is.
//!
//! A function is a name in a file. Shares are of weights, not of counts, so that a sample that
//! stands for more time counts for more, and the interval knows that such samples are worth less
//! than their number.

use profundo_model::{FileId, Profile, StringId};
use rustc_hash::FxHashMap;

use crate::interval::Estimate;
use crate::scatter::Members;
use crate::shown::{Shown, Sieve};
use crate::tally::{Amount, Tallies, Tally, place_slot, place_slots, tally};
use crate::{Place, Selection, scatter};

/// What one function took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FunctionShare {
    /// The function's place: where it is seen most often at its own work, or else most often.
    pub place: Place,
    /// The count of samples that contain it.
    pub count: u64,
    /// The count of samples that end in it.
    pub overhead: u64,
    /// Its own share of the time.
    pub own: Estimate,
    /// Its share of the time, with what it called.
    pub total: Estimate,
    /// What the samples that end in it add up to.
    pub own_amount: Amount,
    /// What the samples that contain it add up to.
    pub total_amount: Amount,
}

/// The shares of all functions, in the order in which they were first met.
pub fn shares(
    profile: &Profile,
    selection: &Selection,
    shown: impl Into<Shown>,
) -> Vec<FunctionShare> {
    let sieve = Sieve::new(profile, shown.into());
    let numbers = FunctionNumbers::new(profile);
    let tallies = tally(
        profile,
        selection.stacks(profile),
        &sieve,
        numbers.slots,
        |place, _, _| numbers.of(profile, place),
    );
    let mut functions = finish(profile, selection, &tallies);
    // The line where a function works most: lines are few, so they are added up apart.
    let mut rows: FxHashMap<u32, usize> = FxHashMap::default();
    for (row, function) in functions.iter().enumerate() {
        rows.insert(numbers.of(profile, function.place), row);
    }
    let mut best: Vec<(u64, u64)> = vec![(0, 0); functions.len()];
    for line in line_shares_with(profile, selection, &sieve) {
        let row = rows[&numbers.of(profile, line.place)];
        let heat = (line.own_amount.weight, line.total_amount.weight);
        if heat > best[row] {
            best[row] = heat;
            functions[row].place = line.place;
        }
    }
    functions
}

/// The shares of all functions at each of their lines, in the order in which they were first met.
pub fn line_shares(
    profile: &Profile,
    selection: &Selection,
    shown: impl Into<Shown>,
) -> Vec<FunctionShare> {
    line_shares_with(profile, selection, &Sieve::new(profile, shown.into()))
}

fn line_shares_with(
    profile: &Profile,
    selection: &Selection,
    sieve: &Sieve<'_>,
) -> Vec<FunctionShare> {
    let tallies = tally(
        profile,
        selection.stacks(profile),
        sieve,
        place_slots(profile),
        |place, _, _| place_slot(profile, place),
    );
    finish(profile, selection, &tallies)
}

fn finish(profile: &Profile, selection: &Selection, tallies: &Tallies) -> Vec<FunctionShare> {
    let estimates = |members: &Members, amount: fn(&Tally) -> Amount| {
        let amounts: Vec<Amount> = tallies.list.iter().map(amount).collect();
        scatter::estimates(profile, selection, members, &amounts)
    };
    let own = estimates(&tallies.own, |it| it.own);
    let total = estimates(&tallies.total, |it| it.total);
    (tallies.list.iter().zip(own).zip(total))
        .map(|((tally, own), total)| FunctionShare {
            place: tally.place,
            count: tally.total.count,
            overhead: tally.own.count,
            own,
            total,
            own_amount: tally.own,
            total_amount: tally.total,
        })
        .collect()
}

/// A number for each function: that of its first frame stands for all of them.
#[derive(Debug)]
pub(crate) struct FunctionNumbers {
    by_frame: Vec<u32>,
    pub slots: usize,
}

impl FunctionNumbers {
    pub(crate) fn new(profile: &Profile) -> Self {
        let mut firsts: FxHashMap<(StringId, FileId), u32> = FxHashMap::default();
        Self {
            by_frame: (0..)
                .zip(profile.frames.iter())
                .map(|(slot, frame)| *firsts.entry((frame.function, frame.file)).or_insert(slot))
                .collect(),
            slots: place_slots(profile),
        }
    }

    pub(crate) fn of(&self, profile: &Profile, place: Place) -> u32 {
        match place {
            Place::Frame(frame) => self.by_frame[frame.index()],
            Place::Reason(_) | Place::Unknown => place_slot(profile, place),
        }
    }
}
