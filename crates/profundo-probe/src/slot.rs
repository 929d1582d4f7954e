//! The sampler's data about one living thread, in its slot of the table ([`crate::threads`]).

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use profundo_cpython::States;

use crate::claims::Claim;
use crate::phase::Phase;
use crate::sys;
use crate::task_clock::ThreadClock;

/// No claim.
const NO_CHUNK: u32 = u32::MAX;
/// In [`Slot::named`]: the name was recorded.
const NAMED: u32 = 1 << 31;

/// The sampler's data about one living thread. All zero is a free slot.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Slot {
    /// The kernel's id of the thread; 0 for none.
    pub(crate) tid: AtomicU32,
    pub(crate) number: AtomicU32,
    /// The value of `pthread_self` in the thread; 0 if unknown.
    pub(crate) thread_pointer: AtomicU64,
    /// Set while this thread is inside the sampler.
    pub(crate) busy: AtomicBool,
    /// The thread's task clock, in a program that profiles itself.
    pub clock: ThreadClock,
    /// The readable part of the thread's own stack, as far as known; 0..0 if unknown.
    pub(crate) stack_low: AtomicU64,
    pub(crate) stack_high: AtomicU64,
    chunk: AtomicU32,
    chunk_state: AtomicU64,
    buffer: AtomicU64,
    task: AtomicU64,
    /// The path of the innermost span that the thread is in; 0 outside of spans.
    span: AtomicU32,
    /// The number of the walk cache lent to this thread, plus one; 0 if none.
    cache: AtomicU32,
    /// The nanoseconds for which the wall-clock helper has asked for this thread's stack since the
    /// last one.
    wanted: AtomicU64,
    /// Samples that were taken.
    pub(crate) samples: AtomicU64,
    /// The end of the last sample, and its duration, in cycles.
    left: AtomicU64,
    cost: AtomicU64,
    /// The weight of samples that were not taken because they came too soon.
    owed: AtomicU64,
    /// The system time that samples stand for so far, by the kernel's count, plus one; 0 before the
    /// first look.
    system: AtomicU64,
    /// The CPU time at that look.
    cpu: AtomicU64,
    /// The progress of a recorded thread's samples.
    pub(crate) phase: Phase,
    /// Whether there was a sample of system time.
    was_in_kernel: AtomicBool,
    /// Whether the thread is waiting for the interpreter's lock.
    waits: AtomicBool,
    /// The number of its waits, and the CPU time of such a wait, in nanoseconds.
    wait_count: AtomicU32,
    wait_cost: AtomicU32,
    /// The number of samples with whole stacks of the interpreter, up to a limit, and whether the
    /// thread's name was recorded.
    named: AtomicU32,
    /// The interpreter's states that the thread ran with: see [`States`].
    last_state: AtomicU64,
    state_before: AtomicU64,
    /// The number of the agent's timer for this thread, plus one; 0 if there is none.
    timer: AtomicU32,
}

impl Slot {
    /// The thread's number, from 1.
    pub fn number(&self) -> u32 {
        self.number.load(Ordering::Relaxed)
    }

    /// Whether the thread is inside the sampler.
    pub fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire)
    }

    /// The kernel's thread id.
    pub fn tid(&self) -> u32 {
        self.tid.load(Ordering::Relaxed)
    }

    /// Notes the thread's timer; returns the one before.
    pub fn replace_timer(&self, timer: Option<u32>) -> Option<u32> {
        let word = timer.map_or(0, |timer| timer.wrapping_add(1));
        self.timer.swap(word, Ordering::AcqRel).checked_sub(1)
    }

    /// The thread's timer.
    pub fn timer(&self) -> Option<u32> {
        self.timer.load(Ordering::Acquire).checked_sub(1)
    }

    /// Notes a timer, if none is noted and the slot still belongs to this thread. Returns whether
    /// it was noted.
    pub fn note_timer(&self, tid: u32, timer: u32) -> bool {
        let word = timer.wrapping_add(1);
        let noted = self
            .timer
            .compare_exchange(0, word, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok();
        if noted && self.tid() != tid {
            // The slot's next owner may have taken it away already.
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

    /// Sets the task that the thread is running; returns the one before.
    pub fn set_task(&self, task: u64) -> u64 {
        self.task.swap(task, Ordering::Relaxed)
    }

    /// The path of the innermost span that the thread is in; 0 outside of spans.
    pub fn span(&self) -> u32 {
        self.span.load(Ordering::Relaxed)
    }

    /// Sets the path of the innermost span; returns the one before. Samples carry it from now on.
    /// A handler that interrupts the thread sees its own stores in their order, so no fence is
    /// needed.
    #[inline]
    pub fn set_span(&self, path: u32) -> u32 {
        let before = self.span();
        self.span.store(path, Ordering::Relaxed);
        before
    }

    /// Asks the thread, which is running, for its stack at its next tick, with this weight in
    /// nanoseconds.
    pub fn want(&self, weight: u64) {
        self.wanted.fetch_add(weight, Ordering::Relaxed);
    }

    /// Takes back the request; returns its weight since the thread's last answer.
    pub fn take_wanted(&self) -> u64 {
        self.wanted.swap(0, Ordering::Relaxed)
    }

    /// Whether the thread has had less time since its last sample than that one took. Samples that
    /// cost more than the period (very deep stacks at a high rate) would otherwise follow each
    /// other without end, and the program would stand still.
    pub(crate) fn is_too_soon(&self, clock: u64) -> bool {
        let since = clock.wrapping_sub(self.left.load(Ordering::Relaxed));
        since < self.cost()
    }

    /// Notes the weight of a sample that came too soon, for the next one to carry.
    pub(crate) fn owe(&self, weight: u64) {
        self.owed.fetch_add(weight, Ordering::Relaxed);
    }

    /// The weight that the next sample has to carry besides its own.
    pub fn take_owed(&self) -> u64 {
        self.owed.swap(0, Ordering::Relaxed)
    }

    /// The duration of the last sample, in cycles.
    pub(crate) fn cost(&self) -> u64 {
        self.cost.load(Ordering::Relaxed)
    }

    /// Notes when a sample began and ended.
    pub(crate) fn note_cost(&self, began: u64, ended: u64) {
        /// Some tens of milliseconds: what took longer was interrupted itself.
        const MOST: u64 = 1 << 26;
        let cost = ended.wrapping_sub(began).min(MOST);
        self.left.store(ended, Ordering::Relaxed);
        self.cost.store(cost, Ordering::Relaxed);
    }

    /// Sets whether the thread is waiting for the interpreter's lock. Called by the thread itself.
    pub fn set_waiting(&self, waits: bool) {
        self.waits.store(waits, Ordering::Relaxed);
    }

    /// Counts a wait for the lock; returns the number of earlier ones.
    pub fn count_wait(&self) -> u32 {
        self.wait_count.fetch_add(1, Ordering::Relaxed)
    }

    /// The CPU time of a wait, as measured lately.
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

    /// Whether a sample is to look for the thread's name in the interpreter: at the first samples,
    /// fewer and fewer, until there is one; and then once more, for a thread that was named while
    /// it ran. Each call is a sample.
    pub(crate) fn wants_name(&self) -> bool {
        const LAST: u32 = 128;
        let before = self.named.load(Ordering::Relaxed);
        let (is_named, count) = (before & NAMED != 0, (before & !NAMED) + 1);
        if count > LAST {
            return false;
        }
        self.named.store(before & NAMED | count, Ordering::Relaxed);
        count == LAST || !is_named && count.is_power_of_two()
    }

    /// The value of `pthread_self` in the thread.
    pub(crate) fn thread_pointer(&self) -> u64 {
        self.thread_pointer.load(Ordering::Relaxed)
    }

    /// The interpreter's states that the thread ran with.
    pub(crate) fn states(&self) -> States {
        States {
            last: self.last_state.load(Ordering::Relaxed),
            before: self.state_before.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn set_states(&self, States { last, before }: States) {
        self.last_state.store(last, Ordering::Relaxed);
        self.state_before.store(before, Ordering::Relaxed);
    }

    /// Notes that the thread's name was recorded.
    pub(crate) fn note_named(&self) {
        self.named.fetch_or(NAMED, Ordering::Relaxed);
    }

    /// The readable part of the thread's own stack, as far as known.
    pub(crate) fn stack(&self) -> (u64, u64) {
        let low = self.stack_low.load(Ordering::Relaxed);
        (low, self.stack_high.load(Ordering::Relaxed))
    }

    /// The system time added since the last look that found enough for a sample. `now` is all of
    /// it, in nanoseconds. What is above `most` is left for the next look.
    pub(crate) fn system_time_since(&self, now: u64, most: u64) -> u64 {
        /// The kernel counts by its own ticks, but scales its counts: small amounts wait until they
        /// are worth a sample.
        const LEAST: u64 = 1_000_000;
        let before = self.system.load(Ordering::Relaxed);
        let since = match before.checked_sub(1) {
            Some(before) => now.saturating_sub(before),
            None => 0,
        };
        let taken = since.min(most);
        if before == 0 || taken >= LEAST {
            let left = since - taken;
            self.system.store(now - left + 1, Ordering::Relaxed);
        }
        if taken >= LEAST { taken } else { 0 }
    }

    /// Counts system time anew from the next look on: a sample stands for all of it so far.
    pub(crate) fn forget_system_time(&self) {
        self.system.store(0, Ordering::Relaxed);
    }

    /// Notes the thread's system time and its CPU time; returns the increase of both since they
    /// were last noted.
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

    /// Notes the kernel's counts for the thread when its part in the recording began: its samples
    /// are to lie a period apart.
    pub(crate) fn begin_phase(&self, cpu: u64, usage: sys::ThreadUsage, period: u64) {
        self.note_system_times(cpu, usage);
        self.phase.begin(cpu, usage, period, self.tid().into());
    }

    /// Starts to sample a thread that has run for `cpu` nanoseconds, in a program that profiles
    /// itself.
    pub fn begin(&self, cpu: u64) {
        self.clock.begin(cpu);
        // Its system time before is not this session's.
        self.forget_system_time();
    }

    /// Notes the system time of the thread, which is counted from now on.
    pub(crate) fn note_system_times(&self, cpu: u64, usage: sys::ThreadUsage) {
        self.was_in_kernel.store(false, Ordering::Relaxed);
        self.times_since(usage.system, cpu);
    }

    /// The number of samples taken of it.
    pub fn samples(&self) -> u64 {
        self.samples.load(Ordering::Relaxed)
    }

    /// The thread's last chunk, in the buffer with this identity.
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

    /// Notes that the slot has no chunk: zero is the number of one.
    pub(crate) fn forget_chunk(&self) {
        self.chunk.store(NO_CHUNK, Ordering::Relaxed);
    }

    /// The number of the walk cache lent to this thread.
    pub(crate) fn cache(&self) -> Option<u32> {
        self.cache.load(Ordering::Relaxed).checked_sub(1)
    }

    pub(crate) fn set_cache(&self, cache: Option<u32>) {
        self.cache
            .store(cache.map_or(0, |number| number + 1), Ordering::Relaxed);
    }

    /// Prepares another thread's former slot for this one. The chunk is kept: the next thread goes
    /// on filling it.
    pub(crate) fn prepare(&self, number: u32, thread_pointer: u64) {
        self.number.store(number, Ordering::Relaxed);
        self.clock.clear();
        self.task.store(0, Ordering::Relaxed);
        self.span.store(0, Ordering::Relaxed);
        self.wanted.store(0, Ordering::Relaxed);
        self.cost.store(0, Ordering::Relaxed);
        self.owed.store(0, Ordering::Relaxed);
        self.system.store(0, Ordering::Relaxed);
        self.waits.store(false, Ordering::Relaxed);
        self.wait_count.store(0, Ordering::Relaxed);
        self.wait_cost.store(0, Ordering::Relaxed);
        self.named.store(0, Ordering::Relaxed);
        self.set_states(States::default());
        self.stack_low.store(0, Ordering::Relaxed);
        self.stack_high.store(0, Ordering::Relaxed);
        self.busy.store(false, Ordering::Relaxed);
        self.thread_pointer.store(thread_pointer, Ordering::Relaxed);
    }
}
