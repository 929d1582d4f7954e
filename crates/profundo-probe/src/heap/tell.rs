//! An allocation becomes a record: the stack that asked for it, and the block behind it.
//!
//! It is the same walk that a sample of a clock is, but from a call of ours, so it begins where that
//! returns to. A handler that comes meanwhile finds the thread's slot busy, and adds its time to the next
//! sample's.

use core::cell::Cell;
use core::sync::atomic::Ordering;

use super::pens::NotWritten;

use profundo_unwind::{General, Memory as _, Regs};
use profundo_wire::{
    BLOCK_WORDS, Block, Freed, SAMPLE_HEAD_WORDS, SampleHead, Site, Source, State,
};

use crate::buffer::Buffer;
use crate::claims::Claim;
use crate::heap::known::{Beginning, Besides, Known, KnownRoom};
use crate::heap::recall::{Kept, Recall};
use crate::heap::sites::{Hash, Means, Sites, Walked};
use crate::memory::StackMemory;
use crate::python::Interpreter;
use crate::rewalk::Behind;
use crate::sample::{ALL_REGISTERS, Event, Notes, Probe, SystemCall};
use crate::shared::{SITES, SumsHeader};
use crate::{clock, regs, sys};

/// The registers of a thread that has called a function of ours, as they are when that returns.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    /// Where it goes on, its stack pointer and its frame pointer.
    pub registers: Regs,
    /// What else it may find its frames by: `rbx` on x86-64.
    pub base: u64,
}

impl Caller {
    fn besides(&self) -> Besides {
        Besides {
            frame_pointer: self.registers.fp,
            general: self.base,
        }
    }

    fn general(&self) -> General {
        /// By DWARF's numbers for x86-64.
        const BASE: usize = 3;
        const FRAME: usize = 6;
        const STACK: usize = 7;
        let mut general = [0; 16];
        if cfg!(target_arch = "x86_64") {
            (general[BASE], general[FRAME]) = (self.base, self.registers.fp);
            general[STACK] = self.registers.sp;
        }
        General(general)
    }
}

/// How many frames are kept of a stack for which there is little room, native ones and Python's each: more than there
/// are between most lines and what they call. And where there is hardly any room left.
const SHORT: usize = 96;
const SHORTEST: usize = 16;

/// How many are kept of a stack that is too deep to be walked as a whole each time: more than nested imports have, so that
/// those keep the line of the program that they began with.
const DEEP: usize = 256;

/// How many frames are kept of a new stack, if there is not room for many more stacks, or if the recorder is late.
fn room_for(header: &SumsHeader) -> Option<usize> {
    let count = header.sites.load(Ordering::Relaxed) as usize;
    if count > SITES / 16 * 15 {
        Some(SHORTEST)
    } else if count > SITES / 4 * 3 || header.stacks.free() == 0 {
        Some(SHORT)
    } else {
        None
    }
}

/// How stacks get numbers.
#[derive(Debug)]
pub struct Numbers<'a> {
    /// What the thread knows.
    pub known: &'a mut Known,
    /// How much all its threads may know together.
    pub room: &'a KnownRoom,
    /// What the process knows.
    pub sites: &'a Sites,
    /// Where numbers come from, and where it is told what they mean.
    pub means: Means<'a>,
}

/// Why something was not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untold {
    /// Samples are not wanted at present.
    Unwanted,
    /// The thread is in a handler that has interrupted the telling of something else, or it is not known.
    Stranger,
    /// There is no room.
    Full,
}

/// Writes a stack and a block behind it; returns the claim to go on with. `None`: there is no room.
fn write_kept(
    buffer: &Buffer,
    claim: Option<Claim>,
    head: &SampleHead,
    stack: &[u64],
    block: &Block,
) -> Option<Claim> {
    let words = SAMPLE_HEAD_WORDS + stack.len() + BLOCK_WORDS;
    let mut room = buffer.open(claim)?;
    if room.words.len() < words {
        buffer.abandon(room);
        room = buffer.open_for(words)?;
    }
    let place = room.words.get_mut(..words).filter(|_| {
        let frames = head.frames.into();
        buffer.reserve(frames) == Some(frames)
    });
    let Some((first, rest)) = place.and_then(|place| place.split_first_chunk_mut()) else {
        buffer.abandon(room);
        return None;
    };
    *first = head.to_words();
    let (middle, last) = rest.split_at_mut(stack.len());
    middle.copy_from_slice(stack);
    last.copy_from_slice(&block.to_words());
    Some(buffer.commit(room, words))
}

impl Probe {
    /// Tells of a block that the calling thread has been given. The clock is filled in.
    pub fn tell_block(&self, caller: &Caller, block: Block) -> Result<(), Untold> {
        let told = |clock| Behind::Block(Block { clock, ..block });
        if !self.is_enabled() {
            return Err(Untold::Unwanted);
        }
        self.tell_stack(caller, told, Notes::default())
    }

    /// As [`Self::tell_block`], and the stack is walked only if it is none of those that the thread remembers.
    ///
    /// # Safety
    /// The thread has just come from there, and `recall` is its own.
    pub unsafe fn tell_block_by(
        &self,
        recall: &mut Recall,
        caller: &Caller,
        block: Block,
    ) -> Result<(), Untold> {
        if !self.is_enabled() {
            return Err(Untold::Unwanted);
        }
        let now = clock::now();
        // SAFETY: the caller vouches. Whoever asks for memory has the same stack.
        let (beginning, besides) = (unsafe { self.beginning(caller, 0) }, caller.besides());
        // SAFETY: as above; the state is the one that it has now.
        if let Some(kept) = unsafe { recall.find(&beginning, &besides, now) } {
            let clock = now;
            return self.tell_kept(&kept, Block { clock, ..block });
        }
        recall.walk((beginning, besides), now, |log, keep| {
            let notes = Notes {
                log: Some(log),
                ..Notes::default()
            };
            let told = |clock| Behind::Kept(keep, Block { clock, ..block });
            self.tell_stack(caller, told, notes)
        })
    }

    /// Tells of a block whose stack was told before.
    fn tell_kept(&self, kept: &Kept<'_>, block: Block) -> Result<(), Untold> {
        let slot = self
            .threads
            .enter(sys::thread_id(), regs::thread_pointer())
            .ok_or(Untold::Stranger)?;
        if slot.busy.swap(true, Ordering::Relaxed) {
            return Err(Untold::Stranger);
        }
        let head = SampleHead {
            clock: block.clock,
            task: slot.task(),
            thread: slot.number(),
            tid: slot.tid(),
            ..kept.head
        };
        let written = self.record_in(
            |identity| slot.claim(identity),
            |buffer, claim| write_kept(buffer, claim, &head, kept.words, &block),
        );
        if let Some((identity, claim)) = written {
            slot.set_claim(identity, Some(claim));
            slot.samples.fetch_add(1, Ordering::Relaxed);
        }
        slot.busy.store(false, Ordering::Relaxed);
        written.map(drop).ok_or(Untold::Full)
    }

    /// The number of the stack that the calling thread has come from, which is told if it gets one now, whether
    /// samples are wanted or not. 0 if there is none for it.
    ///
    /// # Safety
    /// The thread has just come from there, and `known` is its own. `now` is what the cycle counter says.
    #[inline]
    pub unsafe fn site(
        &self,
        caller: Caller,
        source: Source,
        now: u64,
        numbers: Numbers<'_>,
    ) -> u32 {
        // SAFETY: the caller vouches.
        let beginning = unsafe { self.beginning(&caller, source as u64) };
        let besides = caller.besides();
        // SAFETY: the caller vouches; the state is the one that it has now.
        let whole = || unsafe { self.whole_hint(beginning.state) };
        // SAFETY: the caller vouches.
        match unsafe { numbers.known.find(&beginning, &besides, now, whole) } {
            Some(site) => site,
            None => self.new_site(&caller, source, beginning, numbers),
        }
    }

    /// What a walk from here begins with.
    ///
    /// # Safety
    /// The calling thread has just come from there.
    #[inline]
    unsafe fn beginning(&self, caller: &Caller, source: u64) -> Beginning {
        let Regs { ip, sp, .. } = caller.registers;
        let interpreter = self.recorder.as_ref().and_then(|own| own.python.get());
        let state = interpreter.map_or(0, Interpreter::thread_state);
        // SAFETY: the thread runs with that state, and calls something.
        let leaf = interpreter.map_or(0, |it| unsafe { it.leaf_hint(state) });
        Beginning {
            registers: [ip, sp],
            state,
            leaf,
            generation: self.generation(),
            source,
        }
    }

    /// What tells the stack of the interpreter's frames from most others.
    ///
    /// # Safety
    /// The calling thread runs with that state, and calls something.
    #[inline(never)]
    unsafe fn whole_hint(&self, state: u64) -> u64 {
        let interpreter = self.recorder.as_ref().and_then(|own| own.python.get());
        // SAFETY: the caller vouches.
        interpreter.map_or(0, |it| unsafe { it.chain_hint(state) })
    }

    #[cold]
    #[inline(never)]
    fn new_site(
        &self,
        caller: &Caller,
        source: Source,
        beginning: Beginning,
        numbers: Numbers<'_>,
    ) -> u32 {
        let Numbers {
            known,
            room,
            sites,
            means,
        } = numbers;
        let began = clock::now();
        let most = match known.is_too_deep(&beginning, began) {
            true => Some(room_for(means.header).unwrap_or(DEEP)),
            false => room_for(means.header),
        };
        known.begin_walk(began);
        let before = means.header.sites.load(Ordering::Relaxed);
        let found = Cell::new(None);
        let ask = |head: &SampleHead, words: &[u64]| {
            // The recorder walks it once more when it knows the code, so it is told as a whole.
            let is_unlisted = known.log.met_unlisted();
            let walked = Walked {
                head,
                source,
                words,
                rest: is_unlisted.then(|| self.code_on_stack(caller)),
            };
            found.set(self.write_with(means, || sites.number(means, &walked)));
            let (number, unknown) = found.get()?;
            unknown.map(|_| Site {
                clock: head.clock,
                number,
                source,
            })
        };
        let mut are_told = true;
        let told = known.walk_buffer.with(
            |buffer| {
                let notes = Notes {
                    log: Some(&known.log),
                    trails: Some(&known.trails),
                    beside: Some(buffer),
                    most,
                };
                self.tell_stack(caller, |_| Behind::Ask(&ask), notes)
            },
            // Code objects that were met for the first time, and stacks that are walked once more.
            |records| {
                let written = self.write_with(means, || sites.write_records(means, records));
                are_told &= written.is_some();
            },
        );
        let Some((number, unknown)) = found.get().filter(|_| told.is_ok() && are_told) else {
            return 0;
        };
        if let Some(hash) = unknown {
            sites.insert(hash, number, means.memory);
        }
        known.note_walk(number <= before);
        known.remember(beginning, caller.besides(), number, room);
        known.rest_after(&beginning, (began, clock::now()));
        number
    }

    /// Writes something new. Asks the recorder for room in good time, and waits for it only when there is none.
    fn write_with<T>(
        &self,
        means: Means<'_>,
        write: impl Fn() -> Result<T, NotWritten>,
    ) -> Option<T> {
        /// Others have their pens for a microsecond, unless they are taken off the CPU.
        const ROUNDS: usize = 50;
        let taken = &means.header.stacks.taken;
        let before = taken.load(Ordering::Relaxed);
        for _ in 0..ROUNDS {
            match write() {
                Ok(written) => {
                    if taken.load(Ordering::Relaxed) != before {
                        self.ask_for_room();
                    }
                    return Some(written);
                }
                Err(NotWritten::Busy) => sys::let_others_run(),
                Err(NotWritten::Full) if self.wait_for_room(means.header) => {}
                Err(NotWritten::Full | NotWritten::Never) => return None,
            }
        }
        None
    }

    /// Has the recorder look soon whether there is room enough.
    #[cold]
    pub fn ask_for_room(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.ask_to_drain();
        }
    }

    /// Waits until the recorder has given room, for a few milliseconds at most, and once only for a recorder that does not
    /// answer. Returns whether it has.
    #[cold]
    pub fn wait_for_room(&self, header: &SumsHeader) -> bool {
        const TURNS: usize = 5;
        const TURN: u64 = 1_000_000;
        let room = &header.stacks;
        // Acquire pairs with the release of the recorder.
        let given = room.given.load(Ordering::Acquire);
        let in_vain = given.wrapping_add(1).max(1);
        if room.vain.load(Ordering::Relaxed) == in_vain {
            return false;
        }
        let Some(recorder) = &self.recorder else {
            return false;
        };
        recorder.ring_bell();
        for _ in 0..TURNS {
            sys::futex_wait(&room.given, given, TURN);
            if room.given.load(Ordering::Acquire) != given {
                return true;
            }
        }
        room.vain.store(in_vain, Ordering::Relaxed);
        false
    }

    /// What tells stacks apart whose walk ends early, because the code that they lead through is not listed yet: all words on
    /// the stack that may be addresses of code.
    #[cold]
    fn code_on_stack(&self, caller: &Caller) -> u64 {
        const MOST: usize = 4096;
        /// Code that is not listed is looked for this near to the caller's.
        const NEAR: u64 = 64 << 20;
        let Regs { ip, sp, .. } = caller.registers;
        let thread_pointer = regs::thread_pointer();
        let Some(slot) = self.threads.enter(sys::thread_id(), thread_pointer) else {
            return 0;
        };
        let stack_end = self.stack_end(slot.tid(), sp, thread_pointer);
        let mut memory = StackMemory::new(slot, sp, stack_end);
        let most = memory.words_above(sp, MOST) as u64;
        self.with_listing(|listing| {
            let words = (0..most).map_while(|at| memory.read(sp.wrapping_add(8 * at)));
            let codes =
                words.filter(|&it| it.abs_diff(ip) < NEAR || listing.modules.find(it).is_some());
            let hash = codes.fold(Hash::new(0), |hash, word| hash.with(&[word]));
            hash.finish()
        })
    }

    fn tell_stack<'a>(
        &self,
        caller: &Caller,
        told: impl Fn(u64) -> Behind<'a>,
        notes: Notes<'_>,
    ) -> Result<(), Untold> {
        let mut result = Err(Untold::Full);
        // The program may be on a stack that is just large enough for itself.
        self.stacks
            .run_elsewhere(|| result = self.tell_here(caller, &told, notes));
        result
    }

    fn tell_here<'a>(
        &self,
        caller: &Caller,
        told: impl Fn(u64) -> Behind<'a>,
        notes: Notes<'_>,
    ) -> Result<(), Untold> {
        let clock = clock::now();
        let slot = self
            .threads
            .enter(sys::thread_id(), regs::thread_pointer())
            .ok_or(Untold::Stranger)?;
        if slot.busy.swap(true, Ordering::Relaxed) {
            return Err(Untold::Stranger);
        }
        let event = Event {
            weight: 0,
            state: State::Allocating,
            tag: 0,
            system_call: SystemCall::Never,
            only_if_wanted: false,
        };
        // What a function keeps for its caller may be anywhere; where a walk needs it, it ends.
        let unknown = || [0; ALL_REGISTERS];
        let registers = (caller.registers, caller.general());
        let told = (told(clock), notes);
        let written = self.write_sample(slot, (event, clock), registers, unknown, told);
        slot.busy.store(false, Ordering::Relaxed);
        if written { Ok(()) } else { Err(Untold::Full) }
    }

    /// Tells that a block was freed. The clock is filled in. False: there is no room.
    pub fn tell_freed(&self, freed: Freed) -> bool {
        let pointer = self.buffer.load(Ordering::SeqCst);
        // SAFETY: an agent's buffer is never freed.
        let Some(buffer) = (unsafe { pointer.as_ref() }) else {
            return false;
        };
        let words = Freed {
            clock: clock::now(),
            ..freed
        }
        .to_words();
        let Some(room) = buffer.open_beside(words.len()) else {
            return false;
        };
        let Some(place) = room.words.first_chunk_mut() else {
            buffer.abandon(room);
            return false;
        };
        *place = words;
        let claim = buffer.commit_others(room, words.len());
        if let Some(recorder) = &self.recorder
            && buffer.claims().is_filling(claim)
        {
            recorder.ask_to_drain();
        }
        true
    }
}
