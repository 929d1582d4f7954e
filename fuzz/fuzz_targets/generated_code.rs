//! Any bytes, as each of the formats in which programs publish their generated code.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| profundo_fuzzing::generated_code(bytes));
