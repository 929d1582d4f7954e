//! The profiles of a fleet as Parquet: segments written whole or not at all, scanned by service and
//! time.
//!
//! A [`Writer`] makes a [`Segment`] of a stretch of a profile, a few files, which a store takes as
//! they are. [`join()`] joins the files of an hour. A [`Query`] gives back a profile that every
//! report takes.
//!
//! It is no database and no server: files lie in a folder or an object store, and other tools read
//! them too. `docs/fleet.md` is the contract with them.
//!
//! Constraints: no clock (the caller says what time it is), no unsafe code, and no trust in what a
//! store contains.

#![forbid(unsafe_code)]

#[cfg(feature = "s3")]
pub mod cluster;
mod error;
mod file;
pub mod ids;
mod join;
pub mod names;
mod order;
mod query;
mod retention;
mod scan;
mod spool;
mod store;
pub mod table;
mod texts;
mod writer;

pub use error::Error;
pub use file::{Column, Group, Opened, Put, encode};
pub use join::{Joined, Joining, join, sweep};
pub use query::{By, Condition, Query};
pub use retention::{Limits, Removed, retain};
pub use scan::{
    Alike, Amount, Gathering, Here, Part, Readable, Summing, Sums, Totals, Work, answer, answer_by,
    totals,
};
pub use scan::{Contents, Present, hours, present, services, values};
pub use spool::{Dropped, Sent, Spool};
#[cfg(feature = "s3")]
pub use store::S3;
pub use store::{Entry, Folder, Store, open};
pub use texts::{Text, Texts};
pub use writer::{Batch, BatchPart, BatchSample, Frame, Thread};
pub use writer::{File, Identity, Segment, Stretch, Writer};
