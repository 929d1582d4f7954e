//! Any bytes, as the objects of a program.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| profundo_fuzzing::graph_items(bytes));
