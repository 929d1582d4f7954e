//! Sends profiles to what people have: OpenTelemetry's collectors, Pyroscope, whatever takes pprof,
//! and stores of our own.
//!
//! [`Destination::parse`] reads an address, and a [`Pusher`] sends profiles there, one after
//! another, over a connection that it keeps:
//!
//! | address | what is sent |
//! |---|---|
//! | `otlp://HOST[:4318]`, `otlps://` | OTLP profiles over HTTP, protocol 1.10, gzipped |
//! | `pyroscope://HOST[:4040]`, `pyroscopes://` | pprof, to `/ingest` |
//! | `http://…`, `https://…` | pprof, to this very address |
//! | `s3://BUCKET/PREFIX`, a folder | a segment of a store |
//!
//! It is **not** for what must arrive in the end: a caller that has such profiles keeps them, and
//! sends them again where [`Error::is_passing`] says that this makes sense.
//!
//! Constraints: a call takes no longer than [`Settings::patience`], whatever the other side does;
//! only a store takes the time of its own requests.

#![forbid(unsafe_code)]

mod destination;
mod error;
mod pusher;

pub use destination::Destination;
pub use error::Error;
pub use pusher::{Pusher, Settings};
