//! From a profile to the same profile with other stacks.

use profundo_model::{Ends, FrameKey, Kinds, Language, LocationKind, Profile, StackId, StackTable};
use rustc_hash::FxHashSet;

use super::names::{By, matching_frames};
use super::rows::Rows;
use super::{Operation, Transforms, calls, kinds, passes};
use crate::{Expression, Filter, admit};

/// The frame of time whose frames were all taken away, and the number of its location.
const HIDDEN: (&str, u64) = ("[hidden]", (1 << 62) | 1);
/// The frame of samples that are left out.
const LEFT_OUT: (&str, u64) = ("[left out]", (1 << 62) | 2);

/// Whether [`transform`] would change a profile.
pub fn transforms(profile: &Profile, filter: &Filter) -> bool {
    // The totals of counted calls hold the time of what is ignored.
    let ignores_calls = !filter.ignore.is_empty() && !profile.traced.calls.is_empty();
    filter.transformed.is_none() && (!filter.transforms.is_empty() || ignores_calls)
}

/// Applies the transforms of `filter` to a profile that has its names. The filter that is returned
/// is the one for the profile as it is then: it passes the samples that were chosen by their stacks
/// as recorded, and says what was applied.
pub fn transform(profile: &mut Profile, filter: &Filter) -> Filter {
    if !transforms(profile, filter) {
        return filter.clone();
    }
    let before = kinds_of(profile);
    let passing = admit::stacks(profile, filter);
    let mut rows = Rows::new(profile);
    if let Some(passing) = passing {
        for (end, passes) in rows.ends.iter_mut().zip(passing) {
            end.is_dropped = !passes;
        }
    }
    passes::apply(&mut rows, profile, &filter.transforms);
    let Rows { table, ends } = rows;
    let recorded = std::mem::replace(&mut profile.stacks, table);
    let hidden = synthetic(profile, HIDDEN);
    let left_out = synthetic(profile, LEFT_OUT);
    let mut stacks: Vec<StackId> = (ends.iter())
        .map(|end| match end.is_dropped {
            true => left_out,
            false => end.stack.unwrap_or(hidden),
        })
        .collect();
    let sampled: FxHashSet<StackId> = used(profile).collect();
    let mut sampled: Vec<(StackId, StackId)> = (sampled.into_iter())
        .map(|stack| (stack, stacks[stack.index()]))
        .filter(|&(_, left)| left != left_out)
        .collect();
    sampled.sort_unstable();
    kinds::keep(profile, &before, &mut sampled);
    for (recorded, left) in sampled {
        stacks[recorded.index()] = left;
    }
    calls::rewrite(profile, &recorded, &ends, &stacks);
    move_all(profile, &recorded, &stacks);
    keep_lines(profile, &filter.transforms);
    Filter {
        transformed: Some(left_out),
        ..filter.clone()
    }
}

/// By stack.
fn kinds_of(profile: &Profile) -> Vec<Ends> {
    let kinds = Kinds::of(profile);
    let stacks = (0..profile.stacks.len()).map(StackId::from_index);
    stacks.map(|stack| kinds.ends(stack)).collect()
}

/// The stacks of everything whose time or bytes a report may split by kind.
fn used(profile: &Profile) -> impl Iterator<Item = StackId> + '_ {
    let heap = &profile.heap;
    let samples = profile.samples.iter().map(|sample| sample.stack);
    let blocks = heap.blocks.iter().map(|block| block.stack);
    let copies = heap.copies.iter().map(|copied| copied.stack);
    let sites = heap.sites.iter().map(|site| site.stack);
    // A call and the sample of its own time have one stack.
    let calls = profile.traced.calls.iter().map(|call| call.stack);
    samples
        .chain(blocks)
        .chain(copies)
        .chain(sites)
        .chain(calls)
}

/// A stack of one frame that stands for no function.
fn synthetic(profile: &mut Profile, (name, number): (&str, u64)) -> StackId {
    let frame = profile.frame(FrameKey {
        function: name,
        language: Language::Synthetic,
        ..FrameKey::default()
    });
    let kind = LocationKind::Invented(number);
    let location = profile.locations.intern(kind, None);
    profile.locations.set_frames(location, &[frame]);
    profile.stacks.intern(None, location)
}

/// Gives everything that has a stack the one that is left.
fn move_all(profile: &mut Profile, recorded: &StackTable, stacks: &[StackId]) {
    let to = |stack: &mut StackId| *stack = stacks[stack.index()];
    profile
        .samples
        .iter_mut()
        .for_each(|sample| to(&mut sample.stack));
    let heap = &mut profile.heap;
    heap.blocks
        .iter_mut()
        .for_each(|block| to(&mut block.stack));
    heap.copies
        .iter_mut()
        .for_each(|copied| to(&mut copied.stack));
    heap.sites.iter_mut().for_each(|site| to(&mut site.stack));
    let Some(settled) = &mut profile.meta.settled else {
        return;
    };
    for counted in [&mut settled.too_short, &mut settled.not_sampled] {
        // Where it was left out, its stack is that of others as well.
        let is_as_recorded = |stack: &StackId| {
            let before = recorded.get(*stack).location;
            profile.stacks.get(stacks[stack.index()]).location == before
        };
        *counted = counted
            .filter(is_as_recorded)
            .map(|stack| stacks[stack.index()]);
    }
}

/// Counted lines and exceptions have no stack: those of functions that were taken away are left
/// out.
fn keep_lines(profile: &mut Profile, transforms: &Transforms) {
    if profile.traced.lines.is_empty() && profile.traced.exceptions.is_empty() {
        return;
    }
    let mut stays = vec![true; profile.frames.len()];
    let mut only = |expressions: &[Expression], by: By, is_meant: bool| {
        if !expressions.is_empty() {
            let matching = matching_frames(profile, expressions, by);
            for (stays, matches) in stays.iter_mut().zip(matching) {
                *stays &= matches == is_meant;
            }
        }
    };
    only(&transforms.hide, By::Any, false);
    only(&transforms.show, By::Any, true);
    only(&transforms.show_from, By::Any, true);
    for step in &transforms.steps {
        let (by, is_meant) = match step.operation {
            Operation::MergeFunction | Operation::DropFunction => (By::Function, false),
            Operation::MergeFile | Operation::DropFile => (By::File, false),
            Operation::MergeLibrary | Operation::DropLibrary => (By::Library, false),
            Operation::FocusFunction => (By::Function, true),
            _ => continue,
        };
        only(step.expression.as_slice(), by, is_meant);
    }
    (profile.traced.lines).retain(|line| stays[line.frame.index()]);
    (profile.traced.exceptions).retain(|row| stays[row.raised.index()]);
}
