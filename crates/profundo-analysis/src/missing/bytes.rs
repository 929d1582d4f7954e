//! Bytes without a line: allocated ones, and those read and written.

use profundo_model::{LocationKind, Profile, Reason, Sampling, StackId};

use super::{Cause, Missing, Whole, add, sort};
use crate::heap::{allocated_at, has_allocations};
use crate::{Filter, Selection, Shown, io};

/// The missing part of the allocated bytes: there is no function at all on their stack, or they
/// were not recorded. `None` where allocations were not recorded.
pub(super) fn allocated(profile: &Profile) -> Option<Missing> {
    if !has_allocations(profile) {
        return None;
    }
    let (mut used, mut records) = (0_u64, 0_u64);
    let mut causes = Vec::new();
    for (stack, amount) in allocated_at(profile) {
        used = used.saturating_add(amount.bytes);
        records = records.saturating_add(amount.count);
        if let Some(reason) = why_nameless(profile, stack) {
            add(&mut causes, Cause::Row(reason), amount.bytes);
        }
    }
    let each = match profile.heap.sampling {
        Sampling::Bytes(mean) => mean,
        _ => used / records.max(1),
    };
    let not_recorded = not_recorded(profile).saturating_mul(each);
    add(&mut causes, Cause::NotRecorded, not_recorded);
    sort(&mut causes);
    Some(Missing {
        of: Whole::Allocated,
        used: used.saturating_add(not_recorded),
        causes,
    })
}

/// The reason why a stack has no function at all, if it has none.
fn why_nameless(profile: &Profile, stack: StackId) -> Option<Reason> {
    let mut why = None;
    for location in profile.stacks.locations(stack) {
        match profile.locations.get(location).kind {
            LocationKind::Reason(reason) => why = why.or(Some(reason)),
            _ => return None,
        }
    }
    why
}

/// The number of allocations that were not recorded, from the recorder's notes.
fn not_recorded(profile: &Profile) -> u64 {
    const NOTES: [&str; 2] = [
        "allocations or copies were to be recorded and were not",
        "allocations or their ends were counted in no stack",
    ];
    let notes = profile.meta.notes.iter();
    let numbers = notes.filter_map(|note| {
        let (number, text) = note.split_once(' ')?;
        let is_it = NOTES.iter().any(|start| text.starts_with(start));
        number.parse::<u64>().ok().filter(|_| is_it)
    });
    numbers.fold(0, u64::saturating_add)
}

/// The missing part of the bytes read and written: no sample was near, or there is no line on its
/// stack. `None` where they were not counted.
pub(super) fn traffic(profile: &Profile) -> Option<Missing> {
    if profile.traffic.is_empty() {
        return None;
    }
    let filter = Filter::default();
    let all = Selection::new(profile, &filter);
    let found = io(profile, &all, &filter, Shown::default());
    let of = |amount: &crate::IoAmount| amount.read.saturating_add(amount.written);
    let mut causes = Vec::new();
    add(&mut causes, Cause::NoSampleNear, of(&found.unseen));
    for row in found.lines.iter().filter(|row| row.of.is_none()) {
        add(&mut causes, Cause::NoLine, of(&row.amount));
    }
    sort(&mut causes);
    Some(Missing {
        of: Whole::Traffic,
        used: of(&found.total),
        causes,
    })
}
