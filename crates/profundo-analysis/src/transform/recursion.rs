//! Collapsing recursion: a function that calls itself, directly or through others, is there once.
//!
//! A later call goes back to the place of the earlier one, below the earlier one's caller. There it
//! stands with its own line, so each line keeps its own time.

use profundo_model::{Language, LocationId, Profile, StackId, StackTable};
use rustc_hash::FxHashMap;

use super::rows::{End, Fate, Rows};

/// The longest cycle of functions that is recognised as recursion.
const LONGEST_CYCLE: usize = 8;

/// The most levels of plumbing between two calls.
const MOST_PLUMBING: usize = 64;

/// By location, the number of its function. Code that only passes calls on has none, and neither
/// has what is no function.
fn functions(profile: &Profile) -> Vec<Option<u32>> {
    let mut known = FxHashMap::default();
    let of_location = |(_, location): (_, &profundo_model::Location)| {
        let frame = profile.frames.get(*location.frames.first()?);
        let is_function = !matches!(frame.language, Language::Runtime | Language::Synthetic);
        let next = u32::try_from(known.len()).expect("fewer than 2^32 functions");
        is_function.then(|| *known.entry((frame.function, frame.file)).or_insert(next))
    };
    profile.locations.iter().map(of_location).collect()
}

/// Collapses all recursion: a sequence of calls that directly follows itself (`a a`, `a b a b`) is
/// there once.
pub(super) fn collapse_cycles(rows: &mut Rows, profile: &Profile) {
    let functions = functions(profile);
    rows.rewrite(End::ROOT, |table, caller, row| {
        let earlier = functions[row.location.index()]
            .and_then(|function| repeated(table, &functions, caller.stack, function));
        match earlier {
            Some(earlier) => again(table, caller, earlier, row.location),
            None => caller.call(table, row.location),
        }
    });
}

/// The row of the earlier call, if a call of `function` by `caller` ends a sequence of calls that
/// directly follows itself.
fn repeated(
    table: &StackTable,
    functions: &[Option<u32>],
    caller: Option<StackId>,
    function: u32,
) -> Option<StackId> {
    // The callee, and its callers from here on.
    let mut chain = [(function, StackId(0)); 2 * LONGEST_CYCLE];
    let mut length = 1;
    let (mut next, mut plumbing) = (caller, 0);
    while length < chain.len() && plumbing < MOST_PLUMBING {
        let Some(id) = next else { break };
        let stack = table.get(id);
        match functions[stack.location.index()] {
            Some(function) => {
                chain[length] = (function, id);
                length += 1;
            }
            None => plumbing += 1,
        }
        next = stack.parent;
    }
    let is_repeated = |&cycle: &usize| {
        let names = |range: std::ops::Range<usize>| chain[range].iter().map(|(name, _)| *name);
        names(0..cycle).eq(names(cycle..2 * cycle))
    };
    let cycle = (1..=length / 2).find(is_repeated)?;
    Some(chain[cycle].1)
}

/// Collapses the recursion of some functions: all that lies between the first and the last call of
/// such a function is taken away.
pub(super) fn collapse_functions(rows: &mut Rows, profile: &Profile, meant: &[bool]) {
    let functions = functions(profile);
    // By row of the new table, the nearest row from there upwards that is of such a function.
    let mut nearest: Vec<Option<StackId>> = Vec::new();
    rows.rewrite(End::ROOT, |table, caller, row| {
        let function = functions[row.location.index()].filter(|_| meant[row.location.index()]);
        let mut above = caller.stack.and_then(|id| nearest[id.index()]);
        let mut earlier = None;
        while let (Some(id), Some(function)) = (above, function) {
            let stack = table.get(id);
            if functions[stack.location.index()] == Some(function) {
                earlier = Some(id);
                break;
            }
            above = stack.parent.and_then(|id| nearest[id.index()]);
        }
        let end = match earlier {
            Some(earlier) => again(table, caller, earlier, row.location),
            None => caller.call(table, row.location),
        };
        if let Some(id) = end.stack
            && id.index() == nearest.len()
        {
            let above = table.get(id).parent.and_then(|id| nearest[id.index()]);
            nearest.push(function.map(|_| id).or(above));
        }
        end
    });
}

/// The end of another call of the function whose earlier call is `earlier`.
fn again(table: &mut StackTable, caller: End, earlier: StackId, location: LocationId) -> End {
    let above = table.get(earlier).parent;
    End {
        stack: Some(table.intern(above, location)),
        fate: Fate::Folded,
        ..caller
    }
}
