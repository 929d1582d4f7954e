//! Where recordings are kept that were given no name, how they are named, which of them is meant, and how many stay.
//!
//! A recording goes into the nearest folder `.profundo`, like the history of a project that git keeps. So `profundo
//! report` finds what `profundo run` has made, from anywhere in the project.

mod destination;
mod folder;
mod keep;
mod list;
mod meant;
mod name;

pub use destination::Destination;
pub use folder::Folder;
pub use keep::Keep;
pub use list::list;
pub use meant::{Other, is_meant_as_file, meant, newest_first, newest_with};
use name::{Reserved, reserve};

/// What the names of recordings end in.
pub const ENDING: &str = "profundo";
