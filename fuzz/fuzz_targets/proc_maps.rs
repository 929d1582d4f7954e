//! Any bytes, as `/proc/PID/maps`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| profundo_fuzzing::proc_maps(bytes));
