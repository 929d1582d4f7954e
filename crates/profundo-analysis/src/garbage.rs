//! The share of time for garbage collection.

use profundo_model::{LocationKind, Profile, Reason};

use crate::Selection;

/// The weight of samples taken while an interpreter collected garbage, without the Python code of
/// finalizers.
pub fn garbage(profile: &Profile, selection: &Selection) -> u64 {
    let Some(collects) = collecting(profile) else {
        return 0;
    };
    let stacks = selection.stacks(profile).iter();
    stacks
        .filter(|stack| collects.get(stack.stack.index()) == Some(&true))
        .map(|stack| stack.weight)
        .sum()
}

/// By stack, whether an interpreter collects garbage on it. `None`: on no stack.
pub(crate) fn collecting(profile: &Profile) -> Option<Vec<bool>> {
    let is_mark = |kind| kind == LocationKind::Reason(Reason::Collecting);
    let (mark, _) = profile
        .locations
        .iter()
        .find(|(_, location)| is_mark(location.kind))?;
    // A stack's parent stands before it.
    let mut collects: Vec<bool> = Vec::with_capacity(profile.stacks.len());
    for stack in profile.stacks.iter() {
        let below = stack
            .parent
            .is_some_and(|parent| collects.get(parent.index()) == Some(&true));
        collects.push(below || stack.location == mark);
    }
    Some(collects)
}
