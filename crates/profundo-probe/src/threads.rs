//! A slot for each living thread, found by its kernel id, and a record for each thread ever seen.
//!
//! Thread-local storage is no use here: in a shared library the first access may allocate. So the
//! slots form an open-addressing table in preallocated memory.
//!
//! In a program that profiles itself a thread enters itself at its first sample, without
//! registration. Slots of ended threads are freed by [`Threads::sweep`], which a normal thread
//! calls; the records stay, so that names outlive their threads.
//!
//! An agent sees threads begin and end ([`Threads::begin`], [`Threads::end`]), and its records lie
//! in shared memory, where the command frees them for others once it has read them. There a thread
//! that was not entered is not sampled.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::caches::Caches;
pub use crate::records::{ThreadRecord, record_state};
use crate::slot::Slot;
use crate::sys;

const EMPTY: u32 = 0;
/// A freed slot: a search goes on behind it.
const FREED: u32 = u32::MAX;
/// The length of a search.
const PROBES: usize = 128;

/// Slots and records, in memory that the caller provides.
#[derive(Debug)]
pub struct Threads {
    slots: &'static [Slot],
    records: &'static [ThreadRecord],
    /// The number of records used: here, or in memory that is shared.
    met: AtomicU32,
    shared_met: Option<&'static AtomicU32>,
    /// The first record to look at for one to use again.
    reused: AtomicU32,
    /// One bit for each group of neighbouring slots ever used: the others need not be searched, and
    /// their memory stays untouched.
    used: [AtomicU64; GROUPS / 64],
}

/// The number of groups of slots.
const GROUPS: usize = 1024;

impl Threads {
    /// Tables over zeroed memory. The number of slots is a power of two.
    pub fn new(slots: &'static [Slot], records: &'static [ThreadRecord]) -> Self {
        debug_assert!(slots.len().is_power_of_two());
        Self {
            slots,
            records,
            met: AtomicU32::new(0),
            shared_met: None,
            reused: AtomicU32::new(0),
            used: [const { AtomicU64::new(0) }; GROUPS / 64],
        }
    }

    /// Tables of an agent: the records and their number lie in memory that is shared with the
    /// command, and threads are entered by [`Self::begin`] alone.
    pub fn shared(
        slots: &'static [Slot],
        records: &'static [ThreadRecord],
        met: &'static AtomicU32,
    ) -> Self {
        Self {
            shared_met: Some(met),
            ..Self::new(slots, records)
        }
    }

    fn met(&self) -> &AtomicU32 {
        self.shared_met.unwrap_or(&self.met)
    }

    /// Enters the calling thread of an agent, which has just begun. `None`: no room.
    pub fn begin(&self, tid: u32, thread_pointer: u64) -> Option<&'static Slot> {
        self.begin_named(tid, sys::thread_name(), thread_pointer)
    }

    /// Enters another thread of an agent, which has begun before the agent came. `None`: no room.
    pub fn begin_other(&self, tid: u32, name: [u8; 16]) -> Option<&'static Slot> {
        self.begin_named(tid, name, 0)
    }

    fn begin_named(&self, tid: u32, name: [u8; 16], thread_pointer: u64) -> Option<&'static Slot> {
        let number = self.meet(tid, name)?;
        let Some(old) = self.find(tid) else {
            return self.take_slot(tid, number, thread_pointer);
        };
        // A thread of this id has ended without a report.
        if let Some(record) = self.record(old.number()) {
            record.finish();
        }
        old.prepare(number, thread_pointer);
        Some(old)
    }

    /// Notes that the calling thread of an agent ends. `cpu` is its CPU time in nanoseconds.
    pub fn end(&self, caches: &Caches, tid: u32, cpu: u64) {
        let Some(slot) = self.find(tid) else {
            return;
        };
        // The record first: a signal that finds no slot would take one by a living record.
        if let Some(record) = self.record(slot.number()) {
            record.set_name(sys::thread_name());
            record.cpu.store(cpu, Ordering::Relaxed);
            record.finish();
        }
        self.free(slot, caches);
    }

    /// The number of records never used.
    pub fn unused_records(&self) -> usize {
        let met = self.met().load(Ordering::Relaxed) as usize;
        self.records.len().saturating_sub(met)
    }

    /// Forgets all slots and their contents: in the child of a fork, whose tables are new.
    ///
    /// # Safety
    /// No handler runs, and the slots' memory is zeroed.
    pub unsafe fn reset_after_fork(&self) {
        for bits in &self.used {
            bits.store(0, Ordering::Relaxed);
        }
        self.reused.store(0, Ordering::Relaxed);
    }

    /// The possible places of a thread's slot, nearest first.
    fn places(&self, tid: u32) -> impl Iterator<Item = usize> {
        // Kernel ids are handed out one after another, so their low bits spread well.
        let mask = self.slots.len().wrapping_sub(1);
        (0..PROBES).map(move |step| (tid as usize).wrapping_add(step) & mask)
    }

    fn probe(&self, tid: u32) -> impl Iterator<Item = &'static Slot> {
        let slots = self.slots;
        self.places(tid).filter_map(|place| slots.get(place))
    }

    /// Notes that a slot is about to be used.
    fn note_use(&self, place: usize) {
        let group = place * GROUPS / self.slots.len().max(1);
        if let Some(bits) = self.used.get(group / 64) {
            bits.fetch_or(1 << (group % 64), Ordering::Relaxed);
        }
    }

    /// The slot of a thread that has one.
    pub fn find(&self, tid: u32) -> Option<&'static Slot> {
        for slot in self.probe(tid) {
            match slot.tid.load(Ordering::Acquire) {
                found if found == tid => return Some(slot),
                EMPTY => return None,
                _ => {}
            }
        }
        None
    }

    /// The slot of the calling thread, entered into the table if it is new. `None`: no room.
    #[inline]
    pub fn enter(&self, tid: u32, thread_pointer: u64) -> Option<&'static Slot> {
        let slot = match self.find(tid) {
            Some(slot) => slot,
            None if self.shared_met.is_some() => return self.adopt(tid, thread_pointer),
            None => return self.insert(tid, thread_pointer, sys::thread_name),
        };
        if slot.thread_pointer.load(Ordering::Relaxed) != thread_pointer {
            // Another thread had this id, or a normal thread entered us without knowing our stack.
            let known = slot.thread_pointer.swap(thread_pointer, Ordering::Relaxed) == 0;
            if !known && self.shared_met.is_none() {
                let number = self.meet(tid, sys::thread_name())?;
                slot.prepare(number, thread_pointer);
            }
        }
        Some(slot)
    }

    /// The slot of some other thread, entered if it is new.
    pub fn enter_other(&self, tid: u32, name: [u8; 16]) -> Option<&'static Slot> {
        self.find(tid).or_else(|| self.insert(tid, 0, || name))
    }

    #[cold]
    fn insert(
        &self,
        tid: u32,
        thread_pointer: u64,
        name: impl Fn() -> [u8; 16],
    ) -> Option<&'static Slot> {
        self.take(tid, || self.meet(tid, name()), thread_pointer)
    }

    /// A slot for a thread of an agent that has its record already.
    #[cold]
    fn take_slot(&self, tid: u32, number: u32, thread_pointer: u64) -> Option<&'static Slot> {
        let slot = self.take(tid, || Some(number), thread_pointer);
        if slot.is_none()
            && let Some(record) = self.record(number)
        {
            record.finish();
        }
        slot
    }

    /// The slot of a thread that the command has entered into the records.
    #[cold]
    fn adopt(&self, tid: u32, thread_pointer: u64) -> Option<&'static Slot> {
        let number = self.record_of(tid)?.number.load(Ordering::Relaxed);
        self.take(tid, || Some(number), thread_pointer)
    }

    /// The record of a living thread, which may have no slot.
    pub(crate) fn record_of(&self, tid: u32) -> Option<&'static ThreadRecord> {
        let mut records = self.records().map(|(_, record)| record);
        // Acquire pairs with the release in `fill`.
        records.find(|record| {
            record.state.load(Ordering::Acquire) == record_state::ALIVE && record.tid() == tid
        })
    }

    fn take(
        &self,
        tid: u32,
        number: impl Fn() -> Option<u32>,
        thread_pointer: u64,
    ) -> Option<&'static Slot> {
        // Two threads that insert the same id choose the same free slot: one loses, looks again
        // and finds it. The cap is for the case that others keep taking the slots we choose.
        for _ in 0..PROBES {
            let (place, free) = self
                .places(tid)
                .filter_map(|place| Some((place, self.slots.get(place)?)))
                .find(|(_, slot)| matches!(slot.tid.load(Ordering::Relaxed), EMPTY | FREED))?;
            let old = free.tid.load(Ordering::Relaxed);
            if !matches!(old, EMPTY | FREED) {
                continue;
            }
            let number_before = free.number.load(Ordering::Relaxed);
            self.note_use(place);
            if free
                .tid
                .compare_exchange(old, tid, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
            {
                let was_unused = old == EMPTY && number_before == 0;
                if was_unused {
                    free.forget_chunk();
                }
                let Some(number) = number() else {
                    free.tid.store(FREED, Ordering::Release);
                    return None;
                };
                free.prepare(number, thread_pointer);
                return Some(free);
            }
            if let Some(slot) = self.find(tid) {
                return Some(slot);
            }
        }
        None
    }

    /// Numbers a new thread, and fills in its record.
    ///
    /// When all are used up, a program's further threads share the last one, and those of an
    /// agent get one that the command has set free; `None`: there is none.
    fn meet(&self, tid: u32, name: [u8; 16]) -> Option<u32> {
        const AT_FIRST: u32 = 16;
        let count = self.records.len() as u32;
        let is_shared = self.shared_met.is_some();
        if is_shared && let Some(number) = self.reuse(tid, name, AT_FIRST) {
            return Some(number);
        }
        let fresh = self
            .met()
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |met| {
                (met < count).then(|| met + 1)
            });
        let number = match fresh {
            Ok(met) => met + 1,
            Err(_) if is_shared => return self.reuse(tid, name, count),
            Err(_) => count,
        };
        let record = self.record(number)?;
        record.state.store(record_state::FILLING, Ordering::Relaxed);
        record.fill(number, tid, name);
        Some(number)
    }

    /// Reuses a record that the command has read; tries this many of them.
    fn reuse(&self, tid: u32, name: [u8; 16], tries: u32) -> Option<u32> {
        let met = self.met().load(Ordering::Relaxed);
        for _ in 0..tries.min(met) {
            let place = self.reused.load(Ordering::Relaxed).checked_rem(met)?;
            let record = self.records.get(place as usize)?;
            // Acquire pairs with the release of the command, which has read the record before.
            let taken = record.state.compare_exchange(
                record_state::READ,
                record_state::FILLING,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            self.reused.store(place + 1, Ordering::Relaxed);
            if taken.is_ok() {
                let former = record.number.load(Ordering::Relaxed);
                let number = former.wrapping_add(self.records.len() as u32);
                record.fill(number, tid, name);
                return Some(number);
            }
        }
        None
    }

    /// The record of a thread by its number.
    pub fn record(&self, number: u32) -> Option<&'static ThreadRecord> {
        let place = (number as usize).checked_sub(1)?;
        self.records.get(place.checked_rem(self.records.len())?)
    }

    /// All threads so far, with their numbers. Of an agent's threads, those still known.
    pub fn records(&self) -> impl Iterator<Item = (u32, &'static ThreadRecord)> {
        let met = self.met().load(Ordering::Relaxed);
        let records = self.records.get(..met as usize).unwrap_or(self.records);
        records
            .iter()
            .map(|record| (record.number.load(Ordering::Relaxed), record))
    }

    /// All slots in use.
    pub fn slots(&self) -> impl Iterator<Item = &'static Slot> {
        let slots = self.slots;
        // The first slot of a group is the first whose number, scaled as in `note_use`, is its own.
        let start = move |group: usize| (group * slots.len()).div_ceil(GROUPS);
        let is_used = |group: &usize| {
            let bits = self.used.get(group / 64);
            bits.is_some_and(|bits| bits.load(Ordering::Relaxed) & 1 << (group % 64) != 0)
        };
        (0..GROUPS)
            .filter(is_used)
            .filter_map(move |group| slots.get(start(group)..start(group + 1)))
            .flatten()
            .filter(|slot| !matches!(slot.tid.load(Ordering::Relaxed), EMPTY | FREED))
    }

    /// Frees the slots of threads that `is_alive` denies. Not for a handler: it looks at all slots.
    pub fn sweep(&self, caches: &Caches, mut is_alive: impl FnMut(u32) -> bool) {
        for slot in self.slots() {
            let tid = slot.tid.load(Ordering::Relaxed);
            if !is_alive(tid) {
                if let Some(record) = self.record(slot.number()) {
                    record.state.store(record_state::ENDED, Ordering::Relaxed);
                }
                self.free(slot, caches);
            }
        }
    }

    /// Frees the slot of a thread that has ended, or ends.
    fn free(&self, slot: &Slot, caches: &Caches) {
        if let Some(cache) = slot.cache() {
            slot.set_cache(None);
            caches.give_back(cache);
        }
        // Release pairs with the acquire in `find`: the slot's next owner finds the chunk as its
        // last owner left it.
        slot.tid.store(FREED, Ordering::Release);
    }
}
