//! Any bytes, as a `.mem` file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| profundo_fuzzing::memory_counts(bytes));
