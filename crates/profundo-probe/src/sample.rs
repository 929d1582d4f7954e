//! One sample, from the interrupted registers to the published record.

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use profundo_unwind::{End as WalkEnd, General, Regs, WalkCache, walk, walk_observed};
use profundo_wire::{End, Gil, PythonEnd, SAMPLE_HEAD_WORDS, SampleHead, State};

use crate::buffer::{Buffer, Room};
use crate::caches::Caches;
use crate::claims::Claim;
use crate::code::Listing;
use crate::heap::{ReadLog, Sharing, Trails};
use crate::memory::StackMemory;
use crate::python::{Merge, Sampled, record};
use crate::recorder::Recorder;
use crate::rewalk::{Beginning, Behind, Entries, Unlisted};
use crate::stacks::Stacks;
use crate::threads::{Slot, Threads};
use crate::{CodeMap, clock, phase, regs, sys};

/// The deepest stack that is kept; what is deeper ends in `[truncated]`.
pub const MAX_DEPTH: usize = 4096;

/// How many words all registers of a thread are, the vector ones included.
pub(crate) const ALL_REGISTERS: usize = regs::ALL;

/// A tenth of a millisecond or so, in cycles: what the deepest stacks take.
const LONGEST: u64 = 1 << 18;

/// What the walk of an interpreter's stack needs of the handler's, at most.
const PYTHON_STACK: u64 = 2 << 10;

/// What the signal says.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// The nanoseconds that this sample stands for. Of a task clock's tick, in a program that profiles itself, the nominal
    /// period, until the handler knows better.
    pub weight: u64,
    /// What the thread was doing.
    pub state: State,
    /// Which perf event it came from, 0 if none. A thread is sampled by the first one only.
    pub tag: u64,
    /// What to make of a thread that was inside a system call.
    pub system_call: SystemCall,
    /// Take it only if the wall-clock helper has asked for this thread, as often as it asked.
    pub only_if_wanted: bool,
}

impl Event {
    /// Whether it is one of a clock's that ticks while the thread runs, and whose ticks add up to its time.
    fn is_tick(&self) -> bool {
        self.system_call != SystemCall::Counted && !self.only_if_wanted
    }
}

/// What to make of a thread that was inside a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemCall {
    /// The clock ticks in user code alone: do not look.
    Never,
    /// Look, and say so in the sample's state.
    Tell,
    /// Do not look, but ask how much system time the kernel has counted for the thread since it
    /// was asked last: so much the sample stands for, and without any it is not taken. Page
    /// faults are in it, which nothing in the registers would tell.
    Counted,
}

/// What did not become a sample, and what sampling cost.
#[derive(Debug, Default)]
#[repr(C)]
#[expect(missing_docs, reason = "each name says what is counted")]
pub struct Counters {
    pub taken: AtomicU64,
    pub buffer_full: AtomicU64,
    pub reentrant: AtomicU64,
    pub thread_table_full: AtomicU64,
    /// Cycles that handlers ran.
    pub cycles: AtomicU64,
    /// How often a handler ran.
    pub handled: AtomicU64,
    /// How often threads of a recorded program were switched, and how often of that while they had task clocks.
    pub switches: AtomicU64,
    pub clocked_switches: AtomicU64,
}

/// What is wanted of a walk besides the record.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Notes<'a> {
    /// Where it notes what it reads.
    pub(crate) log: Option<&'a ReadLog>,
    /// What is known of frames, and is to be known, besides a log: only where a thread calls a function of ours.
    pub(crate) trails: Option<&'a Trails>,
    /// Where the record is written to, if not to the buffer.
    pub(crate) beside: Option<&'a Buffer>,
    /// How many frames are kept at most, if not as many as there is room for.
    pub(crate) most: Option<usize>,
}

/// Everything the handler needs. It lives as long as the process.
#[derive(Debug)]
pub struct Probe {
    /// Who is sampled.
    pub threads: Threads,
    /// Rows found lately, for the busiest of them.
    pub caches: Caches,
    /// Where samples are taken, if the signal's own stack is too small.
    pub stacks: Stacks,
    /// How stacks are walked.
    pub code: CodeMap,
    /// What went wrong.
    pub counters: &'static Counters,
    /// What is shared with a command that records this process; none in a program that profiles
    /// itself. It then takes the place of `code` and `enabled`.
    pub recorder: Option<Recorder>,
    /// Whether samples are wanted. A signal that comes after the end is ignored.
    pub enabled: AtomicBool,
    /// Where samples go; null before the first session.
    pub buffer: AtomicPtr<Buffer>,
    /// The process's id, which is the main thread's. 0 in the child of a fork whose only thread is
    /// not on the main thread's stack.
    pub pid: AtomicU32,
    /// Where the main thread's stack ends.
    pub main_stack_end: u64,
}

/// Why a walk ended, as its record says it.
pub fn wire_end(end: WalkEnd) -> End {
    match end {
        WalkEnd::Root => End::Root,
        WalkEnd::Full => End::Truncated,
        WalkEnd::FramePointerUnknown => End::FramePointerUnknown,
        _ => End::Broken,
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
            // SAFETY: passed on, twice.
            let has_run = unsafe {
                self.stacks
                    .run_with_more(context, more, || self.sample_counted(event, context, began))
            };
            if !has_run {
                self.counters.reentrant.fetch_add(1, Ordering::Relaxed);
            }
            // Who takes longer was interrupted himself, and that is no cost of ours.
            let cycles = clock::now().wrapping_sub(began).min(LONGEST);
            self.counters.cycles.fetch_add(cycles, Ordering::Relaxed);
            self.counters.handled.fetch_add(1, Ordering::Relaxed);
        }
        drop(inside);
    }

    /// # Safety
    /// As for `sample`; the caller has counted itself into the code map.
    unsafe fn sample_counted(&self, event: Event, context: *const libc::ucontext_t, clock: u64) {
        let tid = sys::thread_id();
        let thread_pointer = regs::thread_pointer();
        let Some(slot) = self.threads.enter(tid, thread_pointer) else {
            self.counters
                .thread_table_full
                .fetch_add(1, Ordering::Relaxed);
            return;
        };
        if slot.busy.swap(true, Ordering::Relaxed) {
            if self.recorder.is_none() && slot.weighs(&event) {
                // The clock's next tick stands for this one, too.
            } else if event.is_tick() {
                // It was about to tell of an allocation, or of another tick.
                slot.owe(event.weight);
            } else {
                self.counters.reentrant.fetch_add(1, Ordering::Relaxed);
            }
            return;
        }
        // SAFETY: passed on.
        unsafe { self.sample_slot(slot, event, context, clock) };
        slot.busy.store(false, Ordering::Relaxed);
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
                && !phase::weigh(&mut event, slot, record, recorder)
            {
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
            SystemCall::Tell => {
                if event.state == State::Running && regs::is_syscall_at(registers.ip) {
                    event.state = State::System;
                }
            }
            // `weigh` has asked.
            SystemCall::Counted if self.recorder.is_some() => {}
            SystemCall::Counted => {
                let usage = sys::thread_usage();
                slot.clock.look_at_switches(usage);
                match slot.system_time_since(usage.system) {
                    0 => return,
                    weight => {
                        slot.clock.note_told(weight);
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
        let told = match (&self.recorder, event.state) {
            (Some(recorder), State::System) => recorder
                .call_at(&registers, &general, clock)
                .map_or(Behind::Nothing, Behind::Call),
            _ => Behind::Nothing,
        };
        // SAFETY: passed on.
        let all = || unsafe { regs::all_from_context(context, &general) };
        self.write_sample(
            slot,
            (event, clock),
            (registers, general),
            all,
            (told, Notes::default()),
        );
        slot.note_cost(clock, clock::now());
    }

    /// Walks the stack of the calling thread from these registers, and writes a sample of it with what
    /// is told behind it. Returns whether there was room.
    ///
    /// `all` gives what all registers hold, where that is known.
    pub(crate) fn write_sample(
        &self,
        slot: &Slot,
        (event, clock): (Event, u64),
        (registers, general): (Regs, General),
        all: impl FnOnce() -> [u64; ALL_REGISTERS],
        (told, notes): (Behind<'_>, Notes<'_>),
    ) -> bool {
        let Notes {
            log,
            trails,
            beside,
            most,
        } = notes;
        // A stack that is cut is another one.
        let trails = trails.filter(|_| most.is_none());
        let cache = self.cache_of(slot);
        let stack_end = self.stack_end(slot.tid(), registers.sp, regs::thread_pointer());
        let mut memory = StackMemory::new(slot, registers.sp, stack_end).with_log(log);
        let who = Who {
            thread: slot.number(),
            tid: slot.tid(),
            task: slot.task(),
        };
        let interpreter = self.recorder.as_ref().and_then(|own| own.python.get());
        let is_unlisted = Cell::new(false);
        let mut native = |out: &mut [u64], merge: Option<&mut Merge<'_>>| {
            self.with_listing(
                |Listing {
                     modules,
                     generation,
                 }| {
                    // SAFETY: the cache is lent to this thread, and `busy` keeps a second handler
                    // on it from getting here.
                    let mut cache = unsafe { cache.and_then(|cache| cache.as_mut()) };
                    if let Some(cache) = &mut cache {
                        cache.enter(*generation);
                    }
                    let memory = &mut memory;
                    let trails = trails.zip(log);
                    if let Some((trails, _)) = trails {
                        trails.begin_native(*generation);
                    }
                    let mut nobody = Unlisted::default();
                    let (walked, met) = match merge {
                        Some(inner) => {
                            let mut seen = Sharing { inner, trails };
                            let seen = &mut seen;
                            let walked = walk_observed(
                                registers, &general, modules, cache, memory, out, seen,
                            );
                            (walked, seen.inner.is_unlisted)
                        }
                        None => {
                            let inner = &mut nobody;
                            let mut seen = Sharing { inner, trails };
                            let seen = &mut seen;
                            let walked = walk_observed(
                                registers, &general, modules, cache, memory, out, seen,
                            );
                            (walked, nobody.0)
                        }
                    };
                    if met {
                        if let Some(log) = log {
                            log.meet_unlisted();
                        }
                        is_unlisted.set(true);
                        self.note_unlisted(*generation, clock);
                    }
                    (walked.0, wire_end(walked.1))
                },
            )
        };
        let beginning = self.recorder.as_ref().map(|recorder| Beginning {
            recorder,
            slot,
            registers,
            general: &general,
            stack_end,
            is_unlisted: &is_unlisted,
            most,
            told,
        });
        let beginning = beginning.as_ref();
        let record = |buffer: &Buffer, claim: Option<Claim>| match interpreter {
            None => {
                let native = |out: &mut [u64]| native(out, None);
                write(buffer, claim, (who, event, clock), native, beginning)
            }
            Some(interpreter) => {
                let all = all();
                let sampled = Sampled {
                    all: &all,
                    head: head_of(who, event, clock),
                    registers,
                    slot,
                    is_main: slot.tid() == self.pid.load(Ordering::Relaxed),
                    beginning,
                    log,
                    trails,
                };
                let native = |out: &mut [u64], merge: &mut Merge<'_>| native(out, Some(merge));
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

    /// Whether the calling thread is taking a sample at this instant, which only code that the
    /// sampler itself called by mistake can find out.
    pub fn is_inside(&self) -> bool {
        let slot = self.threads.find(sys::thread_id());
        slot.is_some_and(|slot| slot.busy.load(Ordering::Relaxed))
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

    /// Where the own stack ends of the thread whose stack pointer is `sp`; 0 if it is not known,
    /// or if `sp` lies in another stack.
    ///
    /// A thread's control block is at the top of its stack, but not the main thread's: that one
    /// lies among other mappings, and a coroutine's stack may come to lie right below it.
    pub(crate) fn stack_end(&self, tid: u32, sp: u64, thread_pointer: u64) -> u64 {
        const LARGEST: u64 = 1 << 30;
        let above = self.main_stack_end.wrapping_sub(sp);
        if tid != self.pid.load(Ordering::Relaxed) {
            thread_pointer
        } else if above < LARGEST {
            self.main_stack_end
        } else {
            0
        }
    }

    /// Writes one record. `walk` writes the stack into the slice it is given, leaf first, and
    /// says how deep it is and why it ends. `last` tells the claim to go on with, for the buffer
    /// of this identity; both come back for the next time. `None`: there was no room.
    fn record_as(
        &self,
        what: (Who, Event, u64),
        walk: impl FnMut(&mut [u64]) -> (usize, End),
        beginning: Option<&Beginning<'_>>,
        last: impl FnOnce(u64) -> Option<Claim>,
    ) -> Option<(u64, Claim)> {
        self.record_in(last, |buffer, claim| {
            write(buffer, claim, what, walk, beginning)
        })
    }

    /// Has `write` write one record to the buffer, and counts it.
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
    /// Writes one record on behalf of another thread. `whose` is that thread's number, its kernel
    /// id and its task.
    pub fn record_for(
        &self,
        writer: &mut Writer,
        whose: (u32, u32, u64),
        event: Event,
        clock: u64,
        walk: impl FnMut(&mut [u64]) -> (usize, End),
    ) {
        let inside = self.enter();
        let (thread, tid, task) = whose;
        let who = Who { thread, tid, task };
        let last = |identity| writer.claim.filter(|_| writer.buffer == identity);
        if let Some((identity, claim)) = self.record_as((who, event, clock), walk, None, last) {
            *writer = Writer {
                buffer: identity,
                claim: Some(claim),
            };
        }
        drop(inside);
    }
}

/// Where a normal thread goes on writing samples for others.
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

impl Slot {
    /// Whether a tick stands for the time since the one before, in a program that profiles itself.
    #[inline]
    fn weighs(&self, event: &Event) -> bool {
        match event.system_call {
            SystemCall::Never => true,
            SystemCall::Tell => self.clock.is_timed(),
            SystemCall::Counted => false,
        }
    }

    /// What a tick of the thread's task clock stands for, whose nominal period the event weighs. False: it is no sample.
    #[inline]
    fn weigh(&self, event: &mut Event) -> bool {
        if !self.clock.accepts(event.tag) {
            return false;
        }
        if event.only_if_wanted {
            return true;
        }
        let nominal = event.weight;
        self.clock.count_tick(nominal);
        event.weight = self.clock.weigh(sys::thread_cpu_time(), nominal);
        event.weight > 0
    }
}

/// Whose sample it is.
#[derive(Debug, Clone, Copy)]
struct Who {
    thread: u32,
    tid: u32,
    /// 0 for the thread's own.
    task: u64,
}

/// The numbers of a record, its stack not counted.
fn head_of(who: Who, event: Event, clock: u64) -> SampleHead {
    SampleHead {
        state: event.state,
        end: End::Truncated,
        frames: 0,
        python: 0,
        python_end: PythonEnd::Whole,
        gil: Gil::None,
        clock,
        weight: event.weight,
        task: who.task,
        thread: who.thread,
        tid: who.tid,
    }
}

/// Writes one record to a buffer; returns the claim to go on with. `None`: the buffer is full.
fn write(
    buffer: &Buffer,
    claim: Option<Claim>,
    (who, event, clock): (Who, Event, u64),
    mut walk: impl FnMut(&mut [u64]) -> (usize, End),
    beginning: Option<&Beginning<'_>>,
) -> Option<Claim> {
    if buffer.is_full() {
        return None;
    }
    let behind = beginning.map_or(0, |it| it.told.words());
    let most = beginning.and_then(|it| it.most).unwrap_or(MAX_DEPTH);
    let written = walk_into(buffer, buffer.open(claim)?, (behind, most), &mut walk)?;
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
        ..head_of(who, event, clock)
    };
    if let Some(first) = room.words.first_chunk_mut() {
        *first = head.to_words();
    }
    let words = SAMPLE_HEAD_WORDS + kept;
    let told = match beginning {
        None => Behind::Nothing,
        Some(beginning) => {
            let stack = room.words.get(SAMPLE_HEAD_WORDS..words).unwrap_or_default();
            match beginning.told.of(&head, stack) {
                Some(told) => told,
                None => return Some(buffer.abandon(room)),
            }
        }
    };
    let (room, words) = match beginning.filter(|it| it.is_wanted()) {
        None => (room, words),
        Some(beginning) => beginning.append(buffer, room, words, Entries::default(), |_| true),
    };
    let words = beginning.map_or(words, |it| it.append_told(told, room.words, words));
    Some(buffer.commit(room, words))
}

/// Walks into the room, but the last words of it, so many as are wanted `behind`; if that was too small
/// for the stack, of which `most` frames are kept, once more into a new chunk.
fn walk_into<'a>(
    buffer: &'a Buffer,
    room: Room<'a>,
    (behind, most): (usize, usize),
    walk: &mut impl FnMut(&mut [u64]) -> (usize, End),
) -> Option<Written<'a>> {
    let limit = room
        .words
        .len()
        .saturating_sub(SAMPLE_HEAD_WORDS + behind)
        .min(most);
    let out = room
        .words
        .get_mut(SAMPLE_HEAD_WORDS..SAMPLE_HEAD_WORDS + limit)?;
    let (depth, end) = walk(out);
    if end != End::Truncated || limit == most {
        return Some(Written { room, depth, end });
    }
    buffer.abandon(room);
    let room = buffer.open_for(SAMPLE_HEAD_WORDS + most + behind)?;
    let out = room
        .words
        .get_mut(SAMPLE_HEAD_WORDS..SAMPLE_HEAD_WORDS + most)?;
    let (depth, end) = walk(out);
    Some(Written { room, depth, end })
}
