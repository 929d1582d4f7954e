//! The directory that a recorder shares with the programs it records: see
//! [`profundo_probe::shared`].

mod calls;
mod copies;
mod counted;
mod directory;
mod error;
mod files;
mod find;
mod keep;
mod remains;
mod rings;
mod salvage;
mod stacks;
mod stale;
mod sums;
mod within;

pub use calls::{take_calls, take_cut_calls};
pub use copies::{AnnouncedCopy, forget_copy, is_copy};
pub use directory::Directory;
pub use error::Error;
pub use find::{
    Counted, SessionHandle, find_counted, find_session, is_recorded_inside, is_recorded_within,
    lacks_agent,
};
pub use keep::{KeepRequest, NotKept};
pub use remains::{Remains, copies_with, find_remains};
pub use rings::{RingMap, Rings};
pub use salvage::salvage;
pub use sums::SumsMap;
