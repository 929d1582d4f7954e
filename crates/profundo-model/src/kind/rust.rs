//! The start of a Rust program and its threads: all frames between the root of a stack and the
//! function by which Rust itself ends its backtraces.
//!
//! Most of them are generic functions (`catch_unwind`, `call_once`) that a program calls as well,
//! so they are known by their place, not by their names.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{FrameId, Location, LocationId, LocationKind, Profile};

/// The function at which Rust's own backtraces end.
const BORDER: &str = "__rust_begin_short_backtrace";

/// The role of a row of the stack table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    /// Only frames that may belong to the start.
    Below,
    /// The border itself.
    Border,
    /// Started code, or anything else.
    Above,
}

/// The locations of the start, each with its first frame that belongs to it, counted from the
/// innermost.
pub(super) fn starts(profile: &Profile) -> FxHashMap<LocationId, usize> {
    let borders = borders(profile);
    let (mut starts, mut others) = (FxHashMap::default(), FxHashSet::default());
    if borders.is_empty() {
        return starts;
    }
    let mut rows: Vec<Row> = Vec::with_capacity(profile.stacks.len());
    for stack in profile.stacks.iter() {
        let below = stack.parent.map_or(Row::Below, |id| rows[id.index()]);
        let location = stack.location;
        let row = match (below, borders.get(&location)) {
            (Row::Below, Some(&from)) => {
                starts.insert(location, from);
                let mut next = stack.parent;
                while let Some(id) = next {
                    let caller = profile.stacks.get(id);
                    starts.insert(caller.location, 0);
                    next = caller.parent;
                }
                Row::Border
            }
            (Row::Below, None) if is_native(profile, location) => Row::Below,
            _ => Row::Above,
        };
        if row == Row::Above {
            // A function of one line passes on what the border calls.
            let outermost = profile.locations.get(location).frames.len().wrapping_sub(1);
            if below == Row::Border && is_call_once(profile, location, outermost) {
                starts.entry(location).or_insert(outermost);
            } else {
                others.insert(location);
            }
        }
        rows.push(row);
    }
    starts.retain(|location, _| !others.contains(location));
    starts
}

/// The locations with the border in them, each with the first frame that belongs to the start.
fn borders(profile: &Profile) -> FxHashMap<LocationId, usize> {
    let name = |frame: &FrameId| profile.function_name(*frame);
    let find = |(id, location): (LocationId, &Location)| {
        let border = location
            .frames
            .iter()
            .rposition(|frame| name(frame).contains(BORDER))?;
        let is_passed_on = border > 0 && is_call_once(profile, id, border - 1);
        Some((id, border - usize::from(is_passed_on)))
    };
    profile.locations.iter().filter_map(find).collect()
}

/// Whether a frame of a location is the one line that calls a function as a closure.
fn is_call_once(profile: &Profile, location: LocationId, index: usize) -> bool {
    let frames = &profile.locations.get(location).frames;
    frames.get(index).is_some_and(|&frame| {
        let name = profile.function_name(frame);
        name.contains("FnOnce") && name.contains("call_once")
    })
}

fn is_native(profile: &Profile, location: LocationId) -> bool {
    matches!(profile.locations.get(location).kind, LocationKind::Code(_))
}
