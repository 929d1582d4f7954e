//! Which thread am I? A slot for each living thread, found by its kernel id, and a record for
//! each thread that was ever met.
//!
//! Thread-local storage is no use here: in a shared library the first access may allocate. So the
//! slots form an open-addressing table in preallocated memory.
//!
//! In a program that profiles itself a thread enters itself at its first sample; nobody has to
//! register. Slots of ended threads are freed by [`Threads::sweep`], which a normal thread calls;
//! the records stay, so that names outlive their threads.
//!
//! An agent sees threads begin and end ([`Threads::begin`], [`Threads::end`]), and its records lie
//! in shared memory, where the command frees them for others once it has read them. There a sample
//! of a thread that was not entered is of no use, and none is taken.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::caches::Caches;
use crate::claims::Claim;
use crate::phase::Phase;
pub use crate::records::{ThreadRecord, record_state};
use crate::sys;
use crate::task_clock::ThreadClock;

const EMPTY: u32 = 0;
/// A freed slot: a search goes on behind it.
const FREED: u32 = u32::MAX;
/// How far a search goes.
const PROBES: usize = 128;
/// No claim.
const NO_CHUNK: u32 = u32::MAX;
/// In [`Slot::named`]: the name was told.
const NAMED: u32 = 1 << 31;

/// What the sampler knows of one living thread. All zero is a free slot.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Slot {
    tid: AtomicU32,
    number: AtomicU32,
    thread_pointer: AtomicU64,
    /// Set while this thread is inside the sampler.
    pub(crate) busy: AtomicBool,
    /// The thread's task clock, in a program that profiles itself.
    pub clock: ThreadClock,
    /// The readable part of the thread's own stack, as far as it is known; 0..0 if not.
    pub(crate) stack_low: AtomicU64,
    pub(crate) stack_high: AtomicU64,
    chunk: AtomicU32,
    chunk_state: AtomicU64,
    buffer: AtomicU64,
    task: AtomicU64,
    /// The number of the walk cache lent to this thread, plus one; 0 if none.
    cache: AtomicU32,
    /// The time, in nanoseconds, for which the wall-clock helper has asked for this thread's stack
    /// since it had it last.
    wanted: AtomicU64,
    /// Samples that were taken.
    pub(crate) samples: AtomicU64,
    /// When the last sample was done, and what it took, in cycles.
    left: AtomicU64,
    cost: AtomicU64,
    /// The weight of samples that were not taken because they came too soon.
    owed: AtomicU64,
    /// The system time that samples stand for so far, by the kernel's count, plus one; 0 before
    /// the first look.
    system: AtomicU64,
    /// The CPU time at that look.
    cpu: AtomicU64,
    /// How far the samples of a recorded thread have come.
    pub(crate) phase: Phase,
    /// Whether there was a sample of system time.
    was_in_kernel: AtomicBool,
    /// Whether the thread is waiting for the interpreter's lock.
    waits: AtomicBool,
    /// How often it has waited, and the CPU time that such a wait takes, in nanoseconds.
    wait_count: AtomicU32,
    wait_cost: AtomicU32,
    /// How many samples with whole stacks of the interpreter's there were, up to some, and whether
    /// the thread's name was told.
    named: AtomicU32,
    /// The interpreter's states that the thread ran with: see `profundo_cpython::States`.
    last_state: AtomicU64,
    state_before: AtomicU64,
    /// The number of the agent's timer for this thread, plus one; 0 if there is none.
    timer: AtomicU32,
}

/// Slots and records, in memory that the caller provides.
#[derive(Debug)]
pub struct Threads {
    slots: &'static [Slot],
    records: &'static [ThreadRecord],
    /// How many records were used: here, or in memory that is shared.
    met: AtomicU32,
    shared_met: Option<&'static AtomicU32>,
    /// Where to look first for a record that may be used again.
    reused: AtomicU32,
    /// One bit for each group of neighbouring slots that was ever used: the others need not be
    /// looked at, and their memory stays untouched.
    used: [AtomicU64; GROUPS / 64],
}

/// Into how many groups the slots are divided.
const GROUPS: usize = 1024;

impl Slot {
    /// The thread's number, from 1.
    pub fn number(&self) -> u32 {
        self.number.load(Ordering::Relaxed)
    }

    /// The kernel's thread id.
    pub fn tid(&self) -> u32 {
        self.tid.load(Ordering::Relaxed)
    }

    /// Notes which timer the thread has; returns the one that was noted before.
    pub fn replace_timer(&self, timer: Option<u32>) -> Option<u32> {
        let word = timer.map_or(0, |timer| timer.wrapping_add(1));
        self.timer.swap(word, Ordering::AcqRel).checked_sub(1)
    }

    /// Which timer the thread has.
    pub(crate) fn timer(&self) -> Option<u32> {
        self.timer.load(Ordering::Acquire).checked_sub(1)
    }

    /// Notes a timer, if none is noted and the slot still is this thread's. Returns whether it was.
    pub fn note_timer(&self, tid: u32, timer: u32) -> bool {
        let word = timer.wrapping_add(1);
        let noted = self
            .timer
            .compare_exchange(0, word, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok();
        if noted && self.tid() != tid {
            // Whoever has the slot now may have taken it away already.
            return self
                .timer
                .compare_exchange(word, 0, Ordering::AcqRel, Ordering::Relaxed)
                .is_err();
        }
        noted
    }

    /// The task that the thread is running; 0 outside of any.
    pub fn task(&self) -> u64 {
        self.task.load(Ordering::Relaxed)
    }

    /// Says which task the thread is running now; returns the one before.
    pub fn set_task(&self, task: u64) -> u64 {
        self.task.swap(task, Ordering::Relaxed)
    }

    /// Asks the thread, which is running, for its stack at its next tick; it is to stand for so
    /// many nanoseconds.
    pub fn want(&self, weight: u64) {
        self.wanted.fetch_add(weight, Ordering::Relaxed);
    }

    /// Takes back what was asked: for how many nanoseconds, since the thread answered last.
    pub fn take_wanted(&self) -> u64 {
        self.wanted.swap(0, Ordering::Relaxed)
    }

    /// Whether the thread has had less time since its last sample than that one took. Samples that
    /// cost more than the period (very deep stacks at a high rate) would otherwise follow each
    /// other without end, and the program would stand still.
    pub(crate) fn is_too_soon(&self, clock: u64) -> bool {
        let since = clock.wrapping_sub(self.left.load(Ordering::Relaxed));
        since < self.cost.load(Ordering::Relaxed)
    }

    /// Notes the weight of a sample that came too soon, for the next one to carry.
    pub(crate) fn owe(&self, weight: u64) {
        self.owed.fetch_add(weight, Ordering::Relaxed);
    }

    /// The weight that the next sample has to carry besides its own.
    pub fn take_owed(&self) -> u64 {
        self.owed.swap(0, Ordering::Relaxed)
    }

    /// Notes when a sample began and ended.
    pub(crate) fn note_cost(&self, began: u64, ended: u64) {
        /// A millisecond or two: what took longer was interrupted itself.
        const MOST: u64 = 4_000_000;
        let cost = ended.wrapping_sub(began).min(MOST);
        self.left.store(ended, Ordering::Relaxed);
        self.cost.store(cost, Ordering::Relaxed);
    }

    /// Says whether the thread is waiting for the interpreter's lock. It says so itself.
    pub fn set_waiting(&self, waits: bool) {
        self.waits.store(waits, Ordering::Relaxed);
    }

    /// Counts a wait for the lock; returns how many there were before.
    pub fn count_wait(&self) -> u32 {
        self.wait_count.fetch_add(1, Ordering::Relaxed)
    }

    /// The CPU time that a wait takes, as it was measured lately.
    pub fn wait_cost(&self) -> u32 {
        self.wait_cost.load(Ordering::Relaxed)
    }

    /// Notes the CPU time of a wait.
    pub fn note_wait_cost(&self, nanoseconds: u64) {
        let before = self.wait_cost();
        let now = u32::try_from(nanoseconds).unwrap_or(u32::MAX);
        let smooth = match before {
            0 => now,
            _ => before - before / 4 + now / 4,
        };
        self.wait_cost.store(smooth, Ordering::Relaxed);
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }

    /// Whether a sample is to look for the name that the interpreter has for the thread: at the
    /// first ones, fewer and fewer, until there is one; and then once more, for a thread that was
    /// given its name while it ran. Each call is a sample.
    pub(crate) fn wants_name(&self) -> bool {
        const LAST: u32 = 128;
        let before = self.named.load(Ordering::Relaxed);
        let (is_told, count) = (before & NAMED != 0, (before & !NAMED) + 1);
        if count > LAST {
            return false;
        }
        self.named.store(before & NAMED | count, Ordering::Relaxed);
        count == LAST || !is_told && count.is_power_of_two()
    }

    /// What `pthread_self` says in the thread.
    pub(crate) fn thread_pointer(&self) -> u64 {
        self.thread_pointer.load(Ordering::Relaxed)
    }

    /// The interpreter's states that the thread ran with, the last one first.
    pub(crate) fn states(&self) -> (u64, u64) {
        let last = self.last_state.load(Ordering::Relaxed);
        (last, self.state_before.load(Ordering::Relaxed))
    }

    pub(crate) fn set_states(&self, (last, before): (u64, u64)) {
        self.last_state.store(last, Ordering::Relaxed);
        self.state_before.store(before, Ordering::Relaxed);
    }

    /// Notes that the thread's name was told.
    pub(crate) fn note_named(&self) {
        self.named.fetch_or(NAMED, Ordering::Relaxed);
    }

    /// The readable part of the thread's own stack, as far as it is known.
    pub(crate) fn stack(&self) -> (u64, u64) {
        let low = self.stack_low.load(Ordering::Relaxed);
        (low, self.stack_high.load(Ordering::Relaxed))
    }

    /// What has been added to the thread's system time since the last look at which there was
    /// something worth a sample. `now` is all of it, in nanoseconds.
    pub(crate) fn system_time_since(&self, now: u64) -> u64 {
        /// The kernel counts by its own ticks, but scales what it has counted: crumbs are left
        /// until they are worth a sample.
        const LEAST: u64 = 1_000_000;
        let before = self.system.load(Ordering::Relaxed);
        let since = match before.checked_sub(1) {
            Some(before) => now.saturating_sub(before),
            None => 0,
        };
        if before == 0 || since >= LEAST {
            self.system.store(now + 1, Ordering::Relaxed);
        }
        if since >= LEAST { since } else { 0 }
    }

    /// Notes the thread's system time and its CPU time; returns how much of both there was since they were noted
    /// last.
    pub(crate) fn times_since(&self, system: u64, cpu: u64) -> (u64, u64) {
        let before = self.system.swap(system + 1, Ordering::Relaxed);
        let since_then = cpu.saturating_sub(self.cpu.swap(cpu, Ordering::Relaxed));
        let before = before.checked_sub(1).unwrap_or(system);
        (system.saturating_sub(before), since_then)
    }

    /// Notes that the thread was sampled in the kernel; returns whether it had been before.
    pub(crate) fn note_kernel(&self) -> bool {
        self.was_in_kernel.swap(true, Ordering::Relaxed)
    }

    /// Notes what the kernel had counted of the thread when its part in the recording began: its samples are to lie
    /// a period apart.
    pub(crate) fn begin_phase(&self, (cpu, usage): (u64, sys::ThreadUsage), period: u64) {
        self.note_system_times(cpu, usage);
        self.phase.begin((cpu, usage), period, self.tid().into());
    }

    /// Begins to sample a thread that has run for `cpu` nanoseconds, in a program that profiles itself.
    pub fn begin(&self, cpu: u64) {
        self.clock.begin(cpu);
        // What it did in the kernel before is not this session's.
        self.system.store(0, Ordering::Relaxed);
    }

    /// Notes the system time of the thread, which is looked for from now on.
    pub(crate) fn note_system_times(&self, cpu: u64, usage: sys::ThreadUsage) {
        self.was_in_kernel.store(false, Ordering::Relaxed);
        self.times_since(usage.system, cpu);
    }

    /// How many samples were taken of it.
    pub fn samples(&self) -> u64 {
        self.samples.load(Ordering::Relaxed)
    }

    /// The chunk that the thread wrote to last, in the buffer with this identity.
    pub(crate) fn claim(&self, buffer: u64) -> Option<Claim> {
        let chunk = self.chunk.load(Ordering::Relaxed);
        (chunk != NO_CHUNK && self.buffer.load(Ordering::Relaxed) == buffer)
            .then(|| Claim::from_words(chunk, self.chunk_state.load(Ordering::Relaxed)))
    }

    pub(crate) fn set_claim(&self, buffer: u64, claim: Option<Claim>) {
        let (chunk, state) = claim.map_or((NO_CHUNK, 0), Claim::to_words);
        self.buffer.store(buffer, Ordering::Relaxed);
        self.chunk.store(chunk, Ordering::Relaxed);
        self.chunk_state.store(state, Ordering::Relaxed);
    }

    /// The number of the walk cache lent to this thread.
    pub(crate) fn cache(&self) -> Option<u32> {
        self.cache.load(Ordering::Relaxed).checked_sub(1)
    }

    pub(crate) fn set_cache(&self, cache: Option<u32>) {
        self.cache
            .store(cache.map_or(0, |number| number + 1), Ordering::Relaxed);
    }

    /// Makes a slot that had another thread ready for this one. The chunk is kept: the next
    /// thread goes on filling it.
    fn prepare(&self, number: u32, thread_pointer: u64) {
        self.number.store(number, Ordering::Relaxed);
        self.clock.clear();
        self.task.store(0, Ordering::Relaxed);
        self.wanted.store(0, Ordering::Relaxed);
        self.cost.store(0, Ordering::Relaxed);
        self.owed.store(0, Ordering::Relaxed);
        self.system.store(0, Ordering::Relaxed);
        self.waits.store(false, Ordering::Relaxed);
        self.wait_count.store(0, Ordering::Relaxed);
        self.wait_cost.store(0, Ordering::Relaxed);
        self.named.store(0, Ordering::Relaxed);
        self.set_states((0, 0));
        self.stack_low.store(0, Ordering::Relaxed);
        self.stack_high.store(0, Ordering::Relaxed);
        self.busy.store(false, Ordering::Relaxed);
        self.thread_pointer.store(thread_pointer, Ordering::Relaxed);
    }
}

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

    /// Enters the calling thread, which has just begun, of an agent. `None`: no room.
    pub fn begin(&self, tid: u32, thread_pointer: u64) -> Option<&'static Slot> {
        let number = self.meet(tid, sys::thread_name())?;
        let Some(old) = self.find(tid) else {
            return self.take_slot(tid, number, thread_pointer);
        };
        // A thread of this id has ended without saying so.
        if let Some(record) = self.record(old.number()) {
            record.finish();
        }
        old.prepare(number, thread_pointer);
        Some(old)
    }

    /// Notes that the calling thread, of an agent, ends. `cpu` is its CPU time in nanoseconds.
    pub fn end(&self, caches: &Caches, tid: u32, cpu: u64) {
        let Some(slot) = self.find(tid) else {
            return;
        };
        // The record first: a signal that finds no slot would take one by a record that lives.
        if let Some(record) = self.record(slot.number()) {
            record.set_name(sys::thread_name());
            record.cpu.store(cpu, Ordering::Relaxed);
            record.finish();
        }
        self.free(slot, caches);
    }

    /// How many records are left that were never used.
    pub fn unused_records(&self) -> usize {
        let met = self.met().load(Ordering::Relaxed) as usize;
        self.records.len().saturating_sub(met)
    }

    /// Forgets all slots and what was kept in them: in the child of a fork, whose tables are new.
    ///
    /// # Safety
    /// No handler runs, and the slots' memory is zeroed.
    pub unsafe fn reset_after_fork(&self) {
        for bits in &self.used {
            bits.store(0, Ordering::Relaxed);
        }
        self.reused.store(0, Ordering::Relaxed);
    }

    /// The places where the slot of a thread may be, nearest first.
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

    /// The slot of a thread that was entered into the records by the command.
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
                    free.chunk.store(NO_CHUNK, Ordering::Relaxed);
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

    /// Numbers a thread that was met for the first time, and fills in its record.
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
                (met < count).then_some(met + 1)
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

    /// Uses a record again that the command has read; looks at so many of them.
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

    /// All threads met so far, with their numbers. Of an agent's, those that are still known.
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
        // Release pairs with the acquire in `find`: whoever takes the slot next finds the chunk
        // as its last owner left it.
        slot.tid.store(FREED, Ordering::Release);
    }
}
