//! Takes the profiles that other profilers push, and writes them into a store.
//!
//! ```text
//! OTLP (HTTP, gRPC) ─┐                                ┌▶ journal, before the answer
//! Pyroscope         ─┼▶ body ─▶ rows with ids ─▶ add ─┤
//! pprof             ─┘     (profundo-pushed)  (gather)└▶ rows of this segment
//!                                                         │ each 10 s
//!                                    store ◀─ spool ◀─────┘ (flush)
//! ```
//!
//! A body is decoded into rows of the store directly, by [`profundo_pushed`]. Before it is
//! answered, it stands in a journal, as it came. So what was answered survives the end of the
//! process, however it ends. It is there until its segment is in the spool, and a server that
//! starts reads what another one has left.
//!
//! It is **not** for files of other tools (`profundo-import`), and it names no addresses: that is
//! done when someone asks (`profundo-symbol-store`).
//!
//! Constraints: no trust in what arrives, no memory without a bound, and no unsafe code.

#![forbid(unsafe_code)]

mod counts;
mod error;
mod flush;
mod gather;
mod grpc;
mod journal;
mod limits;
mod server;

pub use counts::Counts;
pub use error::{Error, Refusal};
pub use limits::Limits;
pub use server::{Server, Settings};
