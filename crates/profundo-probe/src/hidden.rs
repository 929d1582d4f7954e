//! Which signals a program blocks, where the kernel's mask says less.
//!
//! A thread that blocks our signals cannot be sampled, and a program that blocks *all* signals does not
//! mean ours. So a mask of nearly all signals is set without ours, and written down here as the program
//! wanted it. From then on the kernel's own mask is the key: it goes where the program's goes (through
//! `fork`, new threads, `siglongjmp`, contexts, the end of a handler), and the mask that the program has
//! asked for is found by it. Nothing has to be kept for each thread.
//!
//! A program that names one of our signals in a smaller set uses it itself. Then it is hidden no longer,
//! our clocks go over to another one, and the kernel's mask says all.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::urgent;

/// The bit of a signal in a mask.
pub const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// The signals that are asked for by a timer or a descriptor, the one that is used first before the other.
///
/// SIGURG means nothing by default, so one that still waits when the program becomes another does no
/// harm, and a debugger lets it pass. Linux itself never raises SIGSTKFLT. Both come at most once: a
/// real-time signal is queued, and where the queue is full a descriptor sends SIGIO instead, which kills.
pub const ASKED: [i32; 2] = [libc::SIGURG, libc::SIGSTKFLT];

/// All signals that may ever be hidden.
pub const ALL: [i32; 3] = [libc::SIGTRAP, ASKED[0], ASKED[1]];

/// Bits that no mask of a program's has: the kernel takes SIGKILL and SIGSTOP out of it, the C library
/// those that it uses itself. They say which of [`ALL`] were hidden when a mask was written down.
const SPARE: [u64; 3] = [bit(libc::SIGKILL), bit(libc::SIGSTOP), bit(32)];
const NEVER: u64 = SPARE[0] | SPARE[1] | SPARE[2] | bit(33);

/// What means to block everything blocks nearly all of these. Faults are often left open, and the
/// signals above are not counted.
const USUAL: u64 = {
    let mut faults = bit(libc::SIGILL) | bit(libc::SIGTRAP) | bit(libc::SIGABRT);
    faults |= bit(libc::SIGBUS) | bit(libc::SIGFPE) | bit(libc::SIGSEGV) | bit(libc::SIGSYS);
    let ours = bit(ASKED[0]) | bit(ASKED[1]);
    0x7FFF_FFFF & !(NEVER | faults | ours)
};

/// Those that are hidden at present.
static HIDDEN: AtomicU64 = AtomicU64::new(0);

/// A program has few different masks. 0 is none.
const MASKS: usize = 16;
static WANTED: [AtomicU64; MASKS] = [const { AtomicU64::new(0) }; MASKS];
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Signals that no mask of nearly all signals blocks.
pub fn hidden() -> u64 {
    HIDDEN.load(Ordering::Relaxed)
}

/// Hides these from now on.
pub fn hide(signals: u64) {
    HIDDEN.fetch_or(signals, Ordering::Relaxed);
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

/// A mask that a program has asked for, and which of our signals the kernel was not asked to block.
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

    /// Those that are blocked by the program's word alone.
    fn unreal(self) -> u64 {
        let mut hidden = 0;
        for (signal, spare) in ALL.into_iter().zip(SPARE) {
            if self.0 & spare != 0 {
                hidden |= bit(signal);
            }
        }
        self.0 & hidden
    }

    /// The mask that the kernel has.
    fn real(self) -> u64 {
        self.0 & !NEVER & !self.unreal()
    }
}

/// Writes a mask of nearly all signals down, as the program wants it.
pub fn note(mask: u64) {
    note_in(&WANTED, &NEXT, Wanted::new(mask, hidden()));
}

fn note_in(places: &[AtomicU64; MASKS], next: &AtomicU32, wanted: Wanted) {
    let is_same = |word: u64| word != 0 && Wanted(word).real() == wanted.real();
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

/// The mask that the program has asked for, by the kernel's.
pub fn shown(real: u64) -> u64 {
    if is_full(real) {
        shown_in(&WANTED, real)
    } else {
        real & !added_to(real)
    }
}

/// Signals that are blocked beside the program's mask while a call waits with that mask, unless the program
/// has a handler for them.
pub fn added() -> u64 {
    let is_handled = |&signal: &i32| urgent::believed(signal).is_function();
    let handled = ALL.into_iter().filter(is_handled);
    hidden() & !handled.fold(0, |bits, signal| bits | bit(signal))
}

/// Those of [`added`] that are in a mask because they were added to it. A handler that interrupts such a call
/// runs with that mask. A program that names one of ours in a small mask has it hidden no longer.
pub fn added_to(real: u64) -> u64 {
    if real & hidden() == 0 || is_full(real) {
        return 0;
    }
    let added = added();
    if real & added == added { added } else { 0 }
}

/// In a handler of the program's, a mask has some signals more than the one that was set.
fn shown_in(places: &[AtomicU64; MASKS], real: u64) -> u64 {
    let mut best = (0, 0);
    for place in places {
        let wanted = Wanted(place.load(Ordering::Relaxed));
        let has = wanted.real();
        if wanted.0 != 0 && has & !real == 0 && has.count_ones() > best.0 {
            best = (has.count_ones(), wanted.unreal());
        }
    }
    real | best.1
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

        fn check(&self, real: u64, expected: u64) {
            assert_eq!(shown_in(&self.0, real), expected, "{real:x}");
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
        for &(real, set) in reals.iter().rev().take(MASKS) {
            masks.check(real, set);
        }
    }

    #[test]
    fn what_blocks_nearly_everything() {
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
