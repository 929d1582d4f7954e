//! Any bytes, as a heap snapshot.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| profundo_fuzzing::heapsnapshot(bytes));
