//! Any bytes, as records of the shared memory.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| profundo_fuzzing::wire_records(bytes));
