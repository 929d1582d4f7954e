//! The share of each function, or of each function at each line, in the sampled time, with its
//! uncertainty.
//!
//! A function is a name in a file. Shares are of weights, not of counts, so that a sample that
//! stands for more time counts for more, and the interval accounts for unequal weights.

use profundo_model::{FileId, Profile, StringId};
use rustc_hash::FxHashMap;

use crate::amount::Amount;
use crate::interval::Estimate;
use crate::scatter::Members;
use crate::shown::{Shown, Sieve};
use crate::tally::{
    Keep, Places, Rule, Tallies, Tally, place_slot, place_slots, tally, tally_both,
};
use crate::traced::known_totals;
use crate::{Place, Selection, scatter};

/// The time of one function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FunctionShare {
    /// The function's place: its most frequent one at its own work, or else in all.
    pub place: Place,
    /// The count of samples that contain it.
    pub count: u64,
    /// The count of samples that end in it.
    pub overhead: u64,
    /// Its own share of the time.
    pub own: Estimate,
    /// Its share of the time, with its callees.
    pub total: Estimate,
    /// The total of the samples that end in it.
    pub own_amount: Amount,
    /// The total of the samples that contain it.
    pub total_amount: Amount,
}

/// The shares of all functions, in the order of first appearance.
pub fn shares(
    profile: &Profile,
    selection: &Selection,
    shown: impl Into<Shown>,
) -> Vec<FunctionShare> {
    let shown = shown.into();
    let find = || of_functions(profile, selection, shown);
    selection.functions().get(shown, find).to_vec()
}

fn of_functions(profile: &Profile, selection: &Selection, shown: Shown) -> Vec<FunctionShare> {
    let sieve = Sieve::new(profile, shown);
    let numbers = FunctionNumbers::new(profile);
    // The line where a function works most is found beside it. Lines need no intervals.
    let (mut tallies, lines) = tally_both(
        profile,
        selection,
        (&mut functions_of(profile, &sieve, &numbers), Keep::Members),
        (&mut lines_of(profile, &sieve), Keep::Sums),
    );
    if let Some(table) = known_totals(profile, selection) {
        let whole = selection.weight(profile);
        for tally in &mut tallies.list {
            table.correct(profile, tally.place, whole, &mut tally.total);
        }
    }
    let mut functions = finish(profile, selection, &tallies);
    let mut rows: FxHashMap<u32, usize> = FxHashMap::default();
    for (row, function) in functions.iter().enumerate() {
        rows.insert(numbers.of(profile, function.place), row);
    }
    let mut best: Vec<(u64, u64)> = vec![(0, 0); functions.len()];
    for line in lines.list {
        let row = rows[&numbers.of(profile, line.place)];
        let heat = (line.own.weight, line.total.weight);
        if heat > best[row] {
            best[row] = heat;
            functions[row].place = line.place;
        }
    }
    functions
}

/// The shares of all functions at each of their lines, in the order of first appearance.
pub fn line_shares(
    profile: &Profile,
    selection: &Selection,
    shown: impl Into<Shown>,
) -> Vec<FunctionShare> {
    let sieve = Sieve::new(profile, shown.into());
    let mut lines = lines_of(profile, &sieve);
    let tallies = tally(profile, selection, &mut lines, Keep::Members);
    finish(profile, selection, &tallies)
}

/// The functions of stacks.
pub(crate) fn functions_of<'a>(
    profile: &'a Profile,
    sieve: &'a Sieve<'a>,
    numbers: &'a FunctionNumbers,
) -> impl Rule + 'a {
    Places::new(profile, sieve, |place, _, _| numbers.of(profile, place))
}

/// The functions of stacks at each of their lines.
fn lines_of<'a>(profile: &'a Profile, sieve: &'a Sieve<'a>) -> impl Rule + 'a {
    Places::new(profile, sieve, |place, _, _| place_slot(profile, place))
}

fn finish(profile: &Profile, selection: &Selection, tallies: &Tallies) -> Vec<FunctionShare> {
    let estimates = |members: &Members, amount: fn(&Tally) -> Amount| {
        let amounts: Vec<Amount> = tallies.list.iter().map(amount).collect();
        scatter::estimates(profile, selection, members, &amounts)
    };
    let own = estimates(&tallies.own, |tally| tally.own);
    let total = estimates(&tallies.total, |tally| tally.total);
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
