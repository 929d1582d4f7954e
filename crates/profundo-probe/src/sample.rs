//! One sample, from the interrupted registers to the published record.

use core::cell::Cell;
use core::sync::atomic::Ordering;

use profundo_unwind::{End as WalkEnd, General, Regs, WalkCache, walk, walk_observed};
use profundo_wire::{End, Gil, PythonEnd, SAMPLE_HEAD_WORDS, SampleHead, State};

use crate::buffer::{Buffer, MAX_DEPTH, Room};
use crate::claims::Claim;
use crate::code::Listing;
use crate::event::{Event, SystemCall};
use crate::heap::{ReadLog, Sharing, Trails};
use crate::memory::StackMemory;
use crate::probe::Probe;
use crate::python::{Merge, Sampled, record};
use crate::rewalk::{Beginning, Entries, Trailer, Unlisted};
use crate::slot::Slot;
use crate::{clock, regs, sys, weight};

/// A tenth of a millisecond or so, in cycles: the time of most deep stacks.
const LONG: u64 = 1 << 18;

/// The stack that the walk of an interpreter's frames needs at most.
const PYTHON_STACK: u64 = 2 << 10;

/// The instant of a sample.
pub(crate) struct Instant {
    pub(crate) event: Event,
    /// The cycle counter.
    pub(crate) clock: u64,
    /// The registers from which the walk starts.
    pub(crate) registers: Regs,
    pub(crate) general: General,
}

/// Further inputs and outputs of a walk.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extras<'a> {
    /// The record that follows the sample.
    pub(crate) trailer: Trailer<'a>,
    /// The log of its reads.
    pub(crate) log: Option<&'a ReadLog>,
    /// The known frames, to be used and extended, besides a log: only where a thread calls a
    /// function of ours.
    pub(crate) trails: Option<&'a Trails>,
    /// The buffer for the record, if it is not the usual one.
    pub(crate) beside: Option<&'a Buffer>,
    /// The limit of kept frames, if it is less than the room.
    pub(crate) most: Option<usize>,
}

/// The reason why a walk ended, in the record's words.
pub fn wire_end(end: WalkEnd) -> End {
    match end {
        WalkEnd::Root => End::Root,
        WalkEnd::Full => End::Truncated,
        WalkEnd::FramePointerUnknown => End::FramePointerUnknown,
        _ => End::Broken,
    }
}

/// The walk of a thread's native frames, which may be repeated in a larger room.
struct NativeWalk<'a> {
    probe: &'a Probe,
    registers: Regs,
    general: &'a General,
    /// When the sample began, by the cycle counter.
    clock: u64,
    memory: StackMemory<'a>,
    cache: Option<*mut WalkCache>,
    log: Option<&'a ReadLog>,
    trails: Option<(&'a Trails, &'a ReadLog)>,
    /// Set if the walk reaches code in no listed module.
    is_unlisted: &'a Cell<bool>,
}

impl NativeWalk<'_> {
    /// Walks into `out`, leaf first; returns the depth and the reason why the walk ended. The
    /// places of the interpreter's entries are merged in, if there are any.
    fn walk(&mut self, out: &mut [u64], merge: Option<&mut Merge<'_>>) -> (usize, End) {
        let Self {
            registers, general, ..
        } = *self;
        let probe = self.probe;
        probe.with_listing(|listing| {
            let Listing {
                modules,
                generation,
            } = listing;
            // SAFETY: the cache is lent to this thread, and `busy` keeps a second handler on it
            // from getting here.
            let mut cache = unsafe { self.cache.and_then(|cache| cache.as_mut()) };
            if let Some(cache) = &mut cache {
                cache.enter(*generation);
            }
            let memory = &mut self.memory;
            let trails = self.trails;
            if let Some((trails, _)) = trails {
                trails.begin_native(*generation);
            }
            let mut unmerged = Unlisted::default();
            let (walked, met) = match merge {
                Some(inner) => {
                    let mut seen = Sharing { inner, trails };
                    let walked =
                        walk_observed(registers, general, modules, cache, memory, out, &mut seen);
                    (walked, seen.inner.is_unlisted)
                }
                None => {
                    let inner = &mut unmerged;
                    let mut seen = Sharing { inner, trails };
                    let walked =
                        walk_observed(registers, general, modules, cache, memory, out, &mut seen);
                    (walked, unmerged.0)
                }
            };
            if met {
                if let Some(log) = self.log {
                    log.meet_unlisted();
                }
                self.is_unlisted.set(true);
                probe.note_unlisted(*generation, self.clock);
            }
            (walked.0, wire_end(walked.1))
        })
    }
}

/// A walk that has been written into its room.
struct Written<'a> {
    room: Room<'a>,
    depth: usize,
    end: End,
}

impl Probe {
    /// Samples the calling thread where the signal interrupted it.
    ///
    /// # Safety
    /// Called from a signal handler with the context that the kernel gave it.
    pub unsafe fn sample(&self, event: Event, context: *const libc::ucontext_t) {
        let began = clock::now();
        let inside = self.enter();
        if self.is_enabled() {
            let more = match self.recorder {
                None => 0,
                Some(_) => PYTHON_STACK,
            };
            let mut most = LONG;
            let work = || {
                // SAFETY: passed on.
                most = most.max(unsafe { self.sample_counted(event, context, began) });
            };
            // SAFETY: passed on.
            let has_run = unsafe { self.stacks.run_with_more(context, more, work) };
            if !has_run {
                self.counters.reentrant.fetch_add(1, Ordering::Relaxed);
            }
            // A handler that took longer than that and than the last one was interrupted itself,
            // and that is no cost of ours.
            let cycles = clock::now().wrapping_sub(began).min(most);
            self.counters.cycles.fetch_add(cycles, Ordering::Relaxed);
            self.counters.handled.fetch_add(1, Ordering::Relaxed);
        }
        drop(inside);
    }

    /// Returns the time that the thread's last sample took, in cycles.
    ///
    /// # Safety
    /// As for `sample`; the caller has counted itself into the code map.
    unsafe fn sample_counted(
        &self,
        event: Event,
        context: *const libc::ucontext_t,
        clock: u64,
    ) -> u64 {
        let tid = sys::thread_id();
        let thread_pointer = regs::thread_pointer();
        let Some(slot) = self.threads.enter(tid, thread_pointer) else {
            self.counters
                .thread_table_full
                .fetch_add(1, Ordering::Relaxed);
            return 0;
        };
        let last = slot.cost();
        if slot.busy.swap(true, Ordering::Relaxed) {
            if self.recorder.is_none() && slot.weighs(&event) {
                // The clock's next tick stands for this one, too.
            } else if event.is_tick() {
                // The interrupted code was about to record an allocation, or another tick.
                slot.owe(event.weight);
            } else if event.system_call != SystemCall::Returned {
                self.counters.reentrant.fetch_add(1, Ordering::Relaxed);
            }
            return last;
        }
        // SAFETY: passed on.
        unsafe { self.sample_slot(slot, event, context, clock) };
        slot.busy.store(false, Ordering::Relaxed);
        last
    }

    /// # Safety
    /// As for `sample_counted`; `slot` is the calling thread's, and marked busy.
    unsafe fn sample_slot(
        &self,
        slot: &Slot,
        mut event: Event,
        context: *const libc::ucontext_t,
        clock: u64,
    ) {
        if let Some(recorder) = &self.recorder {
            if let Some(record) = self.threads.record(slot.number())
                && !weight::weigh(&mut event, slot, record, recorder)
            {
                return;
            }
            if recorder.is_between_regions() {
                // The time until now counts for none of them.
                slot.take_owed();
                return;
            }
        } else if slot.weighs(&event) && !slot.weigh(&mut event) {
            return;
        }
        let is_tick = event.is_tick();
        if is_tick && slot.is_too_soon(clock) {
            slot.owe(event.weight);
            return;
        }
        // SAFETY: passed on.
        let (registers, general) = unsafe { regs::from_context(context) };
        match event.system_call {
            SystemCall::Never => {}
            SystemCall::Check => {
                if event.state == State::Running && regs::is_syscall_at(registers.ip) {
                    event.state = State::System;
                }
            }
            // A signal that was blocked meanwhile comes later, at another place.
            SystemCall::Returned if !regs::is_behind_syscall(registers.ip) => return,
            SystemCall::Returned => {
                let error = regs::error_of(&general);
                event.weight = SampleHead::weight_of_calls(event.weight, error);
                leave_the_step(clock);
            }
            // `weigh` has asked.
            SystemCall::Counted if self.recorder.is_some() => {}
            // The ticks of its timer stand for its system time, too.
            SystemCall::Counted if slot.clock.is_timed() => return,
            SystemCall::Counted => {
                let usage = sys::thread_usage();
                slot.clock.look_at_switches(usage);
                let most = slot.clock.coverable(sys::thread_cpu_time());
                match slot.system_time_since(usage.system, most) {
                    0 => return,
                    weight => {
                        slot.clock.note_covered(weight);
                        event.weight = weight;
                    }
                }
            }
        }
        if event.only_if_wanted {
            match slot.take_wanted() {
                0 => return,
                weight => event.weight = weight,
            }
        }
        if is_tick {
            event.weight = event.weight.saturating_add(slot.take_owed());
        }
        let trailer = match (&self.recorder, event.state) {
            (Some(recorder), State::System) => recorder
                .call_at(&registers, &general, clock)
                .map_or(Trailer::Nothing, Trailer::Call),
            _ => Trailer::Nothing,
        };
        // SAFETY: passed on.
        let all = || unsafe { regs::all_from_context(context, &general) };
        let instant = Instant {
            event,
            clock,
            registers,
            general,
        };
        let extras = Extras {
            trailer,
            ..Extras::default()
        };
        self.write_sample(slot, instant, all, extras);
        slot.note_cost(clock, clock::now());
    }

    /// Walks the stack of the calling thread from the instant's registers, and writes a sample of
    /// it with the record that follows it. Returns whether there was room.
    ///
    /// `all` gives the values of all registers, where they are known.
    pub(crate) fn write_sample(
        &self,
        slot: &Slot,
        instant: Instant,
        all: impl FnOnce() -> [u64; regs::ALL],
        extras: Extras<'_>,
    ) -> bool {
        let Instant {
            event,
            clock,
            registers,
            general,
        } = instant;
        let Extras {
            trailer,
            log,
            trails,
            beside,
            most,
        } = extras;
        // A cut stack is another one.
        let trails = trails.filter(|_| most.is_none());
        let stack_end = self.stack_end(slot.tid(), registers.sp, regs::thread_pointer());
        let memory = StackMemory::new(slot, registers.sp, stack_end).with_log(log);
        let subject = Subject {
            thread: slot.number(),
            tid: slot.tid(),
            task: slot.task(),
            span: slot.span(),
        };
        let head = head_of(subject, event, clock);
        let interpreter = self
            .recorder
            .as_ref()
            .and_then(|recorder| recorder.python.get());
        let is_unlisted = Cell::new(false);
        let mut walk = NativeWalk {
            probe: self,
            registers,
            general: &general,
            clock,
            memory,
            cache: self.cache_of(slot),
            log,
            trails: trails.zip(log),
            is_unlisted: &is_unlisted,
        };
        let beginning = self.recorder.as_ref().map(|recorder| Beginning {
            recorder,
            slot,
            registers,
            general: &general,
            stack_end,
            is_unlisted: &is_unlisted,
            most,
            trailer,
        });
        let beginning = beginning.as_ref();
        let record = |buffer: &Buffer, claim: Option<Claim>| match interpreter {
            None => {
                let native = |out: &mut [u64]| walk.walk(out, None);
                write(buffer, claim, head, native, beginning)
            }
            Some(interpreter) => {
                let all = all();
                let sampled = Sampled {
                    all: &all,
                    head,
                    registers,
                    slot,
                    is_main: slot.tid() == self.pid.load(Ordering::Relaxed),
                    beginning,
                    log,
                    trails,
                };
                let native = |out: &mut [u64], merge: &mut Merge<'_>| walk.walk(out, Some(merge));
                record::write(interpreter, buffer, claim, &sampled, native)
            }
        };
        match beside {
            Some(buffer) => {
                if record(buffer, None).is_none() {
                    return false;
                }
            }
            None => {
                let last = |identity| slot.claim(identity);
                let Some((identity, claim)) = self.record_in(last, record) else {
                    return false;
                };
                slot.set_claim(identity, Some(claim));
            }
        }
        slot.samples.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// The walk cache of a thread that is sampled often enough to deserve one.
    fn cache_of(&self, slot: &Slot) -> Option<*mut WalkCache> {
        const OFTEN: u64 = 16;
        let number = match slot.cache() {
            Some(number) => number,
            None if slot.samples.load(Ordering::Relaxed) < OFTEN => return None,
            None => {
                let number = self.caches.lend()?;
                slot.set_cache(Some(number));
                number
            }
        };
        self.caches.get(number)
    }

    /// Has `write` write one record to the buffer, and counts it. `last` gives the claim to go on
    /// with, for the buffer of this identity; both come back for the next time. `None`: there was
    /// no room.
    #[inline]
    pub(crate) fn record_in(
        &self,
        last: impl FnOnce(u64) -> Option<Claim>,
        write: impl FnOnce(&Buffer, Option<Claim>) -> Option<Claim>,
    ) -> Option<(u64, Claim)> {
        let pointer = self.buffer.load(Ordering::SeqCst);
        // SAFETY: the buffer is replaced only while sampling is off, and freed when no handler
        // is inside: see `CodeMap`, whose orderings this load shares.
        let buffer = unsafe { pointer.as_ref() }?;
        let claim = write(buffer, last(buffer.identity));
        match claim {
            Some(_) => self.counters.taken.fetch_add(1, Ordering::Relaxed),
            None => self.counters.buffer_full.fetch_add(1, Ordering::Relaxed),
        };
        if let Some(recorder) = &self.recorder
            && claim.is_none_or(|claim| buffer.claims().is_filling(claim))
        {
            recorder.ask_to_drain();
        }
        Some((buffer.identity, claim?))
    }
}

impl Probe {
    /// Writes one record on behalf of another thread. `walk` writes the stack into a slice, leaf
    /// first, and returns its depth and the reason why it ends.
    pub fn record_for(
        &self,
        writer: &mut Writer,
        subject: Subject,
        event: Event,
        clock: u64,
        walk: impl FnMut(&mut [u64]) -> (usize, End),
    ) {
        let inside = self.enter();
        let head = head_of(subject, event, clock);
        let last = |identity| writer.claim.filter(|_| writer.buffer == identity);
        let written = self.record_in(last, |buffer, claim| write(buffer, claim, head, walk, None));
        if let Some((identity, claim)) = written {
            *writer = Writer {
                buffer: identity,
                claim: Some(claim),
            };
        }
        drop(inside);
    }
}

/// The place where a normal thread goes on writing samples for others.
#[derive(Debug, Default)]
pub struct Writer {
    buffer: u64,
    claim: Option<Claim>,
}

impl Probe {
    /// Walks the calling thread's own stack from here, into `out`, leaf first. Not for a handler,
    /// which has better registers.
    #[inline(never)]
    pub fn walk_here(&self, out: &mut [u64]) -> (usize, End) {
        let registers = regs::here();
        let tid = sys::thread_id();
        let thread_pointer = regs::thread_pointer();
        let Some(slot) = self.threads.enter(tid, thread_pointer) else {
            return (0, End::Broken);
        };
        let stack_end = self.stack_end(tid, registers.sp, thread_pointer);
        let mut memory = StackMemory::new(slot, registers.sp, stack_end);
        let (depth, end) =
            self.with_listing(|listing| walk(registers, &listing.modules, &mut memory, out));
        (depth, wire_end(end))
    }
}

/// Makes some calls more, a random number of them, so that the next tick of a clock of calls comes
/// at another place of the program's loop: else a loop of few calls would always be met at the same
/// one. They are known to be ours by the place of their code.
fn leave_the_step(clock: u64) {
    const MOST_BITS: u32 = 4;
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    for _ in 0..clock.wrapping_mul(GOLDEN) >> (u64::BITS - MOST_BITS) {
        sys::thread_id();
    }
}

impl Slot {
    /// Whether a tick stands for the time since the one before, in a program that profiles itself.
    #[inline]
    fn weighs(&self, event: &Event) -> bool {
        match event.system_call {
            SystemCall::Never => true,
            SystemCall::Check => self.clock.is_timed(),
            SystemCall::Counted | SystemCall::Returned => false,
        }
    }

    /// The weight of a tick of the thread's task clock, whose nominal period is in the event.
    /// False: it is no sample.
    #[inline]
    fn weigh(&self, event: &mut Event) -> bool {
        if !self.clock.accepts(event.tag) {
            return false;
        }
        if event.only_if_wanted {
            return true;
        }
        if event.system_call == SystemCall::Check {
            self.forget_system_time();
        }
        let nominal = event.weight;
        self.clock.count_tick(nominal);
        event.weight = self.clock.weigh(sys::thread_cpu_time(), nominal);
        event.weight > 0
    }
}

/// The thread, the task and the span of a sample. Thread 0 without a kernel id is none: a parked
/// task.
#[derive(Debug, Clone, Copy, Default)]
pub struct Subject {
    /// The thread's number.
    pub thread: u32,
    /// The kernel's id of the thread.
    pub tid: u32,
    /// The task; 0 for the thread's own.
    pub task: u64,
    /// The path of the innermost span; 0 outside of spans.
    pub span: u32,
}

/// The numbers of a record, without those of its stack.
fn head_of(subject: Subject, event: Event, clock: u64) -> SampleHead {
    SampleHead {
        state: event.state,
        end: End::Truncated,
        frames: 0,
        python: 0,
        python_end: PythonEnd::Whole,
        gil: Gil::None,
        clock,
        weight: event.weight,
        task: subject.task,
        thread: subject.thread,
        tid: subject.tid,
        span: subject.span,
    }
}

/// Writes one record to a buffer, with the depth and the end of its stack filled in; returns the
/// claim to go on with. `None`: the buffer is full.
fn write(
    buffer: &Buffer,
    claim: Option<Claim>,
    head: SampleHead,
    mut walk: impl FnMut(&mut [u64]) -> (usize, End),
    beginning: Option<&Beginning<'_>>,
) -> Option<Claim> {
    if buffer.is_full() {
        return None;
    }
    let trailer_words = beginning.map_or(0, |beginning| beginning.trailer.words());
    let most = beginning
        .and_then(|beginning| beginning.most)
        .unwrap_or(MAX_DEPTH);
    let written = walk_into(buffer, buffer.open(claim)?, trailer_words, most, &mut walk)?;
    let Written {
        room,
        depth,
        mut end,
    } = written;
    let Some(kept) = buffer.reserve(depth) else {
        buffer.abandon(room);
        return None;
    };
    if kept < depth {
        end = End::Truncated;
    }
    let head = SampleHead {
        end,
        frames: kept as u16,
        ..head
    };
    if let Some(first) = room.words.first_chunk_mut() {
        *first = head.to_words();
    }
    let words = SAMPLE_HEAD_WORDS + kept;
    let trailer = match beginning {
        None => Trailer::Nothing,
        Some(beginning) => {
            let stack = room.words.get(SAMPLE_HEAD_WORDS..words).unwrap_or_default();
            match beginning.trailer.of(&head, stack) {
                Some(trailer) => trailer,
                None => return Some(buffer.abandon(room)),
            }
        }
    };
    let (room, words) = match beginning.filter(|beginning| beginning.is_wanted()) {
        None => (room, words),
        Some(beginning) => beginning.append(buffer, room, words, Entries::default(), |_| true),
    };
    let words = beginning.map_or(words, |beginning| {
        beginning.append_trailer(trailer, room.words, words)
    });
    Some(buffer.commit(room, words))
}

/// Walks into the room without its last words, which are kept for the trailer; if that was too
/// small for the stack, of which `most` frames are kept, once more into a new chunk.
fn walk_into<'a>(
    buffer: &'a Buffer,
    room: Room<'a>,
    trailer_words: usize,
    most: usize,
    walk: &mut impl FnMut(&mut [u64]) -> (usize, End),
) -> Option<Written<'a>> {
    let limit = room
        .words
        .len()
        .saturating_sub(SAMPLE_HEAD_WORDS + trailer_words)
        .min(most);
    let out = room
        .words
        .get_mut(SAMPLE_HEAD_WORDS..SAMPLE_HEAD_WORDS + limit)?;
    let (depth, end) = walk(out);
    if end != End::Truncated || limit == most {
        return Some(Written { room, depth, end });
    }
    buffer.abandon(room);
    let room = buffer.open_for(SAMPLE_HEAD_WORDS + most + trailer_words)?;
    let out = room
        .words
        .get_mut(SAMPLE_HEAD_WORDS..SAMPLE_HEAD_WORDS + most)?;
    let (depth, end) = walk(out);
    Some(Written { room, depth, end })
}
