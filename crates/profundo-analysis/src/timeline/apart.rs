//! The samples of a thread stand beside each other in time.
//!
//! A sample stands for the time before it. Its weight may reach back beyond the sample before: it
//! is scaled to the kernel's count, timers fire late, and several waits may be read at the end of
//! the last one. But a thread does one thing at a time, and a column must not have more than that.
//!
//! Times on a CPU are known best. From the last one back, each is moved before the start of the
//! next one. Where that leaves no room for the first ones, because samples have more time than
//! there was, all that stand back to back are pressed together alike. Waits then fill the time
//! between them that is free before their end. Weights stay, and so do all sums.

use super::times::Slot;

/// Sets the samples of a thread apart, which are in order, and stay so. None is before `first`,
/// unless waits have more time than is free since then: those stay where they are.
pub(super) fn set(slots: &mut Vec<Slot>, first: u64) {
    let overlap = |pair: &[Slot]| pair[1].start() < pair[0].end;
    if !slots.windows(2).any(overlap) {
        return;
    }
    let (mut busy, waits): (Vec<Slot>, Vec<Slot>) = slots.iter().partition(|slot| slot.is_busy());
    back_to_back(&mut busy, first);
    *slots = waits_between(&busy, &waits, first);
    slots.extend(busy);
    slots.sort_by_key(|slot| slot.end);
}

/// Moves each one before the start of the next.
fn back_to_back(slots: &mut [Slot], first: u64) {
    let mut next = u64::MAX;
    for at in (0..slots.len()).rev() {
        let slot = &mut slots[at];
        slot.end = slot.end.min(next);
        match slot.end.checked_sub(slot.weight()) {
            Some(start) if start >= first => next = start,
            _ => {
                press(slots, at, first);
                break;
            }
        }
    }
    slots.sort_by_key(|slot| slot.end);
}

/// Presses those up to `at`, and all that stand back to back behind it, into the time since
/// `first`.
fn press(slots: &mut [Slot], at: usize, first: u64) {
    let gap = |pair: &[Slot]| pair[0].end < pair[1].start();
    let behind = slots[at..].windows(2).position(gap);
    let run = behind.map_or(slots.len(), |gap| at + gap + 1);
    let run = &mut slots[..run];
    let room = run.last().map_or(0, |slot| slot.end.saturating_sub(first));
    let sum: u128 = run.iter().map(|slot| u128::from(slot.weight())).sum();
    let mut before = 0;
    for slot in run.iter_mut().filter(|_| sum > 0 && room > 0) {
        before += u128::from(slot.weight());
        slot.end = first + (before * u128::from(room) / sum) as u64;
    }
}

/// The waits in the time that is free, in parts where a time on a CPU is between.
fn waits_between(busy: &[Slot], waits: &[Slot], first: u64) -> Vec<Slot> {
    let mut parts = Vec::with_capacity(waits.len());
    // All behind this is taken; busy ones from this place on start behind it.
    let (mut free, mut later) = (u64::MAX, busy.len());
    for wait in waits.iter().rev() {
        let mut left = wait.weight();
        free = free.min(wait.end);
        while left > 0 && free > first {
            while later > 0 && busy[later - 1].start() >= free {
                later -= 1;
            }
            let before = later.checked_sub(1).map(|at| busy[at]);
            let from = before.map_or(first, |slot| slot.end);
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
