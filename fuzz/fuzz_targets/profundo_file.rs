//! Any bytes, as a saved file: what is read can be written and comes back the same.
//!
//! A checksum would keep a fuzzer at the gate for ever, so the checksums are mended first.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    mend(&mut bytes);
    let Ok((profile, _)) = profundo_formats::read(&bytes) else {
        return;
    };
    let mut file = Vec::new();
    profundo_formats::write(&profile, &mut file).expect("what was read can be written");
    let (again, warnings) = profundo_formats::read(&file).expect("what was written can be read");
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(again.samples == profile.samples);
    assert!(again.stacks.iter().eq(profile.stacks.iter()));
});

fn mend(bytes: &mut [u8]) {
    let mut at = 16;
    while let Some(head) = bytes.get(at..at + 20) {
        let stored = u32::from_le_bytes([head[12], head[13], head[14], head[15]]) as usize;
        let Some(end) = (at + 20)
            .checked_add(stored)
            .filter(|&end| end <= bytes.len())
        else {
            return;
        };
        let mut sum = crc32fast::Hasher::new();
        sum.update(&bytes[at..at + 16]);
        sum.update(&bytes[at + 20..end]);
        bytes[at + 16..at + 20].copy_from_slice(&sum.finalize().to_le_bytes());
        at = end;
    }
}
