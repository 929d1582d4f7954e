//! What the reader says of whose code it is: kept in a recording, and added to what a recording says.

use profundo_model::Profile;

/// Adds patterns to those of a profile. They come last, so they decide.
pub fn add(profile: &mut Profile, mine: &[String]) {
    let known = &mut profile.meta.mine;
    if !known.ends_with(mine) {
        known.extend(mine.iter().cloned());
    }
}
