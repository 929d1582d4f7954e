//! Austin's samples: a text with a stack a line (versions 1 to 3), and the binary form MOJO of the
//! same (versions 3 and 4).
//!
//! A sample has the time since the thread's previous one, or the growth of the resident memory
//! since then, or both. Its place in time is the sum of the times before it.

mod frame;
mod mojo;
mod samples;
mod text;

pub(crate) use mojo::READER as MOJO;
pub(crate) use text::READER as TEXT;
