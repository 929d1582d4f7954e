//! Any bytes, as a line table of CPython's.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| profundo_fuzzing::line_table(bytes));
