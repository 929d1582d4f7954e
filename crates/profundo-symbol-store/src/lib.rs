//! The symbols of programs beside the profiles of a fleet, by build id.
//!
//! Agents that sample from the kernel send the addresses of native code with the build ids of its
//! files, and no names. The files are put into the store once, by the build that made them, and
//! names are looked up when somebody asks: so symbols may come after the samples, and all
//! who can read the samples have the names too.
//!
//! ```text
//! symbols/0123456789abcdef0123456789abcdef01234567/api.gz
//! ```
//!
//! A file is a program, a library or a separate debug file as it is, gzipped. Of several of one
//! build id, the largest one is read. `docs/fleet.md` is the contract.
//!
//! Constraints: no trust in what a store contains. A file is used only if it has the build id that
//! it lies under.

#![forbid(unsafe_code)]

mod cache;
mod error;
mod files;
mod naming;

pub use cache::Cache;
pub use error::Error;
pub use files::{Added, File, add, list};
pub use naming::{Named, name};
