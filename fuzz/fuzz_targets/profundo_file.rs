//! Any bytes, as a saved file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| profundo_fuzzing::profundo_file(bytes));
