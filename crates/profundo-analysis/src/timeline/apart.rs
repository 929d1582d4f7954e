//! The samples of a thread stand beside each other in time.
//!
//! A sample stands for the time before it. Its weight may reach back beyond the sample before: it
//! is scaled to the kernel's count, timers fire late, and the parts of a wait may all be read at its
//! end. But a thread does one thing at a time, so a column would have more than its time.
//!
//! From the last sample back, each one is moved before the start of the next one. Its weight stays,
//! and so do all sums.

use super::times::Slot;

/// Sets the samples of a thread apart, which are in order. If they have more time than there is
/// since the start of the recording, the first ones stay where they are.
pub(super) fn set(slots: &mut [Slot]) {
    let mut next = u64::MAX;
    for slot in slots.iter_mut().rev() {
        let end = slot.end.min(next);
        let Some(start) = end.checked_sub(slot.weight()) else {
            break;
        };
        (slot.end, next) = (end, start);
    }
    if !slots.is_sorted_by_key(|slot| slot.end) {
        slots.sort_by_key(|slot| slot.end);
    }
}
