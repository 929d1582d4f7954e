//! Files of other tools.

use profundo_analysis::{Filter, Selection};
use profundo_import::{Imported, Reader, read, read_as, read_beside};

/// Any file of another tool's: the profile can be saved, and comes back the same.
pub fn import(bytes: &[u8]) {
    if let Ok(imported) = read(bytes, &Default::default()) {
        check(&imported, bytes);
    }
}

/// The same, by this reader, whatever the first bytes are.
pub fn import_as(reader: Reader, bytes: &[u8]) {
    if let Some(imported) = read_as(reader, bytes) {
        check(&imported, bytes);
    }
    read_beside(reader, bytes);
}

/// Checks what was read of these bytes.
fn check(imported: &Imported, bytes: &[u8]) {
    let profile = &imported.profile;
    assert!(profile.samples.is_sorted_by_key(|sample| sample.time));
    let many = profile.gathered.rows.len();
    assert!(many == 0 || many == profile.samples.len());
    let all = Selection::new(profile, &Filter::default());
    let _ = all.weight(profile);
    for site in &profile.heap.sites {
        assert!(site.stack.index() < profile.stacks.len());
        assert!(site.process.index() < profile.processes.len());
    }
    // Saving compresses, which takes longer than to read a small input.
    if !is_one_in(16, bytes) {
        return;
    }
    let mut file = Vec::new();
    profundo_formats::write(profile, &mut file).expect("what was read can be saved");
    let (again, warnings) = profundo_formats::read(&file).expect("what was saved can be read");
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(again.samples == profile.samples);
    assert!(again.heap.sites == profile.heap.sites);
    assert!(again.traced == profile.traced);
}

/// Whether an input is among one in `many`, always the same.
pub(crate) fn is_one_in(many: u64, bytes: &[u8]) -> bool {
    // FNV-1a
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix);
    (hash >> 32).is_multiple_of(many)
}
