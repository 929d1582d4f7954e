//! The walk of the interpreter's frames into words, with records of new code objects and of the
//! thread's name.

use core::ops::ControlFlow;

use profundo_cpython::{
    CodeKey, CodeShape, End as ChainEnd, Frame, Memory, Start, Step, TextShape, code_key,
    code_shape, flag, walk,
};
use profundo_wire::{CODE_HEAD_WORDS, CodeHead, Gil, PythonEnd, PythonWord, State};

use super::interpreter::Interpreter;
use super::merge::entry_at;
use super::name;
use super::pages::{CheckedMemory, ProcessMemory};
use super::record::{Sampled, Writer};
use super::task::{self, Outermost};
use super::text::{as_bytes, kind_of, words_of};
use crate::buffer::CHUNK_WORDS;
use crate::heap::ReadLog;

/// Names are cut here, at their ends. A path has 4096 bytes at most.
const LONGEST_NAME: u32 = 4096;

/// The walk of the interpreter's frames.
pub(super) struct Chain<'a> {
    pub(super) writer: &'a Writer<'a>,
    /// The largest end of the frames' words.
    pub(super) most: usize,
    /// The place of the next word.
    pub(super) at: usize,
    /// The start of the code objects.
    pub(super) codes: usize,
    /// The outermost coroutine so far.
    pub(super) outermost: Option<Outermost>,
    /// The last frame so far.
    pub(super) first: Option<Frame>,
    /// The last boundary on the C stack; at first, the start of that stack.
    pub(super) place: u64,
    /// Whether frames in another interpreter are missing.
    pub(super) is_partial: bool,
    pub(super) is_last: bool,
    pub(super) is_short: bool,
}

impl Chain<'_> {
    pub(super) fn walk(&mut self, memory: &mut ProcessMemory<'_>, words: &mut [u64]) -> PythonEnd {
        let Writer {
            interpreter,
            ranges,
            state,
            below,
            sampled,
            ..
        } = self.writer;
        if *state == 0 {
            return PythonEnd::Whole;
        }
        let is_calling = sampled.head.state == State::Allocating;
        let start = Start {
            is_calling,
            ..interpreter.start(*state, &sampled.registers, ranges, sampled.all)
        };
        let end = walk(&interpreter.layout, memory, start, |memory, step| {
            self.step(memory, words, step)
        });
        match end {
            ChainEnd::Whole if *below != 0 => self.walk_below(memory, words, *below),
            ChainEnd::Whole => PythonEnd::Whole,
            ChainEnd::Stopped => PythonEnd::Truncated,
            ChainEnd::Broken => PythonEnd::Broken,
            ChainEnd::Known => self.take_over(words),
        }
    }

    /// Continues like an earlier walk of the same frames.
    fn take_over(&mut self, words: &mut [u64]) -> PythonEnd {
        let Some(trails) = self.writer.sampled.trails else {
            return PythonEnd::Broken;
        };
        for met in trails.python_rest() {
            for word in met.words() {
                if self.at >= self.most.min(self.codes) {
                    let _ = self.stop();
                    return PythonEnd::Truncated;
                }
                if met.frame() == Some(word)
                    && let PythonWord::Frame {
                        code,
                        offset,
                        is_call,
                    } = PythonWord::from_word(word)
                {
                    let frame = Frame {
                        address: met.address,
                        code: met.code,
                        flags: met.flags,
                        offset,
                        is_call,
                    };
                    self.meet(frame, code);
                }
                if let Some(place) = words.get_mut(self.at) {
                    *place = word;
                }
                self.at += 1;
            }
        }
        PythonEnd::Whole
    }

    /// Remembers the frames that name tasks and threads.
    fn meet(&mut self, frame: Frame, code: u32) {
        if frame.flags & flag::COROUTINE != 0 {
            self.outermost = Some(Outermost {
                code,
                frame: frame.address,
                caller: None,
            });
        } else if let Some(coroutine) = &mut self.outermost {
            coroutine.caller.get_or_insert(frame);
        }
        self.first = Some(frame);
    }

    /// Walks the frames in another interpreter that may wait below the walked ones. The state may
    /// have been freed long ago; then its frames are not where they should be, and are dropped.
    #[cold]
    fn walk_below(
        &mut self,
        memory: &mut ProcessMemory<'_>,
        words: &mut [u64],
        below: u64,
    ) -> PythonEnd {
        let Writer {
            interpreter,
            sampled,
            ..
        } = self.writer;
        let (_, high) = sampled.slot.stack();
        let before = (self.at, self.outermost, self.first);
        let mut is_misplaced = false;
        memory.doubt_all(true);
        let start = interpreter.start_below(below);
        let end = walk(&interpreter.layout, memory, start, |memory, step| {
            if let Step::Entry { stack: Some(stack) } = step
                && (stack <= self.place || high != 0 && stack >= high)
            {
                is_misplaced = true;
                return ControlFlow::Break(());
            }
            self.step(memory, words, step)
        });
        memory.doubt_all(false);
        if end == ChainEnd::Stopped && !is_misplaced {
            return PythonEnd::Truncated;
        }
        self.is_partial = end != ChainEnd::Whole || self.at == before.0;
        if self.is_partial {
            (self.at, self.outermost, self.first) = before;
        }
        PythonEnd::Whole
    }

    /// The room is too small: the walk is repeated in a larger one, or ends here.
    fn stop(&mut self) -> ControlFlow<()> {
        self.is_short = !self.is_last;
        ControlFlow::Break(())
    }

    fn step(
        &mut self,
        memory: &mut ProcessMemory<'_>,
        words: &mut [u64],
        step: Step,
    ) -> ControlFlow<()> {
        if self.at >= self.most.min(self.codes) {
            return self.stop();
        }
        let word = match step {
            Step::Entry { stack } => {
                self.place = stack.unwrap_or(self.place);
                let word = entry_at(stack.unwrap_or(0));
                if let Some(trails) = self.writer.sampled.trails {
                    trails.meet_entry(word);
                }
                word
            }
            Step::Frame(frame) => {
                let Some(code) = self.number(memory, words, &frame) else {
                    return self.stop();
                };
                self.meet(frame, code);
                let Frame {
                    offset, is_call, ..
                } = frame;
                let word = PythonWord::Frame {
                    code,
                    offset,
                    is_call,
                };
                let word = word.to_word();
                if let Some(trails) = self.writer.sampled.trails {
                    trails.meet_frame(word, frame.code, frame.flags);
                }
                word
            }
        };
        if let Some(place) = words.get_mut(self.at) {
            *place = word;
        }
        self.at += 1;
        ControlFlow::Continue(())
    }

    /// Writes the thread's name, if it is time to.
    pub(super) fn write_thread_name(&mut self, words: &mut [u64]) {
        let Some(first) = self.first.filter(|_| !self.is_short) else {
            return;
        };
        let Sampled { slot, head, .. } = self.writer.sampled;
        if slot.wants_name() {
            let free = words.get_mut(self.at..self.codes).unwrap_or_default();
            let layout = &self.writer.interpreter.layout;
            if let Some(used) = name::write_own_name(layout, head, &first, free) {
                self.codes -= used;
                slot.note_named();
            }
        }
    }

    /// The number of the running task, whose name is written if it is new; 0 for none.
    pub(super) fn write_task(&mut self, memory: &mut ProcessMemory<'_>, words: &mut [u64]) -> u64 {
        let Some(task) = self.outermost.filter(|_| !self.is_short) else {
            return 0;
        };
        let interpreter = self.writer.interpreter;
        let free = words.get_mut(self.at..self.codes).unwrap_or_default();
        let (number, used) = match self.writer.gil_for_names(memory) {
            Gil::Held | Gil::Collecting => task::write_if_new(interpreter, memory, &task, free),
            _ => task::write_if_new(interpreter, &mut CheckedMemory, &task, free),
        };
        self.codes -= used;
        number
    }

    /// The number of a frame's code object, which is written if it is new; 0 if it cannot be
    /// written. `None`: not in this room.
    fn number(
        &mut self,
        memory: &mut ProcessMemory<'_>,
        words: &mut [u64],
        frame: &Frame,
    ) -> Option<u32> {
        memory.of_code(true);
        let key = code_key(&self.writer.interpreter.layout, memory, frame.code);
        memory.of_code(false);
        let Some(key) = key else {
            return Some(0);
        };
        let codes = &self.writer.interpreter.codes;
        let recent = self.writer.sampled.log.map(ReadLog::codes);
        let epoch = codes.epoch();
        if let Some(number) = recent.and_then(|codes| codes.find(&key, epoch)) {
            return Some(number);
        }
        let hash = key.hash();
        let number = match codes.find(hash) {
            Some(number) => number,
            None => self.write_code(memory, words, &key, hash)?,
        };
        if let Some(recent) = recent.filter(|_| number != 0) {
            recent.keep(key, epoch, number);
        }
        Some(number)
    }

    /// Writes a code object. A large one gets another place, so that there is room for the stacks.
    #[cold]
    fn write_code(
        &mut self,
        memory: &mut ProcessMemory<'_>,
        words: &mut [u64],
        key: &CodeKey,
        hash: u64,
    ) -> Option<u32> {
        if let Some(log) = self.writer.sampled.log {
            log.lose();
        }
        let Interpreter { layout, codes, .. } = self.writer.interpreter;
        let Some(shape) = code_shape(layout, memory, key) else {
            return Some(0);
        };
        let Some(whole) = code_head(layout.minor, &shape, 0, CHUNK_WORDS) else {
            return Some(0);
        };
        // A stack of many new code objects must not lose its native frames to them.
        let for_stack = words.len() / 2;
        let free = words.get_mut(self.at..self.codes).unwrap_or_default();
        let left = free.len().saturating_sub(whole.words());
        let is_beside = whole.words() > free.len() / 4 || self.is_last && left < for_stack;
        if is_beside && !self.is_last {
            return None;
        }
        let Some(number) = codes.give() else {
            return Some(0);
        };
        let head = CodeHead { number, ..whole };
        let is_written = if is_beside {
            self.write_code_beside(memory, head, &shape)
        } else {
            let from = free.len() - head.words();
            let place = free.get_mut(from..).unwrap_or_default();
            let copied = copy_code(memory, head, &shape, place);
            if copied.is_some() {
                self.codes -= head.words();
            }
            copied.is_some()
        };
        if !is_written {
            return Some(0);
        }
        codes.keep(hash, number);
        Some(number)
    }

    /// Writes a code object into another chunk.
    fn write_code_beside(
        &self,
        memory: &mut ProcessMemory<'_>,
        head: CodeHead,
        shape: &CodeShape,
    ) -> bool {
        let buffer = self.writer.buffer;
        let Some(room) = buffer.open_beside(head.words()) else {
            return false;
        };
        let copied = copy_code(memory, head, shape, room.words);
        match copied {
            Some(words) => buffer.commit_others(room, words),
            None => buffer.abandon(room),
        };
        copied.is_some()
    }
}

/// Copies a code object into words, as far as they reach; returns the number of words used.
pub fn copy_code(
    memory: &mut impl Memory,
    head: CodeHead,
    shape: &CodeShape,
    out: &mut [u64],
) -> Option<usize> {
    let (head_words, mut rest) = out.split_first_chunk_mut::<CODE_HEAD_WORDS>()?;
    *head_words = head.to_words();
    for (text, bytes) in [
        (shape.file, head.file.1),
        (shape.name, head.name.1),
        (shape.lines, head.lines),
    ] {
        let (part, behind) = rest.split_at_mut_checked(words_of(bytes))?;
        rest = behind;
        if let Some(last) = part.last_mut() {
            *last = 0;
        }
        if !memory.bytes(text.address, as_bytes(part, bytes)) {
            return None;
        }
    }
    Some(head.words())
}

/// The head of a code object's record for this many words: names are cut beyond a sensible length,
/// and the line table gets the rest.
pub fn code_head(minor: u8, shape: &CodeShape, number: u32, room: usize) -> Option<CodeHead> {
    let name = |text: TextShape| (kind_of(text), text.bytes.min(LONGEST_NAME));
    let mut head = CodeHead {
        minor,
        number,
        first_line: shape.first_line,
        file: name(shape.file),
        name: name(shape.name),
        lines: 0,
        lines_in_all: shape.lines.bytes,
    };
    let left = room.checked_sub(head.words())?;
    let most = u32::try_from(left.saturating_mul(8)).unwrap_or(u32::MAX);
    head.lines = shape.lines.bytes.min(most);
    Some(head)
}
