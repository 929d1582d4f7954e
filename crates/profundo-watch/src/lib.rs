//! Profiles without an end: the whole machine, some processes or a program, as long as they run,
//! into a store that many machines share.
//!
//! ```text
//! recorder ──events──▶ labels ──▶ pieces ──profile──▶ keeper ──▶ outlet ─┬▶ spool ──▶ store
//!  (recording)                  (profundo-save)       (names)            │    upkeep ───▲
//!                                                                        └▶ another program
//! ```
//!
//! The recorder never waits for the store: a piece is handed to another thread, and lies in a
//! folder of this machine until the store has it. What a process belongs to (its service, version,
//! container, pod) is read from its environment and its control group ([`labels`]).
//!
//! What this is not for: options and their texts, which the command has, and the layout of files,
//! which is in `profundo-store`.

#![forbid(unsafe_code)]

mod keeper;
pub mod labels;
mod outlet;
mod recording;
mod settings;
mod spool_folder;
mod upkeep;

pub use recording::watch;
pub use settings::{Settings, Target};
