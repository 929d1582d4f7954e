//! Adding up the contents of stacks, each thing once: a function that recurses is in its sample
//! once, however often it is on the stack.
//!
//! What a level of a stack contains is a [`Rule`]: the shown places, or the lines that are looked
//! at. The levels are those of one walk over the tree of stacks, so that a caller of many stacks is
//! looked at once.

mod places;

use profundo_model::{LocationId, Profile};

use crate::amount::Amount;
use crate::scatter::Members;
use crate::walk::{Stop, Visitor, walk};
use crate::{Place, Selection, StackWeight};

pub(crate) use places::{Places, Reached, Slots, place_slot, place_slots};

/// A thing at a level of a stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thing {
    /// Identifies it among all things.
    pub slot: u32,
    pub place: Place,
    pub location: LocationId,
}

/// The contents of the levels of stacks.
pub(crate) trait Rule {
    /// What is known at a level from itself and its callers.
    type State: Clone;

    /// Whether things of one stack come in the order from the root. Otherwise the innermost is the
    /// first.
    const FROM_ROOT: bool = false;

    /// The state below the outermost level.
    fn root(&self) -> Self::State;

    /// Goes one level up. The level's things come after those in `things`, the outermost first.
    fn enter(
        &mut self,
        state: &Self::State,
        location: LocationId,
        things: &mut Vec<Thing>,
    ) -> Self::State;

    /// The slot of the thing that a stack's own time belongs to.
    fn own(&self, state: &Self::State) -> Option<u32>;

    /// A stack of the selection, by its number, ends in this state.
    fn end(&mut self, _number: u32, _state: &Self::State) {}

    /// The walk leaves a level, which has this weight with all that it called.
    fn leave(&mut self, _state: &Self::State, _weight: u64) {}
}

/// The sums of one thing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tally {
    pub slot: u32,
    /// The first place of the thing.
    pub place: Place,
    pub location: LocationId,
    /// The samples that contain it.
    pub total: Amount,
    /// The samples that end in it.
    pub own: Amount,
}

/// The sums of all things, in the order of first appearance: by stack, and there as the rule says.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    pub list: Vec<Tally>,
    /// By stack whose samples are read for intervals, the row that it ends in, and all of its rows.
    pub own: Members,
    pub total: Members,
}

/// Whether the rows of each stack are kept, for intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Members,
    Sums,
}

/// Adds up everything that a selection's stacks contain.
pub(crate) fn tally(
    profile: &Profile,
    selection: &Selection,
    rule: &mut impl Rule,
    keep: Keep,
) -> Tallies {
    let mut adding = Adding::new(profile, selection, rule, keep);
    walk(profile, selection, &mut adding);
    adding.finish()
}

/// Adds up by two rules in one walk.
pub(crate) fn tally_both(
    profile: &Profile,
    selection: &Selection,
    (rule, keep): (&mut impl Rule, Keep),
    (other_rule, other_keep): (&mut impl Rule, Keep),
) -> (Tallies, Tallies) {
    let mut adding = (
        Adding::new(profile, selection, rule, keep),
        Adding::new(profile, selection, other_rule, other_keep),
    );
    walk(profile, selection, &mut adding);
    (adding.0.finish(), adding.1.finish())
}

/// The state of a walk that adds up.
struct Adding<'a, R: Rule> {
    profile: &'a Profile,
    selection: &'a Selection,
    stacks: &'a [StackWeight],
    rule: &'a mut R,
    /// By slot: the row plus one.
    rows: Vec<u32>,
    sums: Vec<Sum>,
    levels: Vec<Level<R::State>>,
    /// The rows on the path, each once.
    on_path: Vec<u32>,
    things: Vec<Thing>,
    /// The sums of the stacks that come next, the last one first.
    ahead: Vec<StackWeight>,
    tallies: Tallies,
    keep: Keep,
}

/// The sums of a row.
#[derive(Debug, Clone, Copy)]
struct Sum {
    total: Amount,
    own: Amount,
    /// The number of the first stack that contains it.
    first: u32,
    is_on_path: bool,
}

/// A level of the path.
struct Level<S> {
    state: S,
    /// The number of rows on the path that are not of its callers.
    things: u32,
    /// The stacks that end here or above, and the number of the first of them.
    amount: Amount,
    first: u32,
}

impl<R: Rule> Visitor for Adding<'_, R> {
    /// Fetches the sums of several stacks: none of these waits for another one.
    fn ahead(&mut self, stops: &[Stop]) {
        let sums = |stop: &Stop| self.stacks[stop.number as usize];
        self.ahead.clear();
        self.ahead.extend(stops.iter().rev().map(sums));
    }

    fn enter(&mut self, location: LocationId) {
        let caller = self.levels.last().expect("the root is never left");
        self.things.clear();
        let state = (self.rule).enter(&caller.state, location, &mut self.things);
        let before = self.on_path.len();
        for thing in &self.things {
            let slot = thing.slot as usize;
            if slot >= self.rows.len() {
                self.rows.resize(slot + 1, 0);
            }
            let row = &mut self.rows[slot];
            if *row == 0 {
                self.sums.push(Sum {
                    total: Amount::default(),
                    own: Amount::default(),
                    first: u32::MAX,
                    is_on_path: false,
                });
                *row = u32::try_from(self.sums.len()).expect("fewer than 2^32 rows");
            }
            let sum = &mut self.sums[*row as usize - 1];
            if !sum.is_on_path {
                sum.is_on_path = true;
                self.on_path.push(*row - 1);
            }
        }
        self.levels.push(Level {
            state,
            things: (self.on_path.len() - before) as u32,
            amount: Amount::default(),
            first: u32::MAX,
        });
    }

    fn stack(&mut self, number: u32) {
        let level = self.levels.last_mut().expect("the root is never left");
        let weight = &self.ahead.pop().expect("a stack comes after its batch");
        level.amount.add(weight);
        level.first = level.first.min(number);
        self.rule.end(number, &level.state);
        let own = self.rule.own(&level.state);
        let own = own.map(|slot| self.rows[slot as usize] - 1);
        if let Some(own) = own {
            self.sums[own as usize].own.add(weight);
        }
        if self.keep == Keep::Members && self.selection.is_read(self.profile, number) {
            self.tallies.own.set(number, own.as_slice());
            self.tallies.total.set(number, &self.on_path);
        }
    }

    fn leave(&mut self) {
        let level = self.levels.pop().expect("left after it was entered");
        let callers = self.on_path.len() - level.things as usize;
        for row in self.on_path.drain(callers..) {
            let sum = &mut self.sums[row as usize];
            sum.total += level.amount;
            sum.first = sum.first.min(level.first);
            sum.is_on_path = false;
        }
        self.rule.leave(&level.state, level.amount.weight);
        let caller = self.levels.last_mut().expect("the root is never left");
        caller.amount += level.amount;
        caller.first = caller.first.min(level.first);
    }
}

impl<'a, R: Rule> Adding<'a, R> {
    fn new(profile: &'a Profile, selection: &'a Selection, rule: &'a mut R, keep: Keep) -> Self {
        let stacks = selection.stacks(profile);
        let mut tallies = Tallies::default();
        if keep == Keep::Members {
            tallies.own.of_many(stacks.len());
            tallies.total.of_many(stacks.len());
        }
        let root = rule.root();
        Self {
            profile,
            selection,
            stacks,
            rows: Vec::new(),
            sums: Vec::new(),
            levels: vec![Level {
                state: root,
                things: 0,
                amount: Amount::default(),
                first: u32::MAX,
            }],
            on_path: Vec::new(),
            things: Vec::new(),
            ahead: Vec::new(),
            tallies,
            keep,
            rule,
        }
    }

    /// Puts the rows in the order of first appearance.
    fn finish(mut self) -> Tallies {
        let mut firsts: Vec<u32> = self.sums.iter().map(|sum| sum.first).collect();
        firsts.sort_unstable();
        firsts.dedup();
        let mut numbers = vec![u32::MAX; self.sums.len()];
        let mut list: Vec<Tally> = Vec::with_capacity(self.sums.len());
        let mut path: Vec<LocationId> = Vec::new();
        for number in firsts {
            let stack = self.stacks[number as usize].stack;
            path.extend(self.profile.stacks.locations(stack));
            self.things.clear();
            let mut state = self.rule.root();
            for location in path.drain(..).rev() {
                state = self.rule.enter(&state, location, &mut self.things);
            }
            if !R::FROM_ROOT {
                self.things.reverse();
            }
            for thing in &self.things {
                let row = self.rows[thing.slot as usize] as usize - 1;
                if numbers[row] == u32::MAX {
                    numbers[row] = list.len() as u32;
                    list.push(Tally {
                        slot: thing.slot,
                        place: thing.place,
                        location: thing.location,
                        total: self.sums[row].total,
                        own: self.sums[row].own,
                    });
                }
            }
        }
        let Tallies { own, total, .. } = &mut self.tallies;
        own.renumber(&numbers);
        total.renumber(&numbers);
        Tallies {
            list,
            ..self.tallies
        }
    }
}
