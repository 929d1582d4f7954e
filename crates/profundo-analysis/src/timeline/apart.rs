//! The samples of a thread stand beside each other in time.
//!
//! A sample stands for the time before it. Its weight may reach back beyond the sample before: it
//! is scaled to the kernel's count, timers fire late, and several waits may be read at the end of
//! the last one. But a thread does one thing at a time, and a column must not have more than that.
//!
//! Times on a CPU are known best. From the last one back, each is moved before the start of the
//! next one. Waits then fill the time between them that is free before their end. Weights stay, and
//! so do all sums.

use super::times::Slot;

/// Sets the samples of a thread apart, which are in order, and stay so. What has more time than is
/// free since the start of the recording stays where it is.
pub(super) fn set(slots: &mut Vec<Slot>) {
    let overlap = |pair: &[Slot]| pair[1].start() < pair[0].end;
    if !slots.windows(2).any(overlap) {
        return;
    }
    let (mut busy, waits): (Vec<Slot>, Vec<Slot>) = slots.iter().partition(|slot| slot.is_busy());
    back_to_back(&mut busy);
    *slots = waits_between(&busy, &waits);
    slots.extend(busy);
    slots.sort_by_key(|slot| slot.end);
}

/// Moves each one before the start of the next.
fn back_to_back(slots: &mut [Slot]) {
    let mut next = u64::MAX;
    for slot in slots.iter_mut().rev() {
        let end = slot.end.min(next);
        let Some(start) = end.checked_sub(slot.weight()) else {
            break;
        };
        (slot.end, next) = (end, start);
    }
    slots.sort_by_key(|slot| slot.end);
}

/// The waits in the time that is free, in parts where a time on a CPU is between.
fn waits_between(busy: &[Slot], waits: &[Slot]) -> Vec<Slot> {
    let mut parts = Vec::with_capacity(waits.len());
    // All behind this is taken; busy ones from this place on start behind it.
    let (mut free, mut later) = (u64::MAX, busy.len());
    for wait in waits.iter().rev() {
        let mut left = wait.weight();
        free = free.min(wait.end);
        while left > 0 && free > 0 {
            while later > 0 && busy[later - 1].start() >= free {
                later -= 1;
            }
            let before = later.checked_sub(1).map(|at| busy[at]);
            let from = before.map_or(0, |slot| slot.end);
            if let Some(slot) = before
                && from >= free
            {
                free = slot.start();
                continue;
            }
            let part = left.min(free - from);
            parts.push(wait.part(free, part));
            (left, free) = (left - part, free - part);
        }
        if left > 0 {
            parts.push(wait.part(wait.end, left));
        }
    }
    parts
}
