//! Which function and which line of one side is which of the other.

mod functions;
mod lines;
mod moved;

pub(super) use functions::{Matching, Pairing};
pub(super) use lines::LineMap;
