//! The order of rows in a file: by service, and then so that neighbours are alike.

use rustc_hash::FxHashMap;

use crate::table::{FrameRow, LabelRow, SampleRow, SegmentRow, StackRow};
use crate::texts::{Text, Texts};

/// The ranks of the texts that rows have as services, in the order of their bytes.
fn ranks(services: impl Iterator<Item = Text>, texts: &Texts) -> FxHashMap<Text, usize> {
    let mut all: Vec<Text> = services.collect();
    all.sort_unstable();
    all.dedup();
    all.sort_by_key(|&text| texts.get(text));
    all.into_iter()
        .enumerate()
        .map(|(rank, text)| (text, rank))
        .collect()
}

/// Samples by service, time, type, thread and stack.
pub fn samples(rows: &mut [SampleRow], texts: &Texts) {
    let ranks = ranks(rows.iter().map(|row| row.service), texts);
    rows.sort_by_cached_key(|row| {
        let service = ranks.get(&row.service).copied();
        let (kind, state) = (texts.get(row.kind), texts.get(row.state));
        let rest = (
            texts.get(row.gil),
            texts.get(row.span),
            row.value,
            row.count,
            row.spread,
        );
        (service, row.ts, kind, row.series, row.stack, state, rest)
    });
}

/// Stacks by service and frames: those that begin alike are neighbours.
pub fn stacks(rows: &mut [StackRow], texts: &Texts) {
    let ranks = ranks(rows.iter().map(|row| row.service), texts);
    rows.sort_unstable_by(|one, other| {
        let key = |row: &StackRow| (ranks.get(&row.service).copied(), row.stack);
        let (one_key, other_key) = (key(one), key(other));
        (one_key.0.cmp(&other_key.0))
            .then_with(|| one.frames.cmp(&other.frames))
            .then(one_key.1.cmp(&other_key.1))
    });
}

/// Frames by service, file, line and function.
pub fn frames(rows: &mut [FrameRow], texts: &Texts) {
    let ranks = ranks(rows.iter().map(|row| row.service), texts);
    rows.sort_by_cached_key(|row| {
        let service = ranks.get(&row.service).copied();
        let (module, file) = (texts.get(row.module), texts.get(row.file));
        (
            service,
            module,
            file,
            texts.get(row.function),
            row.line,
            row.frame,
        )
    });
}

/// Series by service, host and process.
pub fn labels(rows: &mut [LabelRow], texts: &Texts) {
    let ranks = ranks(rows.iter().map(|row| row.service), texts);
    rows.sort_by_cached_key(|row| {
        let service = ranks.get(&row.service).copied();
        (service, texts.get(row.host), row.pid, row.tid, row.series)
    });
}

/// Segments by service and time.
pub fn segments(rows: &mut [SegmentRow], texts: &Texts) {
    let ranks = ranks(rows.iter().map(|row| row.service), texts);
    rows.sort_by_cached_key(|row| {
        let service = ranks.get(&row.service).copied();
        (service, row.starts, row.segment, texts.get(row.kind))
    });
}
