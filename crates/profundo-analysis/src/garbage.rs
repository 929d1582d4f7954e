//! How much of the time went into collecting garbage.

use profundo_model::{LocationKind, Profile, Reason};

use crate::Selection;

/// What the samples stand for that were taken while an interpreter collected garbage. What finalizers did in Python
/// meanwhile is not in it.
pub fn garbage(profile: &Profile, selection: &Selection) -> u64 {
    let is_mark = |kind| kind == LocationKind::Reason(Reason::Collecting);
    let mark = profile.locations.iter().find(|(_, it)| is_mark(it.kind));
    let Some((mark, _)) = mark else {
        return 0;
    };
    // A stack's parent stands before it.
    let mut collects: Vec<bool> = Vec::with_capacity(profile.stacks.len());
    for stack in profile.stacks.iter() {
        let below = stack
            .parent
            .is_some_and(|parent| collects.get(parent.index()) == Some(&true));
        collects.push(below || stack.location == mark);
    }
    let stacks = selection.stacks(profile).iter();
    stacks
        .filter(|it| collects.get(it.stack.index()) == Some(&true))
        .map(|it| it.weight)
        .sum()
}
