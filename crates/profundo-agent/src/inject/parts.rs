//! The parts of the agent that begin and end in an interpreter which runs already: with its lock
//! held, so that no other thread is in what they replace.
//!
//! A new part gets a row in [`PARTS`], and a bit in [`profundo_probe::shared::part`].

use core::ffi::c_int;

use profundo_probe::shared::part;

use crate::{calls, memory, spans};

/// A part. Both functions return 0, an error number of the system as a negative number, or a
/// [`refusal`](profundo_probe::shared::refusal).
struct Part {
    bit: u32,
    begin: fn() -> c_int,
    /// An answer above 0: that many things of ours stay, and only pass calls on.
    end: fn() -> c_int,
}

static PARTS: [Part; 3] = [
    Part {
        bit: part::MEMORY,
        begin: memory::begin_inside,
        end: memory::end_inside,
    },
    Part {
        bit: part::CALLS,
        begin: calls::begin_late,
        end: calls::end_late,
    },
    Part {
        bit: part::SPANS,
        begin: spans::begin_inside,
        // The package keeps our functions, which do nothing while nothing records.
        end: || 0,
    },
];

/// The parts of these bits begin. Returns the first refusal; the others have begun.
pub fn begin(bits: u32) -> c_int {
    wanted(bits, |part| (part.begin)())
}

/// The parts of these bits end. Returns the first refusal, or the number of things that stay.
pub fn end(bits: u32) -> c_int {
    wanted(bits, |part| (part.end)())
}

fn wanted(bits: u32, mut act: impl FnMut(&Part) -> c_int) -> c_int {
    let (mut refused, mut stay) = (0, 0);
    for part in PARTS.iter().filter(|part| bits & part.bit != 0) {
        match act(part) {
            answer if answer >= 0 => stay += answer,
            why if refused == 0 => refused = why,
            _ => {}
        }
    }
    if refused != 0 { refused } else { stay }
}
