//! Any bytes, as a program's file with symbols.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| profundo_fuzzing::elf_symbols(bytes));
