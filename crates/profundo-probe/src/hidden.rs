//! The signals that a program blocks, where the kernel's mask has fewer.
//!
//! A thread that blocks our signals cannot be sampled, and a program that blocks *all* signals does
//! not mean ours. So a mask of nearly all signals is set without ours, and the program's mask is
//! written down here. From then on the kernel's own mask is the key: it goes where the program's
//! goes (through `fork`, new threads, `siglongjmp`, contexts, the end of a handler), and the mask
//! that the program has asked for is found by it. Nothing has to be kept for each thread.
//!
//! A program that names one of our signals in a smaller set uses it itself. Then it is hidden no
//! longer, our clocks change to another one, and the kernel's mask is the program's.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::actions::believed;
pub use crate::actions::{ALL, ASKED, bit};

/// Bits that no mask of a program's has: the kernel takes SIGKILL and SIGSTOP out of it, the C
/// library those that it uses itself. They mark the members of [`ALL`] that were hidden when a mask
/// was written down.
const SPARE: [u64; 3] = [bit(libc::SIGKILL), bit(libc::SIGSTOP), bit(32)];
const NEVER: u64 = SPARE[0] | SPARE[1] | SPARE[2] | bit(33);

/// A mask that blocks everything has nearly all of these. Faults are often left out, and the
/// signals above are not counted.
const USUAL: u64 = {
    let mut faults = bit(libc::SIGILL) | bit(libc::SIGTRAP) | bit(libc::SIGABRT);
    faults |= bit(libc::SIGBUS) | bit(libc::SIGFPE) | bit(libc::SIGSEGV) | bit(libc::SIGSYS);
    let ours = bit(ASKED[0]) | bit(ASKED[1]);
    0x7FFF_FFFF & !(NEVER | faults | ours)
};

/// The signals hidden at present.
static HIDDEN: AtomicU64 = AtomicU64::new(0);

/// A program has few different masks. 0 is none.
const MASKS: usize = MASKS_KNOWN;
/// The most masks that are written down.
pub const MASKS_KNOWN: usize = 16;
static WANTED: [AtomicU64; MASKS] = [const { AtomicU64::new(0) }; MASKS];
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Signals that no mask of nearly all signals blocks.
pub fn hidden() -> u64 {
    HIDDEN.load(Ordering::Relaxed)
}

/// The signals that a program used already when the agent came.
static USED: AtomicU64 = AtomicU64::new(0);

/// Notes the signals that the program uses already: they are never hidden.
pub fn note_used(signals: u64) {
    USED.store(signals, Ordering::Relaxed);
}

/// Hides these from now on, but for those that the program used already.
pub fn hide(signals: u64) {
    HIDDEN.fetch_or(signals & !USED.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Hides these no longer. Returns those of them that were hidden.
pub fn reveal(signals: u64) -> u64 {
    HIDDEN.fetch_and(!signals, Ordering::Relaxed) & signals
}

/// Whether a mask blocks nearly all signals.
pub fn is_full(mask: u64) -> bool {
    const MOST_OPEN: u32 = 5;
    (USUAL & !mask).count_ones() <= MOST_OPEN
}

/// A mask that a program has set, and our signals that were left out of the kernel's mask.
#[derive(Clone, Copy)]
struct Wanted(u64);

impl Wanted {
    fn new(mask: u64, hidden: u64) -> Self {
        let mut word = mask & !NEVER;
        for (signal, spare) in ALL.into_iter().zip(SPARE) {
            if hidden & bit(signal) != 0 {
                word |= spare;
            }
        }
        Self(word)
    }

    /// Signals blocked only in the program's mask.
    fn left_out(self) -> u64 {
        let mut hidden = 0;
        for (signal, spare) in ALL.into_iter().zip(SPARE) {
            if self.0 & spare != 0 {
                hidden |= bit(signal);
            }
        }
        self.0 & hidden
    }

    /// The kernel's mask.
    fn kernel_mask(self) -> u64 {
        self.0 & !NEVER & !self.left_out()
    }
}

/// Writes down a program's mask of nearly all signals.
pub fn note(mask: u64) {
    note_in(&WANTED, &NEXT, Wanted::new(mask, hidden()));
}

/// Writes down a mask of nearly all signals that the kernel has as the program has set it.
pub fn note_real(mask: u64) {
    if is_full(mask) {
        note_in(&WANTED, &NEXT, Wanted::new(mask, 0));
    }
}

/// Whether some mask may have fewer signals in the kernel than the program has set.
pub fn are_some_left_out() -> bool {
    let mut words = WANTED.iter().map(|place| place.load(Ordering::Relaxed));
    words.any(|word| Wanted(word).left_out() != 0)
}

/// Forgets all masks: the kernel has each as the program has set it.
pub fn forget_masks() {
    for place in &WANTED {
        place.store(0, Ordering::Relaxed);
    }
}

fn note_in(places: &[AtomicU64; MASKS], next: &AtomicU32, wanted: Wanted) {
    let is_same = |word: u64| word != 0 && Wanted(word).kernel_mask() == wanted.kernel_mask();
    for place in places {
        let word = place.load(Ordering::Relaxed);
        if word == wanted.0 {
            return;
        }
        if is_same(word) {
            return place.store(wanted.0, Ordering::Relaxed);
        }
    }
    let number = next.fetch_add(1, Ordering::Relaxed) as usize % MASKS;
    if let Some(place) = places.get(number) {
        place.store(wanted.0, Ordering::Relaxed);
    }
}

/// The program's mask for a mask of the kernel.
pub fn shown(kernel_mask: u64) -> u64 {
    if is_full(kernel_mask) {
        let words = WANTED.iter().map(|place| place.load(Ordering::Relaxed));
        shown_in(words, kernel_mask)
    } else {
        kernel_mask & !added_to(kernel_mask)
    }
}

/// The masks that are written down, for a reader in another process.
#[derive(Debug, Clone, Copy)]
pub struct Known(pub [u64; MASKS_KNOWN]);

/// The masks that are written down.
pub fn known() -> Known {
    Known(core::array::from_fn(|index| {
        let place = WANTED.get(index);
        place.map_or(0, |place| place.load(Ordering::Relaxed))
    }))
}

impl Known {
    /// As [`shown`], where no signal is hidden any more.
    pub fn shown(&self, kernel_mask: u64) -> u64 {
        if is_full(kernel_mask) {
            shown_in(self.0.iter().copied(), kernel_mask)
        } else {
            kernel_mask
        }
    }
}

/// Signals blocked in addition to the program's mask while a call waits with that mask, unless the
/// program has a handler for them.
pub fn added() -> u64 {
    let is_handled = |&signal: &i32| believed(signal).is_function();
    let handled = ALL.into_iter().filter(is_handled);
    hidden() & !handled.fold(0, |bits, signal| bits | bit(signal))
}

/// The signals of [`added`] that were added to a mask. A handler that interrupts such a call runs
/// with that mask. A signal that the program names in a small mask is not hidden any more.
pub fn added_to(kernel_mask: u64) -> u64 {
    if kernel_mask & hidden() == 0 || is_full(kernel_mask) {
        return 0;
    }
    let added = added();
    if kernel_mask & added == added {
        added
    } else {
        0
    }
}

/// In a handler of the program, the mask has some signals more than the one that was set.
fn shown_in(words: impl Iterator<Item = u64>, kernel_mask: u64) -> u64 {
    let mut best = (0, 0);
    for wanted in words.map(Wanted) {
        let has = wanted.kernel_mask();
        if wanted.0 != 0 && has & !kernel_mask == 0 && has.count_ones() > best.0 {
            best = (has.count_ones(), wanted.left_out());
        }
    }
    kernel_mask | best.1
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    const EACH: u64 = bit(libc::SIGTRAP) | bit(ASKED[0]) | bit(ASKED[1]);

    struct Masks([AtomicU64; MASKS], AtomicU32);

    impl Masks {
        fn new() -> Self {
            Self([const { AtomicU64::new(0) }; MASKS], AtomicU32::new(0))
        }

        /// Sets a mask; returns the kernel's.
        fn set(&self, mask: u64, hidden: u64) -> u64 {
            note_in(&self.0, &self.1, Wanted::new(mask, hidden));
            mask & !NEVER & !hidden
        }

        fn check(&self, kernel_mask: u64, expected: u64) {
            let words = self.0.iter().map(|place| place.load(Ordering::Relaxed));
            assert_eq!(shown_in(words, kernel_mask), expected, "{kernel_mask:x}");
        }
    }

    #[test]
    fn a_mask_is_shown_as_it_was_set() {
        let masks = Masks::new();
        let all = !NEVER;
        let without_faults = all & !(bit(libc::SIGTRAP) | bit(libc::SIGSEGV) | bit(libc::SIGTERM));
        let first = masks.set(all, EACH);
        let second = masks.set(without_faults, EACH);
        assert_eq!(first & EACH, 0);
        masks.check(first, all);
        masks.check(second, without_faults);
        // In a handler that blocks another one.
        masks.check(
            second | bit(libc::SIGTERM),
            without_faults | bit(libc::SIGTERM),
        );
    }

    #[test]
    fn a_signal_that_is_hidden_no_longer_is_known_by_the_kernel() {
        let masks = Masks::new();
        let before = masks.set(!NEVER, EACH);
        let after = masks.set(!NEVER, EACH & !bit(ASKED[0]));
        assert_eq!(after & EACH, bit(ASKED[0]));
        masks.check(before, !NEVER);
        masks.check(after, !NEVER);
        let open = masks.set(!NEVER & !bit(ASKED[0]), EACH & !bit(ASKED[0]));
        masks.check(open, !NEVER & !bit(ASKED[0]));
    }

    #[test]
    fn a_program_with_many_masks_is_shown_the_later_ones() {
        let masks = Masks::new();
        let sets = (34..60).map(|signal| !NEVER & !bit(signal));
        let reals: Vec<(u64, u64)> = sets.map(|set| (masks.set(set, EACH), set)).collect();
        for &(kernel_mask, set) in reals.iter().rev().take(MASKS) {
            masks.check(kernel_mask, set);
        }
    }

    #[test]
    fn masks_of_nearly_all_signals_are_full() {
        let but = |signals: &[i32]| signals.iter().fold(u64::MAX, |mask, &it| mask & !bit(it));
        assert!(is_full(u64::MAX));
        assert!(is_full(but(&[
            libc::SIGTRAP,
            libc::SIGSEGV,
            libc::SIGCONT,
            libc::SIGURG
        ])));
        let jobs = [
            libc::SIGTSTP,
            libc::SIGTTIN,
            libc::SIGTTOU,
            libc::SIGCONT,
            libc::SIGWINCH,
        ];
        assert!(is_full(but(&jobs)));
        assert!(!is_full(0));
        assert!(!is_full(
            bit(libc::SIGURG) | bit(libc::SIGTERM) | bit(libc::SIGINT)
        ));
    }
}
