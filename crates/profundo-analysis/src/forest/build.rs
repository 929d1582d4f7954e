//! The shape of the tree: each row of the stack table is placed once, below its caller's.

use std::hash::{Hash, Hasher};

use profundo_model::Profile;
use rustc_hash::{FxHashMap, FxHasher};

use super::{Forest, ForestCall, ForestFunction, ForestOptions, NO_FUNCTION};
use crate::Place;
use crate::shares::FunctionNumbers;
use crate::shown::Sieve;

pub(super) fn build(profile: &Profile, options: &ForestOptions) -> Forest {
    let sieve = Sieve::new(profile, options.shown);
    let numbers = (!options.by_line).then(|| FunctionNumbers::new(profile));
    let mut rows: FxHashMap<u32, u32> = FxHashMap::default();
    let mut functions: Vec<ForestFunction> = Vec::new();
    let mut calls = vec![ForestCall {
        parent: 0,
        function: NO_FUNCTION,
        level: 0,
        lines: (0, 0),
    }];
    let mut in_library = vec![false];
    let mut ids: FxHashMap<u64, u32> = FxHashMap::default();
    let mut ends: Vec<u32> = Vec::with_capacity(profile.stacks.len());
    for stack in profile.stacks.iter() {
        let mut call = stack.parent.map_or(0, |parent| ends[parent.index()]);
        for place in sieve.places(stack.location) {
            let is_library = sieve.is_library(place, stack.location);
            if sieve.folds() && is_library && in_library[call as usize] {
                continue;
            }
            let number = match &numbers {
                Some(numbers) => numbers.of(profile, place),
                None => place.key(),
            };
            let function = *rows.entry(number).or_insert_with(|| {
                functions.push(ForestFunction {
                    place,
                    location: stack.location,
                    key: key(profile, place, options.by_line),
                });
                functions.len() as u32 - 1
            });
            let edge = (u64::from(call) << 32) | u64::from(function);
            call = *ids.entry(edge).or_insert_with(|| {
                calls.push(ForestCall {
                    parent: call,
                    function,
                    level: calls[call as usize].level + 1,
                    lines: (0, 0),
                });
                in_library.push(is_library);
                u32::try_from(calls.len() - 1).expect("fewer than 2^32 calls")
            });
            widen(profile, &mut calls[call as usize].lines, place);
        }
        ends.push(call);
    }
    let (starts, callees) = callees(&calls);
    Forest {
        calls,
        functions,
        ends,
        starts,
        callees,
    }
}

fn widen(profile: &Profile, (first, last): &mut (u32, u32), place: Place) {
    let Place::Frame(frame) = place else { return };
    let line = profile.frames.get(frame).line;
    if line > 0 {
        *first = if *first == 0 { line } else { line.min(*first) };
        *last = line.max(*last);
    }
}

/// The callees of each call, one list behind the other.
fn callees(calls: &[ForestCall]) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0_u32; calls.len() + 1];
    for call in &calls[1..] {
        starts[call.parent as usize + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut next = starts.clone();
    let mut callees = vec![0_u32; calls.len() - 1];
    for (number, call) in (0_u32..).zip(calls).skip(1) {
        let place = &mut next[call.parent as usize];
        callees[*place as usize] = number;
        *place += 1;
    }
    (starts, callees)
}

/// A number for a function's name, its file and its line where lines are apart. It does not depend
/// on the order of the tables.
fn key(profile: &Profile, place: Place, by_line: bool) -> u64 {
    let mut hasher = FxHasher::default();
    match place {
        Place::Frame(id) => {
            let frame = profile.frames.get(id);
            profile.strings.get(frame.function).hash(&mut hasher);
            profile.file_path(id).hash(&mut hasher);
            if by_line {
                frame.line.hash(&mut hasher);
            }
        }
        Place::Reason(reason) => (1_u8, reason as u32).hash(&mut hasher),
        Place::Unknown => 2_u8.hash(&mut hasher),
    }
    hasher.finish()
}
