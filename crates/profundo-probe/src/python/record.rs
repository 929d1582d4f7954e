//! A sample with both stacks, written into a room of the buffer.
//!
//! The interpreter's stack is walked first, so that the walk of the native one can find the place
//! of each of its runs. The room then has this order, and is rotated into the order of a record:
//!
//! ```text
//! ┌──────┬──────────────────┬───────────┬──── … ────┬──────────────────────┐
//! │ head │ Python, growing ▶ │ native  ▶ │           │ ◀ code objects, each │
//! └──────┴──────────────────┴───────────┴──── … ────┴──────────────────────┘
//!                                                       becomes
//! ┌──────────────┬──────┬────────┬────────┬──── … ─────────────────────────┐
//! │ code objects │ head │ native │ Python │                                │
//! └──────────────┴──────┴────────┴────────┴──── … ─────────────────────────┘
//! ```

use core::ops::ControlFlow;

use profundo_cpython::{Known, Memory, Step, is_collecting, is_holder, running, walk};
use profundo_unwind::Regs;
use profundo_wire::{End, Gil, PythonEnd, SAMPLE_HEAD_WORDS, SampleHead, State};

use super::chain::Chain;
use super::interpreter::{Interpreter, Ranges};
use super::merge::{Merge, close, entry_at, is_entry, is_open, pair};
use super::page::Page;
use super::pages::ProcessMemory;
use super::spans::span_of;
use crate::buffer::{Buffer, CHUNK_WORDS, MAX_DEPTH, Room};
use crate::claims::Claim;
use crate::heap::{ReadLog, Trails};
use crate::rewalk::{Beginning, Entries};
use crate::slot::Slot;

/// The largest number of words of the interpreter's stack.
pub const MAX_PYTHON: usize = 3500;

/// Pages for a thread that has no cache.
const FEW_PAGES: usize = 16;

/// The parts of a thread's sample besides its stacks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sampled<'a> {
    /// The numbers of the record, without those of the stacks.
    pub head: SampleHead,
    pub registers: Regs,
    /// The values of all registers.
    pub all: &'a [u64],
    /// The thread.
    pub slot: &'a Slot,
    /// True for the process's main thread.
    pub is_main: bool,
    pub beginning: Option<&'a Beginning<'a>>,
    /// The log for reads of the interpreter's frames.
    pub log: Option<&'a ReadLog>,
    /// The known frames, to be used and extended.
    pub trails: Option<&'a Trails>,
}

/// The result of a walk.
struct Filled {
    python: usize,
    native: usize,
    /// The start of the code objects: they go on to the end of the room.
    codes: usize,
    end: End,
    python_end: PythonEnd,
    /// Whether the last entry stands for a run that was cut, and has no place.
    is_cut: bool,
    task: u64,
    /// Whether frames in another interpreter are missing.
    is_partial: bool,
    /// Whether the room was too small.
    is_short: bool,
}

/// Writes one record, and the new code objects; returns the claim to go on with. `native` walks the
/// native stack. `None`: the buffer is full.
pub(crate) fn write(
    interpreter: &'static Interpreter,
    buffer: &Buffer,
    claim: Option<Claim>,
    sampled: &Sampled<'_>,
    mut native: impl FnMut(&mut [u64], &mut Merge<'_>) -> (usize, End),
) -> Option<Claim> {
    if buffer.is_full() {
        return None;
    }
    let ranges = interpreter.ranges();
    let mut few = [(0, 0); FEW_PAGES];
    let lent = interpreter.pages(sampled.slot.cache());
    // SAFETY: the cache is lent to this thread, whose slot is marked busy: no other code uses it.
    let lent = lent.and_then(|pages| unsafe { pages.get().as_mut() });
    // SAFETY: the log is this thread's alone, which does not reenter this.
    let logged = sampled.log.map(|log| unsafe { &mut *log.pages() });
    let pages: &mut [Page] = match (logged, lent) {
        (Some(pages), _) => pages,
        (None, Some(pages)) => pages,
        (None, None) => &mut few,
    };
    let mut memory = ProcessMemory::new(sampled.slot.stack(), pages, sampled.head.clock);
    let (state, below) = states(interpreter, &ranges, sampled, &mut memory);
    if let Some(log) = sampled.log
        && (below != 0 || state != interpreter.thread_state())
    {
        log.lose();
    }
    let mut writer = Writer {
        interpreter,
        buffer,
        ranges,
        state,
        below,
        gil: Gil::None,
        sampled,
    };
    // For an allocation, only its place is wanted.
    if sampled.head.state != State::Allocating {
        writer.gil = match writer.find_gil(&mut memory) {
            Gil::Released if sampled.slot.is_waiting() => Gil::Waiting,
            gil => gil,
        };
    }

    let span = match sampled.head.span {
        0 => writer.find_span(&mut memory),
        span => span,
    };

    let mut room = buffer.open(claim)?;
    let trailer_words = sampled
        .beginning
        .map_or(0, |beginning| beginning.trailer.words());
    let most = sampled.beginning.and_then(|beginning| beginning.most);
    // A cut stack needs no more room than that.
    let most = most.map_or(usize::MAX, |most| SAMPLE_HEAD_WORDS + 2 * most);
    let is_last = most < CHUNK_WORDS || room.words.len() == CHUNK_WORDS;
    let words = all_but(room.words, trailer_words);
    let length = words.len().min(most);
    let words = words.get_mut(..length).unwrap_or_default();
    let mut filled = writer.fill(&mut memory, words, is_last, &mut native);
    if filled.is_short {
        give_back(buffer, room, filled.codes, trailer_words);
        room = buffer.open_for(SAMPLE_HEAD_WORDS + MAX_DEPTH + trailer_words)?;
        filled = writer.fill(
            &mut memory,
            all_but(room.words, trailer_words),
            true,
            &mut native,
        );
    }
    let Some(kept) = buffer.reserve(filled.native) else {
        give_back(buffer, room, filled.codes, trailer_words);
        return None;
    };
    if kept < filled.native {
        filled.end = End::Truncated;
    }
    let head = SampleHead {
        end: filled.end,
        frames: kept as u16,
        python: filled.python as u16,
        python_end: filled.python_end,
        gil: writer.gil,
        span,
        task: if sampled.head.task == 0 {
            filled.task
        } else {
            sampled.head.task
        },
        ..sampled.head
    };
    let words = all_but(room.words, trailer_words);
    let length = words.len().min(most);
    let words = words.get_mut(..length).unwrap_or_default();
    let words = in_order(words, &filled, kept, &head);
    Some(writer.commit(&mut memory, room, words, &filled, &head))
}

/// The words without the last ones, which are kept for the trailer.
fn all_but(words: &mut [u64], last: usize) -> &mut [u64] {
    let count = words.len().saturating_sub(last);
    words.get_mut(..count).unwrap_or_default()
}

/// Turns the written words into records; returns their length.
fn in_order(words: &mut [u64], filled: &Filled, kept: usize, head: &SampleHead) -> usize {
    if let Some(first) = words.first_chunk_mut() {
        *first = head.to_words();
    }
    let both = SAMPLE_HEAD_WORDS..SAMPLE_HEAD_WORDS + filled.python + filled.native;
    if let Some(both) = words.get_mut(both) {
        both.rotate_left(filled.python);
        if let Some(behind) = both.get_mut(kept..) {
            // Frames beyond the budget are dropped between the two.
            behind.rotate_left(filled.native - kept);
        }
    }
    let sample = SAMPLE_HEAD_WORDS + kept + filled.python;
    let codes = words.len() - filled.codes;
    if codes > 0 {
        words.copy_within(filled.codes.., sample);
        if let Some(all) = words.get_mut(..sample + codes) {
            all.rotate_left(sample);
        }
    }
    codes + sample
}

/// Gives a room back without a sample, but with the code objects in it: they will not be written
/// again.
fn give_back(buffer: &Buffer, room: Room<'_>, codes: usize, trailer_words: usize) {
    let words = all_but(room.words, trailer_words);
    let count = words.len().saturating_sub(codes);
    if count == 0 {
        buffer.abandon(room);
        return;
    }
    words.copy_within(codes.., 0);
    buffer.commit_others(room, count);
}

/// The state that the thread runs with, and the one in another interpreter that was suspended when
/// this one began to run; 0 for none.
fn states(
    interpreter: &Interpreter,
    ranges: &Ranges,
    sampled: &Sampled<'_>,
    memory: &mut ProcessMemory<'_>,
) -> (u64, u64) {
    let Sampled {
        slot, registers, ..
    } = sampled;
    let known = Known {
        state: interpreter.thread_state(),
        thread: slot.thread_pointer(),
        is_in_loop: ranges.hold(registers.ip),
    };
    if known.state == 0 {
        return (0, 0);
    }
    let old = slot.states();
    let mut states = old;
    let runtime = interpreter.runtime();
    let now = running(&interpreter.layout, memory, runtime, known, &mut states);
    if states != old {
        slot.set_states(states);
    }
    now
}

/// The inputs of a record.
pub(super) struct Writer<'a> {
    pub(super) interpreter: &'static Interpreter,
    pub(super) buffer: &'a Buffer,
    pub(super) ranges: Ranges,
    /// The thread state.
    pub(super) state: u64,
    /// The state in another interpreter, whose frames may wait below; 0 for none.
    pub(super) below: u64,
    /// The state of the interpreter's lock, seen from the thread.
    pub(super) gil: Gil,
    pub(super) sampled: &'a Sampled<'a>,
}

impl<'a> Writer<'a> {
    /// Publishes the record and the code objects before it, the first `words` words of the room,
    /// with the records that follow the sample.
    fn commit(
        &self,
        memory: &mut ProcessMemory<'_>,
        room: Room<'_>,
        words: usize,
        filled: &Filled,
        head: &SampleHead,
    ) -> Claim {
        let buffer = self.buffer;
        let Some(beginning) = self.sampled.beginning else {
            return buffer.commit(room, words);
        };
        let sample = SAMPLE_HEAD_WORDS + usize::from(head.frames) + filled.python;
        let codes = words - sample;
        let stack = room.words.get(codes + SAMPLE_HEAD_WORDS..words);
        let trailer = match beginning.trailer.of(head, stack.unwrap_or_default()) {
            Some(trailer) => trailer,
            // The code objects stay: they will not be written again.
            None if codes == 0 => return buffer.abandon(room),
            None => return buffer.commit_others(room, codes),
        };
        let (room, words) = match beginning.is_wanted() {
            false => (room, words),
            true => {
                let entries = self.entries(room.words, words, filled);
                let places = |out: &mut [u64]| self.places(memory, out);
                beginning.append(buffer, room, words, entries, places)
            }
        };
        let words = beginning.append_trailer(trailer, room.words, words);
        buffer.commit(room, words)
    }

    /// The entries to be found again among the interpreter's words, which are the last ones of the
    /// used words.
    #[cold]
    fn entries(&self, words: &[u64], used: usize, filled: &Filled) -> Entries {
        let is_by_order = self.interpreter.layout.frame.owner == 0;
        let python = used.saturating_sub(filled.python)..used;
        let python = words.get(python).unwrap_or_default();
        let count = python.iter().filter(|word| is_entry(**word)).count();
        let count = count.saturating_sub(usize::from(filled.is_cut));
        Entries {
            count: if is_by_order { 0 } else { count },
            is_by_order,
            is_partial: filled.is_partial,
        }
    }

    /// Writes the places of the entries on the stack, which the words do not have any more. False:
    /// their number differs.
    #[cold]
    fn places(&self, memory: &mut ProcessMemory<'_>, out: &mut [u64]) -> bool {
        if out.is_empty() {
            return true;
        }
        let (registers, all) = (&self.sampled.registers, self.sampled.all);
        let start = self
            .interpreter
            .start(self.state, registers, &self.ranges, all);
        let mut places = out.iter_mut();
        let mut left = places.len();
        let _ = walk(&self.interpreter.layout, memory, start, |_, step| {
            if let Step::Entry { stack } = step
                && let Some(place) = places.next()
            {
                *place = stack.unwrap_or(0);
                left -= 1;
            }
            match left {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        // Entries in an interpreter below are not found.
        left == 0 && self.below == 0
    }

    /// The state of the lock, found out now if the record does not have it: names are read without
    /// the kernel's check of each word while the thread holds it.
    pub(super) fn gil_for_names(&self, memory: &mut ProcessMemory<'_>) -> Gil {
        match self.sampled.head.state {
            State::Allocating => self.find_gil(memory),
            _ => self.gil,
        }
    }

    /// The state of the lock.
    fn find_gil(&self, memory: &mut ProcessMemory<'_>) -> Gil {
        if self.state == 0 {
            return Gil::None;
        }
        // A state may be freed by another thread when the interpreter is finalised, but not while
        // its own is in the evaluation loop.
        memory.doubt(!self.ranges.hold(self.sampled.registers.ip));
        let runtime = self.interpreter.runtime();
        let is_holder = is_holder(&self.interpreter.layout, memory, runtime, self.state);
        let collects = is_holder == Some(true)
            && is_collecting(&self.interpreter.layout, memory, runtime, self.state) == Some(true);
        memory.doubt(false);
        match is_holder {
            Some(true) if collects => Gil::Collecting,
            Some(true) => Gil::Held,
            Some(false) => Gil::Released,
            None => Gil::None,
        }
    }

    /// The path of the thread's innermost span; 0 outside of spans.
    fn find_span(&self, memory: &mut ProcessMemory<'_>) -> u32 {
        // As for the lock: outside of the evaluation loop a state may have been freed.
        memory.doubt(!self.ranges.hold(self.sampled.registers.ip));
        let span = span_of(memory, self.state);
        memory.doubt(false);
        span
    }

    /// Walks both stacks into the words of a room. `is_last`: there will be no larger one.
    fn fill(
        &self,
        memory: &mut ProcessMemory<'a>,
        words: &mut [u64],
        is_last: bool,
        native: &mut impl FnMut(&mut [u64], &mut Merge<'_>) -> (usize, End),
    ) -> Filled {
        let length = words.len();
        let room = length.saturating_sub(SAMPLE_HEAD_WORDS) / 2;
        let mut chain = Chain {
            writer: self,
            most: SAMPLE_HEAD_WORDS + room.min(MAX_PYTHON),
            at: SAMPLE_HEAD_WORDS.min(length),
            codes: length,
            outermost: None,
            first: None,
            place: self.sampled.registers.sp,
            is_partial: false,
            is_last,
            is_short: false,
        };
        let Sampled { log, trails, .. } = *self.sampled;
        // Frames in another interpreter are another walk.
        let trails = trails.filter(|_| self.below == 0);
        memory.set_log(log, trails);
        if let Some(trails) = trails {
            trails.begin_python(self.interpreter.codes.epoch());
        }
        let python_end = chain.walk(memory, words);
        memory.set_log(None, None);
        if let Some((trails, log)) = trails.zip(log) {
            trails.end_python(python_end == PythonEnd::Whole, log);
        }
        if python_end == PythonEnd::Whole && !self.sampled.is_main {
            chain.write_thread_name(words);
        }
        let task = match python_end {
            PythonEnd::Whole => chain.write_task(memory, words),
            _ => 0,
        };
        let Chain {
            mut at,
            codes,
            is_partial,
            is_short,
            ..
        } = chain;
        // The kept part of a cut run has its place among the native frames all the same.
        let python = words.get(SAMPLE_HEAD_WORDS..at).unwrap_or_default();
        let is_cut = python_end != PythonEnd::Whole && at < codes && is_open(python);
        if is_cut && let Some(word) = words.get_mut(at) {
            *word = entry_at(0);
            at += 1;
        }
        let mut filled = Filled {
            python: at.saturating_sub(SAMPLE_HEAD_WORDS),
            native: 0,
            codes,
            end: End::Truncated,
            python_end,
            is_cut,
            task,
            is_partial,
            is_short,
        };
        if is_short {
            return filled;
        }
        let (before, after) = words.split_at_mut(at);
        let python = before.get_mut(SAMPLE_HEAD_WORDS..).unwrap_or_default();
        let limit = codes.saturating_sub(at).min(MAX_DEPTH);
        let out = after.get_mut(..limit).unwrap_or_default();
        let mut merge = Merge::new(python);
        (filled.native, filled.end) = native(out, &mut merge);
        filled.is_short = filled.end == End::Truncated && limit < MAX_DEPTH && !is_last;
        if self.interpreter.layout.frame.owner == 0 {
            let stack = out.get(..filled.native).unwrap_or_default();
            let is_whole = filled.end == End::Root && python_end == PythonEnd::Whole && !is_partial;
            pair(python, stack, &self.ranges, is_whole);
        } else {
            merge.finish();
            if is_cut {
                close(
                    python,
                    out.get(..filled.native).unwrap_or_default(),
                    &self.ranges,
                );
            }
        }
        filled
    }
}
