//! The kind of a sample's time stays what it was with all frames: native time of a library stays
//! native where the library is taken away, and the library stays known.

use profundo_model::{Ends, Kinds, LocationId, LocationKind, Profile, StackId};
use rustc_hash::FxHashMap;

/// Gives each of these stacks an end that tells the kind. A row has the stack as recorded and the
/// one that is left, which is replaced.
pub(super) fn keep(profile: &mut Profile, before: &[Ends], stacks: &mut [(StackId, StackId)]) {
    let after = Kinds::of(profile);
    let mut places: FxHashMap<(LocationId, Ends), LocationId> = FxHashMap::default();
    for (recorded, left) in stacks {
        let ends = before[recorded.index()];
        if after.ends(*left) == ends {
            continue;
        }
        let row = profile.stacks.get(*left);
        let place = *(places.entry((row.location, ends)))
            .or_insert_with(|| ending(profile, row.location, ends));
        *left = profile.stacks.intern(row.parent, place);
    }
}

/// The same location, of which it is known what kind of time ends there.
fn ending(profile: &mut Profile, location: LocationId, ends: Ends) -> LocationId {
    let row = profile.locations.get(location);
    let (module, frames) = (row.module, row.frames.clone());
    let (of, frame) = match row.kind {
        LocationKind::Part { of, frame, .. } => (of, frame),
        _ => (location, 0),
    };
    let kind = LocationKind::Part {
        of,
        frame,
        ends: Some(ends),
    };
    let place = profile.locations.intern(kind, module);
    profile.locations.set_frames(place, &frames);
    place
}
