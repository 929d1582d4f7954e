//! Any bytes, as an unwind section.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| profundo_fuzzing::eh_frame(bytes));
