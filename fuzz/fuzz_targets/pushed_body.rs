//! Any bytes, as a body that another profiler pushes.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| profundo_fuzzing::pushed_body(bytes));
