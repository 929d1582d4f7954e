//! The latest stacks of a thread, recognised without a walk.

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::log::{ReadLog, Uses};
use super::trails::{Flat, Kept, READS, Trails};
use super::walk_buffer::WalkBuffer;

/// The number of known stacks, and of their reads: at first, and at most.
const STACKS: usize = 1 << 14;
const FIRST_READS: usize = 1 << 15;
const CHAINS: usize = 1 << 12;
/// The number of stacks of one chain that are compared: the latest ones.
const PATIENCE: usize = 16;
/// The number of times a stack comes before its words are put in a row, which costs as much as
/// comparing it some times.
const OFTEN: u32 = 8;
/// The number of reads of all threads of a process together, beyond the first ones of each: 32 MiB
/// of them.
const ALL_READS: usize = 1 << 21;

/// The inputs of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Beginning {
    /// The instruction and the stack pointer.
    pub registers: [u64; 2],
    /// The interpreter's state of the thread; 0 for none.
    pub state: u64,
    /// A hint that distinguishes the interpreter's innermost frame and its instruction from most
    /// others. The walk reads both, so this only saves comparing stacks that differ in them.
    pub leaf: u64,
    /// The list of modules in force.
    pub generation: u64,
    /// The allocator.
    pub source: u64,
}

/// Further inputs of a walk: the frame pointer, and another register for finding frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Besides {
    /// The frame pointer.
    pub frame_pointer: u64,
    /// Another register.
    pub general: u64,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Stack {
    beginning: Beginning,
    besides: Besides,
    uses: Uses,
    kept: Kept,
    /// The reads in a row, for a frequent stack, and the number of its repeats since it was last
    /// put there.
    flat: Flat,
    times: u32,
    /// A hint that distinguishes it from most others with the same beginning.
    whole: u64,
    /// The end of its validity, by the cycle counter: until then its walk depends on nothing else.
    until: u64,
    /// Its number, and the next one of its chain, counted from 1.
    site: u32,
    next: u32,
}

/// The stacks that one thread knows. All zero is empty.
#[derive(Debug)]
#[repr(C)]
pub struct Known {
    chains: [u32; CHAINS],
    stacks: [Stack; STACKS],
    stacks_used: usize,
    /// The room for reads beyond the first.
    more_reads: usize,
    /// The number of stacks walked since the last restart, and of those that the process knew
    /// already.
    walked: u32,
    met_before: u32,
    /// The stack that matched the last lookup but has expired; counted from 1, 0 for none.
    old: u32,
    /// Its distinguishing hint.
    whole: u64,
    /// The stack pointer of the last stack too deep to be remembered, and the time until which no
    /// such stack is walked again.
    deep: u64,
    deep_until: u64,
    /// The log of a walk's reads.
    pub log: ReadLog,
    /// The common parts of the stacks, and all reads.
    pub(crate) trails: Trails,
    /// The buffer for walking new stacks.
    pub(crate) walk_buffer: WalkBuffer,
}

/// The number of reads of all threads of a process, beyond the first ones of each. All zero is
/// none.
#[derive(Debug, Default)]
pub struct KnownRoom(AtomicUsize);

impl KnownRoom {
    /// A full room.
    pub(super) const fn none() -> Self {
        Self(AtomicUsize::new(ALL_READS))
    }

    fn take(&self, more: usize) -> bool {
        let sum = |taken: usize| Some(taken + more).filter(|&sum| sum <= ALL_READS);
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
        taken.is_ok()
    }
}

fn chain_of(beginning: &Beginning) -> usize {
    let [ip, sp] = beginning.registers;
    let mixed = (ip ^ sp.rotate_left(24) ^ beginning.leaf).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 48) as usize % CHAINS
}

impl Known {
    /// The number of the calling thread's stack at this time by the cycle counter, if it is known.
    ///
    /// # Safety
    /// The thread has just come here with these registers, from the stack that they lie in, and
    /// runs with that state of the interpreter, at a call, so that everything its frames refer to
    /// is alive.
    ///
    /// `whole` distinguishes the stack from most others with the same beginning, and is called only
    /// where there are such.
    #[inline]
    pub unsafe fn find(
        &mut self,
        beginning: &Beginning,
        besides: &Besides,
        now: u64,
        whole: impl FnOnce() -> u64,
    ) -> Option<u32> {
        self.old = 0;
        self.trails.begin_lookup();
        let mut whole = Some(whole);
        let first = *self.chains.get(chain_of(beginning))?;
        let (mut before, mut next) = (0, first);
        for _ in 0..PATIENCE {
            let Some(stack) = (next as usize)
                .checked_sub(1)
                .and_then(|at| self.stacks.get(at))
            else {
                break;
            };
            let Uses {
                frame_pointer,
                general,
            } = stack.uses;
            // Once a stack has begun like another one, the next ones are distinguished before they
            // are compared.
            let are_same = stack.beginning == *beginning
                && (whole.is_some() || stack.whole == self.whole)
                && (!frame_pointer || stack.besides.frame_pointer == besides.frame_pointer)
                && (!general || stack.besides.general == besides.general);
            if are_same {
                // In the order of the walk: if the words before are unchanged, the walk would read
                // this one at the same address, so it can be read. SAFETY: the caller vouches for
                // the first one; the rest follow.
                let is_same = unsafe {
                    match self.trails.is_flat(stack.flat) {
                        true => self.trails.flat_holds(stack.flat),
                        false => self.trails.holds(stack.kept),
                    }
                };
                if is_same {
                    let (site, is_old) = (stack.site, now >= stack.until);
                    if is_old {
                        (self.old, self.whole) = (next, stack.whole);
                        return None;
                    }
                    if stack.kept.has_nodes() && !self.trails.is_flat(stack.flat) {
                        self.count_repeat(next);
                    }
                    self.put_first(chain_of(beginning), before, next);
                    return Some(site);
                }
                if let Some(whole) = whole.take() {
                    self.whole = whole();
                }
            }
            (before, next) = (next, stack.next);
        }
        if let Some(whole) = whole {
            self.whole = whole();
        }
        None
    }

    /// Notes a repeat of a stack. A frequent one is compared faster from then on.
    fn count_repeat(&mut self, stack: u32) {
        let place = (stack as usize).wrapping_sub(1);
        let Some(stack) = self.stacks.get_mut(place) else {
            return;
        };
        stack.times += 1;
        if stack.times == OFTEN {
            stack.times = 0;
            stack.flat = self.trails.flatten(stack.kept);
        }
    }

    /// Moves a stack to the front of its chain, where the next lookup begins. It was behind
    /// `before`; 0: it is the first one.
    #[inline]
    fn put_first(&mut self, chain: usize, before: u32, stack: u32) {
        let place = |number: u32| (number as usize).wrapping_sub(1);
        let Some(first) = self.chains.get_mut(chain).filter(|_| before != 0) else {
            return;
        };
        let formerly = core::mem::replace(first, stack);
        let Some(moved) = self.stacks.get_mut(place(stack)) else {
            return;
        };
        let behind = core::mem::replace(&mut moved.next, formerly);
        if let Some(before) = self.stacks.get_mut(place(before)) {
            before.next = behind;
        }
    }

    /// Whether a stack is as deep as one that could not be remembered, and the time for another
    /// walk has not come.
    pub(crate) fn is_too_deep(&self, beginning: &Beginning, now: u64) -> bool {
        let [_, sp] = beginning.registers;
        sp <= self.deep && now < self.deep_until
    }

    /// Rests after a walk of a stack too deep to be remembered: such walks are to take a small part
    /// of the time only. For allocations in a recursion of many thousand calls, mostly the
    /// innermost frames are kept.
    pub(crate) fn rest_after(&mut self, beginning: &Beginning, began: u64, now: u64) {
        /// The rest, as a multiple of the walk's time.
        const REST: u64 = 10;
        if self.log.is_too_long() {
            let [_, sp] = beginning.registers;
            self.deep = sp;
            self.deep_until = now.saturating_add(REST * now.saturating_sub(began));
        }
    }

    /// Begins a walk, at this time by the cycle counter.
    pub(super) fn begin_walk(&self, now: u64) {
        self.log.clear(now);
        self.trails.clear();
    }

    /// Forgets all stacks.
    pub(super) fn forget(&mut self) {
        self.chains = [0; CHAINS];
        (self.stacks_used, self.old) = (0, 0);
        self.trails.forget();
        (self.walked, self.met_before) = (0, 0);
    }

    /// The number of the stack that matched the last lookup but has expired.
    pub(super) fn old(&self) -> Option<u32> {
        let old = self.stacks.get((self.old as usize).checked_sub(1)?)?;
        Some(old.site)
    }

    /// Doubles the room for reads, where most stacks are walked because they were forgotten. False:
    /// the limit is reached, or most stacks are new, and come once.
    #[cold]
    fn grow(&mut self, room: &KnownRoom) -> bool {
        if self.met_before < self.walked / 4 * 3 {
            return false;
        }
        let more = FIRST_READS + self.more_reads;
        let is_given = more + more <= READS && room.take(more);
        if is_given {
            self.more_reads += more;
        }
        is_given
    }

    /// Returns the room beyond the first. The table must not be used any more.
    pub fn give_back(&self, room: &KnownRoom) {
        room.0.fetch_sub(self.more_reads, Ordering::Relaxed);
    }

    /// The place of the expired stack that was just walked, if it has the same number.
    fn expired(&mut self, site: u32) -> Option<&mut Stack> {
        let old = (self.old as usize).checked_sub(1)?;
        self.stacks.get_mut(old).filter(|old| old.site == site)
    }

    /// Whether the kept reads of a stack equal the log.
    fn is_kept(&self, kept: Kept) -> bool {
        let reads = self.trails.reads(kept.first, kept.count);
        kept.python == 0
            && kept.native == 0
            && (reads
                .map(|reads| reads.iter().map(Cell::get))
                .zip(self.log.reads()))
            .is_some_and(|(kept, reads)| kept.eq(reads))
    }

    /// Notes a walk, and whether the process knew the stack already.
    pub(super) fn note_walk(&mut self, was_met: bool) {
        self.walked = self.walked.saturating_add(1);
        self.met_before += u32::from(was_met);
    }

    /// Remembers the walked stack by the log.
    pub fn remember(
        &mut self,
        beginning: Beginning,
        besides: Besides,
        site: u32,
        room: &KnownRoom,
    ) {
        if self.log.reads().is_none() {
            return;
        }
        let (uses, until) = (self.log.uses(), self.log.good_until());
        let wanted = self.trails.wanted(&self.log);
        let old = self.expired(site).map(|old| (old.kept, old.uses));
        let is_same =
            |(kept, had): (Kept, Uses)| had == uses && !wanted.has_nodes() && self.is_kept(kept);
        if old.is_some_and(is_same) {
            if let Some(stack) = self.expired(site) {
                stack.until = until;
            }
            return;
        }
        let reads = self.trails.reads_used() + wanted.reads();
        let is_full = reads > FIRST_READS + self.more_reads;
        let has_nodes = self.trails.has_nodes_for(&wanted);
        if self.stacks_used == STACKS || !has_nodes || is_full && !self.grow(room) {
            self.forget();
            if wanted.has_nodes() {
                // The common parts are forgotten, too.
                return;
            }
        }
        let Some(kept) = self.trails.keep(&wanted, &self.log) else {
            return;
        };
        let whole = self.whole;
        if let Some(stack) = self.expired(site) {
            (stack.kept, stack.uses, stack.until) = (kept, uses, until);
            (stack.flat, stack.times) = (Flat::default(), 0);
            (stack.beginning, stack.besides, stack.whole) = (beginning, besides, whole);
            return;
        }
        let (Some(chain), Some(place)) = (
            self.chains.get_mut(chain_of(&beginning)),
            self.stacks.get_mut(self.stacks_used),
        ) else {
            return;
        };
        *place = Stack {
            beginning,
            besides,
            uses,
            kept,
            flat: Flat::default(),
            times: 0,
            whole: self.whole,
            until,
            site,
            next: *chain,
        };
        self.stacks_used += 1;
        *chain = self.stacks_used as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;

    fn nothing() -> Box<Known> {
        // SAFETY: all zero is a valid one.
        unsafe { Box::<Known>::new_zeroed().assume_init() }
    }

    fn beginning(ip: u64) -> Beginning {
        Beginning {
            registers: [ip, 2],
            ..Beginning::default()
        }
    }

    #[test]
    fn a_stack_is_known_again_while_its_words_are_the_same() {
        let mut known = nothing();
        let mut words = std::hint::black_box([7_u64, 8, 9]);
        let note = |known: &Known, words: &[u64]| {
            known.log.clear(0);
            for word in words {
                known.log.note(word as *const u64 as u64, *word);
            }
        };
        note(&known, &words);
        known.remember(beginning(1), Besides::default(), 17, &KnownRoom::default());
        // SAFETY: the words are there.
        unsafe {
            assert_eq!(
                known.find(&beginning(1), &Besides::default(), 0, || 0),
                Some(17)
            );
            assert_eq!(
                known.find(&beginning(2), &Besides::default(), 0, || 0),
                None
            );
            words[2] = std::hint::black_box(10);
            std::hint::black_box(&words);
            assert_eq!(
                known.find(&beginning(1), &Besides::default(), 0, || 0),
                None
            );
            note(&known, &words);
            known.remember(beginning(1), Besides::default(), 18, &KnownRoom::default());
            assert_eq!(
                known.find(&beginning(1), &Besides::default(), 0, || 0),
                Some(18)
            );
            words[2] = std::hint::black_box(9);
            std::hint::black_box(&words);
            assert_eq!(
                known.find(&beginning(1), &Besides::default(), 0, || 0),
                Some(17)
            );
        }
    }

    #[test]
    fn there_is_more_room_where_it_is_needed_and_all_have_a_share_of_it() {
        let room = KnownRoom::default();
        let words = [7_u64; 1024];
        let fill = |known: &mut Known| {
            for ip in 0..600 {
                known.log.clear(0);
                for word in &words {
                    known.log.note(word as *const u64 as u64, 7);
                }
                known.remember(beginning(ip), Besides::default(), ip as u32, &room);
            }
            // SAFETY: the words are there.
            let mut knows = |ip| unsafe {
                known.find(&beginning(ip), &Besides::default(), 0, || 0) == Some(ip as u32)
            };
            (0..600).filter(|&ip| knows(ip)).count()
        };
        let mut all = [
            nothing(),
            nothing(),
            nothing(),
            nothing(),
            nothing(),
            nothing(),
        ];
        // As many as the first reads have room for, since the restart.
        let known = all.each_mut().map(|known| fill(known));
        assert_eq!(known[..4], [88; 4]);
        assert_eq!(all[0].more_reads, READS - FIRST_READS);
        assert!(all[5].more_reads < all[4].more_reads && all[4].more_reads < READS - FIRST_READS);
        for known in &all {
            known.give_back(&room);
        }
        assert_eq!(room.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn stacks_that_come_once_get_no_more_room() {
        let room = KnownRoom::default();
        let mut known = nothing();
        let words = [7_u64; 1024];
        for ip in 0..200 {
            known.log.clear(0);
            for word in &words {
                known.log.note(word as *const u64 as u64, 7);
            }
            known.note_walk(ip % 2 == 0);
            known.remember(beginning(ip), Besides::default(), ip as u32, &room);
        }
        assert_eq!(known.more_reads, 0);
    }

    /// The result of a lookup at an address without reads.
    fn found(known: &mut Known, ip: u64) -> Option<u32> {
        // SAFETY: nothing is read.
        unsafe { known.find(&beginning(ip), &Besides::default(), 0, || 0) }
    }

    #[test]
    fn what_cannot_be_read_again_is_not_remembered() {
        let mut known = nothing();
        known.log.clear(0);
        known.log.lose();
        known.remember(beginning(1), Besides::default(), 17, &KnownRoom::default());
        assert_eq!(found(&mut known, 1), None);
    }

    #[test]
    fn one_that_has_read_code_is_walked_again_after_a_while() {
        let mut known = nothing();
        let code = std::hint::black_box([0x90_u64; 16]);
        let stack = std::hint::black_box([7_u64]);
        let address = &raw const code[8] as u64;
        let walk = |known: &mut Known, now, site| {
            known.log.clear(now);
            known.log.note(&raw const stack[0] as u64, stack[0]);
            assert_eq!(known.log.read_code(address), Some(0x90));
            known.remember(
                beginning(1),
                Besides::default(),
                site,
                &KnownRoom::default(),
            );
            known.stacks_used
        };
        let find = |known: &mut Known, now| {
            // SAFETY: the words are there.
            unsafe { known.find(&beginning(1), &Besides::default(), now, || 0) }
        };
        const LONG: u64 = super::super::texts::BELIEVED;
        assert_eq!(walk(&mut known, 100, 17), 1);
        assert_eq!(find(&mut known, 99 + LONG), Some(17));
        assert_eq!(find(&mut known, 100 + LONG), None);
        // It is the same stack, known again for as long.
        assert_eq!(walk(&mut known, 100 + LONG, 17), 1);
        assert_eq!(find(&mut known, 99 + 2 * LONG), Some(17));
        // The code was replaced, and leads elsewhere.
        assert_eq!(find(&mut known, 100 + 2 * LONG), None);
        assert_eq!(walk(&mut known, 100 + 2 * LONG, 18), 2);
        assert_eq!(find(&mut known, 101 + 2 * LONG), Some(18));
    }

    #[test]
    fn registers_count_where_the_walk_has_used_them() {
        let mut known = nothing();
        let besides = Besides {
            frame_pointer: 5,
            general: 6,
        };
        known.log.clear(0);
        known.remember(beginning(1), besides, 17, &KnownRoom::default());
        assert_eq!(found(&mut known, 1), Some(17));
        known.log.clear(0);
        known.log.uses_frame_pointer();
        known.remember(beginning(2), besides, 18, &KnownRoom::default());
        assert_eq!(found(&mut known, 2), None);
        known.log.clear(0);
        known.log.uses_general();
        known.remember(beginning(3), besides, 19, &KnownRoom::default());
        assert_eq!(found(&mut known, 3), None);
    }

    #[test]
    fn those_that_were_met_last_come_first() {
        let mut known = nothing();
        let mut word = 0_u64;
        let mut look = |known: &mut Known, value: u64| {
            word = std::hint::black_box(value);
            let address = &raw const word as u64;
            // SAFETY: the word is there.
            let found = unsafe { known.find(&beginning(1), &Besides::default(), 0, || 0) };
            if found.is_none() {
                known.log.clear(0);
                known.log.note(address, value);
                known.remember(
                    beginning(1),
                    Besides::default(),
                    value as u32,
                    &KnownRoom::default(),
                );
            }
            found
        };
        // A frequent one is found, however many others there are.
        assert_eq!(look(&mut known, 1), None);
        for other in 2..200 {
            assert_eq!(look(&mut known, other), None);
            assert_eq!(look(&mut known, 1), Some(1));
        }
        assert_eq!(look(&mut known, 199), Some(199));
        assert_eq!(look(&mut known, 198), Some(198));
        // One unused for long is walked again.
        assert_eq!(look(&mut known, 2), None);
    }

    #[test]
    fn deep_stacks_are_walked_for_a_part_of_the_time() {
        let mut known = nothing();
        let at = |sp| Beginning {
            registers: [1, sp],
            ..Beginning::default()
        };
        known.log.clear(0);
        known.rest_after(&at(500), 1000, 1100);
        assert!(!known.is_too_deep(&at(500), 1101), "it was not deep");
        for word in 0..=4096_u64 {
            known.log.note(word, word);
        }
        known.rest_after(&at(500), 1000, 1100);
        assert!(known.is_too_deep(&at(500), 2099) && known.is_too_deep(&at(400), 1101));
        assert!(!known.is_too_deep(&at(501), 1101), "it is not as deep");
        assert!(!known.is_too_deep(&at(400), 2100), "it has rested");
    }

    #[test]
    fn a_full_one_begins_anew() {
        let mut known = nothing();
        for ip in 0..3 * STACKS as u64 {
            known.log.clear(0);
            known.remember(
                beginning(ip),
                Besides::default(),
                ip as u32,
                &KnownRoom::default(),
            );
            assert_eq!(found(&mut known, ip), Some(ip as u32));
        }
    }
}
