//! The C library's functions that start programs and threads, where they have no names.
//!
//! A C library without symbols exports a name for `__libc_start_main`, but none for the functions
//! that it calls, nor for `clone3` and `start_thread`. They are known by their place: at the root
//! of a stack, below code of other modules, and nowhere else.

use rustc_hash::FxHashSet;

use crate::{LocationId, LocationKind, Profile, Role, StringId, plumbing};

/// The largest number of unnamed frames of the start in a row.
const MOST: u8 = 2;

/// The frames from the root up to a row of the stack table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    /// Only the start of a program or thread, with so many functions without names.
    Start(u8),
    /// Other code as well.
    Other,
}

/// The locations without names that start programs and threads.
pub(super) fn unnamed(profile: &Profile) -> FxHashSet<LocationId> {
    let locations: Vec<Option<bool>> = (0..profile.locations.len())
        .map(|index| is_named_start(profile, LocationId::from_index(index)))
        .collect();
    let mut rows: Vec<Row> = Vec::with_capacity(profile.stacks.len());
    // A location that is an innermost frame, or calls one more unnamed frame, is no start.
    let (mut starts, mut others) = (FxHashSet::default(), FxHashSet::default());
    for stack in profile.stacks.iter() {
        let parent = stack.parent.map(|id| (id, rows[id.index()]));
        let below = parent.map_or(Row::Start(0), |(_, row)| row);
        let row = match (below, locations[stack.location.index()]) {
            (Row::Start(count), Some(true)) => Row::Start(count),
            (Row::Start(count), Some(false)) if count < MOST => Row::Start(count + 1),
            _ => Row::Other,
        };
        let is_unnamed = locations[stack.location.index()] == Some(false);
        if row == Row::Other {
            if is_unnamed {
                others.insert(stack.location);
            } else if let (Row::Start(1..), Some((parent, _))) = (below, parent) {
                starts.insert(parent);
            }
        }
        rows.push(row);
    }
    let mut found = FxHashSet::default();
    for start in starts {
        let mut next = Some(start);
        while let Some(id) = next {
            let stack = profile.stacks.get(id);
            if locations[stack.location.index()] == Some(false) {
                found.insert(stack.location);
            }
            next = stack.parent;
        }
    }
    found.retain(|location| !others.contains(location));
    found
}

/// Whether a location starts programs or threads: certainly, by its name (`true`), or perhaps, as a
/// nameless location of the C library (`false`). `None`: it does not.
fn is_named_start(profile: &Profile, id: LocationId) -> Option<bool> {
    let location = profile.locations.get(id);
    if !matches!(location.kind, LocationKind::Code(_)) {
        return None;
    }
    let mut names = location
        .frames
        .iter()
        .map(|&frame| profile.frames.get(frame).function)
        .filter(|&name| name != StringId(0))
        .map(|name| profile.strings.get(name))
        .filter(|name| !plumbing::is_start(name));
    if let Some(name) = names.next_back() {
        return plumbing::is_start_up(name).then_some(true);
    }
    let module = profile.modules.get(location.module?);
    let path = profile.strings.get(module.path);
    let file = path.rsplit('/').next().unwrap_or(path);
    let is_library = ["libc.", "libc-", "libpthread", "ld-musl"]
        .iter()
        .any(|name| file.starts_with(name));
    (module.role == Role::System && is_library).then_some(false)
}
