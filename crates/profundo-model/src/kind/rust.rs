//! What starts a Rust program and its threads: all that lies between the root of a stack and the
//! function by which Rust itself ends its backtraces.
//!
//! Most of it are generic functions (`catch_unwind`, `call_once`) that a program calls as well, so
//! they are known by their place, not by their names.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{FrameId, Location, LocationId, LocationKind, Profile};

/// Where Rust's own backtraces end.
const BORDER: &str = "__rust_begin_short_backtrace";

/// What a row of the stack table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    /// Nothing but what may start something.
    Below,
    /// The border itself.
    Border,
    /// What was started, or something else altogether.
    Above,
}

/// The locations that start something: from which of their frames on, the innermost being the first.
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
            // What the border calls is passed on by a function of one line.
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

/// The locations with the border in them, and from which frame on they start something.
fn borders(profile: &Profile) -> FxHashMap<LocationId, usize> {
    let name = |frame: &FrameId| profile.function_name(*frame);
    let find = |(id, location): (LocationId, &Location)| {
        let border = location
            .frames
            .iter()
            .rposition(|it| name(it).contains(BORDER))?;
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
