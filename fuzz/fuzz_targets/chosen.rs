//! Any bytes, for the target that the variable `PROFUNDO_TARGET` names: `cargo xtask fuzz` runs it.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| profundo_fuzzing::chosen(bytes));
