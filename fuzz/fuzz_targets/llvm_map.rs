//! Any bytes, as LLVM's coverage map.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| profundo_fuzzing::llvm_map(bytes));
