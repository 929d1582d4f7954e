//! The saved file from outside: a written profile is read again, with all kinds of damage on the
//! way.

mod damage;
mod disk;
mod document;
mod dump;
mod golden;
mod hostile;
mod made;
mod raw;
mod round_trip;
mod small;
mod snapshot;
mod stream;

use profundo_model::Profile;

/// The bytes of a profile.
fn write(profile: &Profile) -> Vec<u8> {
    let mut file = Vec::new();
    profundo_formats::write(profile, &mut file).unwrap();
    file
}
