//! The callers and callees of a function, as shares of its time.
//!
//! Each sample with the function on its stack is counted once: for the caller of its outermost
//! call, and for the callee of its innermost one. So the callers' shares add up to the function's
//! time, the callees' and its own time do too, and recursion counts once.

use profundo_model::{Profile, StackId};
use rustc_hash::FxHashMap;

use crate::amount::Amount;
use crate::interval::{Estimate, Mass};
use crate::scatter::Members;
use crate::shares::FunctionNumbers;
use crate::shown::{Shown, Sieve};
use crate::tally::place_slot;
use crate::{Pattern, Place, Selection, pattern, scatter};

/// A function and its neighbours on the stack.
#[derive(Debug, Clone, PartialEq)]
pub struct Calls {
    /// A place of each function that matches and is in the samples; the one with most time first.
    pub functions: Vec<(Place, Amount)>,
    /// The share of its own time.
    pub own: Estimate,
    /// The share of its time with its callees.
    pub total: Estimate,
    /// Its own part of its time.
    pub own_of_total: Estimate,
    /// The total of its own samples.
    pub own_amount: Amount,
    /// The total of all of its samples.
    pub total_amount: Amount,
    /// Its callers with their lines; the one with most time first.
    pub callers: Vec<Call>,
    /// Its callees; the one with most time first.
    pub callees: Vec<Call>,
}

/// A neighbour of a function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// The neighbour; `None` for a caller where the function is at the root.
    pub place: Option<Place>,
    /// The total of this call's samples.
    pub amount: Amount,
    /// Their share of the function's time.
    pub of_function: Estimate,
    /// Their share of all time.
    pub of_all: Estimate,
}

/// The callers and callees of the functions that `name` matches.
pub fn calls(
    profile: &Profile,
    selection: &Selection,
    name: &Pattern,
    shown: impl Into<Shown>,
) -> Calls {
    let sieve = Sieve::new(profile, shown.into());
    let numbers = FunctionNumbers::new(profile);
    let meant = pattern::functions(profile, name);
    let reasons_meant = |place: &Place| match place {
        Place::Reason(reason) => reason.name() == name.text(),
        _ => false,
    };
    let is_meant = |place: &Place| {
        matches!(place, Place::Frame(at) if meant[at.index()]) || reasons_meant(place)
    };
    let mut functions = Sums::default();
    let mut callers = Sums::default();
    let mut callees = Sums::default();
    let (mut own, mut total) = (Amount::default(), Amount::default());
    let mut path = Vec::new();
    let on_stack = may_hold(profile, &meant, name);
    let mut times = Members::default();
    let mut is_within = vec![false; selection.stacks(profile).len()];
    for (stack, is_within) in selection.stacks(profile).iter().zip(&mut is_within) {
        path.clear();
        if on_stack[stack.stack.index()] {
            sieve.path(stack.stack, &mut path);
        }
        let first = path.iter().position(|(place, _)| is_meant(place));
        let last = path.iter().rposition(|(place, _)| is_meant(place));
        if let (Some(first), Some(last)) = (first, last) {
            *is_within = true;
            let here = path[last].0;
            functions.add(numbers.of(profile, here), Some(here), stack);
            total.add(stack);
            times.add(TOTAL);
            let caller = first.checked_sub(1).map(|at| path[at].0);
            let slot = caller.map_or(u32::MAX, |place| place_slot(profile, place));
            callers.add(slot, caller, stack);
            match path.get(last + 1) {
                Some(&(callee, _)) => {
                    callees.add(numbers.of(profile, callee), Some(callee), stack);
                }
                None => {
                    own.add(stack);
                    times.add(OWN);
                }
            }
        }
        for members in [&mut callers.members, &mut callees.members, &mut times] {
            members.end_stack();
        }
    }
    // Whether a report has few samples does not depend on the function.
    let within = Mass {
        is_few: selection.is_few(profile),
        ..total.mass()
    };
    let part = |members: &Members, amounts: &[Amount]| {
        let is_within = |at: usize| is_within[at];
        scatter::estimates_within(profile, selection, members, amounts, within, is_within)
    };
    let finish = |sums: &Sums| -> Vec<Call> {
        let amounts: Vec<Amount> = sums.rows.iter().map(|(_, amount)| *amount).collect();
        let of_function = part(&sums.members, &amounts);
        let of_all = scatter::estimates(profile, selection, &sums.members, &amounts);
        let rows = sums.rows.iter().zip(of_function.into_iter().zip(of_all));
        let mut calls: Vec<Call> = rows
            .map(|(&(place, amount), (of_function, of_all))| Call {
                place,
                amount,
                of_function,
                of_all,
            })
            .collect();
        calls.sort_by_key(|call| (std::cmp::Reverse(call.amount.weight), call.place));
        calls
    };
    let amounts = [own, total];
    let of_all = scatter::estimates(profile, selection, &times, &amounts);
    Calls {
        functions: (functions.sorted().into_iter())
            .filter_map(|(place, amount)| Some((place?, amount)))
            .collect(),
        own: of_all[OWN],
        total: of_all[TOTAL],
        own_of_total: part(&times, &amounts)[OWN],
        own_amount: own,
        total_amount: total,
        callers: finish(&callers),
        callees: finish(&callees),
    }
}

/// The rows of the function's own time and of all its time.
const OWN: usize = 0;
const TOTAL: usize = 1;

/// By stack, whether a matching function is on it, hidden or not.
fn may_hold(profile: &Profile, meant: &[bool], name: &Pattern) -> Vec<bool> {
    let locations: Vec<bool> = (profile.locations.iter())
        .map(|(_, location)| match location.kind {
            profundo_model::LocationKind::Reason(reason) => reason.name() == name.text(),
            _ => location.frames.iter().any(|frame| meant[frame.index()]),
        })
        .collect();
    let mut stacks: Vec<bool> = Vec::with_capacity(profile.stacks.len());
    for stack in profile.stacks.iter() {
        let above = stack
            .parent
            .is_some_and(|caller: StackId| stacks[caller.index()]);
        stacks.push(above || locations[stack.location.index()]);
    }
    stacks
}

/// Amounts by a number.
#[derive(Debug, Default)]
struct Sums {
    numbers: FxHashMap<u32, usize>,
    rows: Vec<(Option<Place>, Amount)>,
    members: Members,
}

impl Sums {
    fn add(&mut self, slot: u32, place: Option<Place>, stack: &crate::StackWeight) {
        let row = *self.numbers.entry(slot).or_insert(self.rows.len());
        if row == self.rows.len() {
            self.rows.push((place, Amount::default()));
        }
        self.rows[row].1.add(stack);
        self.members.add(row);
    }

    fn sorted(self) -> Vec<(Option<Place>, Amount)> {
        let mut rows = self.rows;
        rows.sort_by_key(|(place, amount)| (std::cmp::Reverse(amount.weight), *place));
        rows
    }
}
