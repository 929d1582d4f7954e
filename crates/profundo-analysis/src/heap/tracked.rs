//! The allocated bytes of each line of source: each allocation counts for the innermost line on its
//! stack among those that are looked at.

use std::collections::BTreeMap;

use profundo_model::{
    Amount, FileId, FrameId, Language, LocationKind, ProcessId, Profile, Reason, StackId,
};
use rustc_hash::FxHashMap;

use super::entries::{What, entries};
use crate::Place;

/// The allocations of one file's lines in one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracked {
    /// The process.
    pub process: ProcessId,
    /// The file.
    pub file: FileId,
    /// True for a Python file.
    pub is_python: bool,
    /// Bytes by line.
    pub lines: BTreeMap<u32, u64>,
    /// Bytes that the process has allocated at unknown lines, because frames of their stacks were
    /// not kept. Any line may have some of them.
    pub unknown: u64,
}

/// The allocations of the lines of all files that `is_meant` accepts. A file that ran and allocated
/// nothing is there without lines.
pub fn allocated_by_source(profile: &Profile, is_meant: impl Fn(FrameId) -> bool) -> Vec<Tracked> {
    let frames = profile.frames.iter().enumerate();
    let is_meant: Vec<bool> = frames
        .map(|(index, frame)| {
            frame.line > 0
                && frame.file != FileId(0)
                && !matches!(frame.language, Language::Synthetic | Language::Runtime)
                && is_meant(FrameId::from_index(index))
        })
        .collect();
    let mut found: BTreeMap<(ProcessId, FileId), Tracked> = BTreeMap::new();
    let mut add = |process: ProcessId, frame: FrameId, bytes: Option<u64>| {
        let row = profile.frames.get(frame);
        let tracked = found.entry((process, row.file)).or_insert_with(|| Tracked {
            process,
            file: row.file,
            is_python: row.language == Language::Python,
            lines: BTreeMap::new(),
            unknown: 0,
        });
        if let Some(bytes) = bytes {
            let sum = tracked.lines.entry(row.line).or_default();
            *sum = sum.saturating_add(bytes);
        }
    };
    let mut known: FxHashMap<StackId, Vec<FrameId>> = FxHashMap::default();
    let mut of = |stack: StackId| {
        let frames = || meant(profile, stack, &is_meant);
        known.entry(stack).or_insert_with(frames).clone()
    };
    let mut unknown: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for entry in entries(profile) {
        let bytes = match entry.what {
            What::Block(block) => {
                let weight = profile.heap.sampling.weight_of(block);
                (weight * block.size as f64).round() as u64
            }
            What::Site(site, _) => site.allocated.bytes,
        };
        let frames = of(entry.stack);
        if frames.is_empty() && is_cut(profile, entry.stack) {
            let sum = unknown.entry(entry.process).or_default();
            *sum = sum.saturating_add(bytes);
        }
        for (depth, frame) in frames.into_iter().enumerate() {
            add(entry.process, frame, (depth == 0).then_some(bytes));
        }
    }
    for sample in &profile.samples {
        let process = profile.threads.get(sample.thread).process;
        for frame in of(sample.stack) {
            add(process, frame, None);
        }
    }
    let mut found: Vec<Tracked> = found.into_values().collect();
    for tracked in &mut found {
        tracked.unknown = unknown.get(&tracked.process).copied().unwrap_or(0);
    }
    found
}

/// The allocations at stacks with missing frames, for want of room, as far as they were counted by
/// stack.
pub fn unattributed(profile: &Profile) -> Amount {
    let sites = profile.heap.sites.iter();
    let cut = sites.filter(|site| has_reason(profile, site.stack, &[Reason::NotKept]));
    cut.fold(Amount::default(), |mut sum, site| {
        sum += site.allocated;
        sum
    })
}

/// Whether frames of a stack were not kept.
fn is_cut(profile: &Profile, stack: StackId) -> bool {
    let reasons = [
        Reason::NotKept,
        Reason::Truncated,
        Reason::PythonTruncated,
        Reason::PythonUnnamed,
    ];
    has_reason(profile, stack, &reasons)
}

fn has_reason(profile: &Profile, stack: StackId, reasons: &[Reason]) -> bool {
    let mut locations = profile.stacks.locations(stack);
    locations.any(|location| match profile.locations.get(location).kind {
        LocationKind::Reason(reason) => reasons.contains(&reason),
        _ => false,
    })
}

/// The accepted frames of a stack, the innermost first.
fn meant(profile: &Profile, stack: StackId, is_meant: &[bool]) -> Vec<FrameId> {
    let mut frames = Vec::new();
    for location in profile.stacks.locations(stack) {
        for place in crate::place::places(profile, location).rev() {
            if let Place::Frame(frame) = place
                && is_meant[frame.index()]
            {
                frames.push(frame);
            }
        }
    }
    frames
}
