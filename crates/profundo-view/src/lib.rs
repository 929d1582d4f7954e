//! The page of a recording: `profundo view`.
//!
//! A page shows one or two recordings, heap snapshots, or both, and holds none of them. For what is
//! on the screen it asks a question, and gets an answer: a report as JSON, a picture cut to the
//! boxes that can be seen, the lines of a file. So a recording of any size can be looked at, and
//! every number on the page comes from `profundo-analysis`.
//!
//! ```text
//! page ──Question──▶ server ──▶ Library ──▶ answers ──▶ JSON
//!      ◀──────────────────────────────────────────────────
//! ```
//!
//! The same page is written as one file, for people who have no server ([`offline`]). It carries
//! the answers to the questions that a reader asks first.
//!
//! It is not for arithmetic: that is `profundo-analysis`'s. It does not read files of recordings
//! either: a [`Source`] does.
//!
//! Constraints: no unsafe code. The server serves loopback, the questions of its own page, and
//! nothing else: see [`server`].

#![forbid(unsafe_code)]

mod answers;
mod error;
mod library;
pub mod offline;
mod page;
mod pair;
mod question;
pub mod server;
mod snapshots;
mod source;

pub use error::Error;
pub use library::Library;
pub use question::Question;
pub use snapshots::Snapshot;
pub use source::{Source, Version};
