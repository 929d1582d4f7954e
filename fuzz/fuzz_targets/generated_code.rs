//! Any bytes, as each of the things that programs tell of their generated code.

#![no_main]

use libfuzzer_sys::fuzz_target;
use profundo_jit::{At, JitDump, PerfMap, object_code};

fuzz_target!(|bytes: &[u8]| {
    let mut out = Vec::new();
    let (mut map, middle) = (PerfMap::default(), bytes.len() / 2);
    map.feed(&bytes[..middle], At::Always, &mut out);
    map.feed(&bytes[middle..], At::Always, &mut out);
    map.finish(At::Always, &mut out);
    let mut dump = JitDump::default();
    while dump.read(bytes, 64, &mut out) {}
    dump.finish(bytes, &mut out);
    let _ = object_code(bytes);
});
