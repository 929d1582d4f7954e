//! The directory that a recorder shares with the programs it records: see
//! [`profundo_probe::shared`].

mod calls;
mod copies;
mod counted;
mod directory;
mod find;
mod remains;
mod rings;
mod salvage;
mod stacks;
mod stale;
mod sums;

pub(crate) use calls::take_calls;
pub(crate) use copies::{Noted, forget_copy, is_copy};
pub(crate) use directory::Directory;
pub(crate) use find::{Counted, find_counted, lacks_agent};
pub use find::{SessionHandle, find_session};
pub(crate) use remains::copies_with;
pub use remains::{Remains, find_remains};
pub(crate) use rings::{RingMap, Rings};
pub use salvage::salvage;
pub(crate) use sums::SumsMap;
