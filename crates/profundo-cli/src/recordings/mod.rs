//! Recordings without a name from the user: their folder, their names, how a command finds one, and
//! how many stay.
//!
//! A recording goes into the nearest folder `.profundo`, like the history of a project that git
//! keeps. So `profundo report` finds what `profundo run` has made, from anywhere in the project.

mod destination;
mod folder;
mod keep;
mod meant;
mod name;

pub use destination::Destination;
pub use folder::{ENDING, Folder};
pub use keep::Keep;
pub use meant::{Other, is_meant_as_file, meant, newest_first, newest_with};
