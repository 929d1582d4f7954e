//! Any bytes, as gcc's notes on coverage.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| profundo_fuzzing::gcc_notes(bytes));
