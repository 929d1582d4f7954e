//! The shares of one box of a picture in its selection, with their uncertainty. A picture has
//! thousands of boxes and its reader looks at a few, so each is estimated on demand.

use profundo_model::Profile;

use super::{Forest, ROOT_PATH, Start};
use crate::Selection;
use crate::amount::Amount;
use crate::interval::Estimate;
use crate::scatter::{self, Members};

/// The shares of a box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoxShares {
    /// Of the samples that end in it. In a picture with callers on top, of those whose stack it
    /// is the root of.
    pub own: Estimate,
    /// Of the samples that it contains.
    pub total: Estimate,
    /// The weight of both.
    pub weights: (u64, u64),
}

/// The shares of the box with this path. `start` is that of the picture; `None` is the picture
/// with callers at the root. No sample may be in it: then there are none.
pub fn box_shares(
    profile: &Profile,
    selection: &Selection,
    forest: &Forest,
    start: Option<Start>,
    path: u64,
) -> Option<BoxShares> {
    const OWN: usize = 0;
    const TOTAL: usize = 1;
    let mut amounts = [Amount::default(); 2];
    let mut members = Members::default();
    // Stacks share their ends: each end is looked at once.
    let mut known: Vec<Option<Within>> = vec![None; forest.calls.len()];
    for stack in selection.stacks(profile) {
        let end = forest.ends[stack.stack.index()];
        let within = *known[end as usize].get_or_insert_with(|| forest.within(end, start, path));
        if within != Within::Outside {
            amounts[TOTAL].add(stack);
            members.add(TOTAL);
        }
        if within == Within::Own {
            amounts[OWN].add(stack);
            members.add(OWN);
        }
        members.end_stack();
    }
    if amounts[TOTAL].samples == 0 {
        return None;
    }
    let shares = scatter::estimates(profile, selection, &members, &amounts);
    Some(BoxShares {
        own: shares[OWN],
        total: shares[TOTAL],
        weights: (amounts[OWN].weight, amounts[TOTAL].weight),
    })
}

/// Whether a stack is in a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Outside,
    /// In the box, with more on it.
    Inside,
    /// In the box, with nothing on it.
    Own,
}

impl Forest {
    /// Whether the stacks that end in a call are in the box with this path.
    fn within(&self, end: u32, start: Option<Start>, path: u64) -> Within {
        let mut calls = self.callers(end);
        let outermost = |function: u32| {
            let is_it = |&call: &u32| self.calls[call as usize].function == function;
            calls.iter().position(is_it)
        };
        let is_rooted = match start {
            None | Some(Start::Ends) => path == ROOT_PATH,
            _ => false,
        };
        match start {
            None => {}
            Some(Start::Ends) => calls.reverse(),
            Some(Start::CalleesOf(function)) => match outermost(function) {
                Some(first) => drop(calls.drain(..first)),
                None => return Within::Outside,
            },
            Some(Start::CallersOf(function)) => match outermost(function) {
                Some(first) => {
                    calls.truncate(first + 1);
                    calls.reverse();
                }
                None => return Within::Outside,
            },
        }
        if is_rooted {
            return match calls.is_empty() {
                true => Within::Own,
                false => Within::Inside,
            };
        }
        let mut at = ROOT_PATH;
        for (place, &call) in calls.iter().enumerate() {
            at = self.path_with(at, self.calls[call as usize].function);
            if at == path {
                return match place + 1 == calls.len() {
                    true => Within::Own,
                    false => Within::Inside,
                };
            }
        }
        Within::Outside
    }
}
