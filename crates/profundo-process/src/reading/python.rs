//! The interpreter's half of a reading: the frames of a thread as words, and the records of new
//! code objects and names.

use std::ops::ControlFlow;
use std::time::Duration;

use profundo_cpython::{
    CodeKey, End, Frame, Start, Step, code_key, code_shape, flag, is_collecting, is_holder,
    is_in_lock, is_in_shared_lock, running_of, walk,
};
use profundo_probe::python::{
    MAX_PYTHON, Outermost, Task, code_head, copy_code, entry_at, is_open, start_of,
    write_thread_name,
};
use profundo_unwind::Regs;
use profundo_wire::{Gil, PythonEnd, PythonWord, SampleHead};

use super::codes::Codes;
use super::interpreter::Interpreter;
use super::memory::PageMemory;
use super::states::States;
use super::variables::{FrameVariables, Variables};

/// The largest record of a code object, in words.
const LARGEST_CODE: usize = 1 << 16;
/// The largest name, in words.
const LARGEST_NAME: usize = 1 << 10;

/// The interpreter of a process, from reading to reading.
#[derive(Debug)]
pub struct Python {
    pub interpreter: Interpreter,
    states: States,
    codes: Codes,
    /// Threads whose names were recorded.
    named: std::collections::HashSet<u32>,
    /// The variables of the last walk's frames, if they are wanted.
    variables: Option<Variables>,
}

/// The result of a walk: what a thread did in the interpreter.
#[derive(Debug, Clone, Copy)]
pub struct Walked {
    pub end: PythonEnd,
    pub gil: Gil,
    pub task: u64,
}

/// The state in which the thread was found.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    pub registers: Regs,
    pub all: &'a [u64],
    /// The lock that it waits for, if it does.
    pub lock: Option<u64>,
    /// Whether it runs while its frames are read, so that the registers do not match them.
    pub is_moving: bool,
    /// The monotonic time.
    pub now: u64,
}

impl Python {
    pub fn new(interpreter: Interpreter, is_alone: bool) -> Self {
        Self {
            interpreter,
            states: States::default(),
            codes: match is_alone {
                true => Codes::default(),
                false => Codes::beside_others(),
            },
            named: Default::default(),
            variables: None,
        }
    }

    /// Has variables of frames read too, from now on.
    pub fn keep_variables(&mut self) {
        self.variables.get_or_insert_default();
    }

    /// Whether variables of frames are read.
    pub fn keeps_variables(&self) -> bool {
        self.variables.is_some()
    }

    /// Reads the variables of the last walk's frames, for at most this long.
    pub fn read_variables(&mut self, memory: &mut PageMemory, most: Duration) {
        if let Some(variables) = &mut self.variables {
            variables.read(&self.interpreter.layout, memory, most);
        }
    }

    /// Forgets the variables that were read, because the thread went on meanwhile.
    pub fn forget_variables(&mut self) {
        if let Some(variables) = &mut self.variables {
            variables.forget();
        }
    }

    /// The variables of the last walk's frames, innermost first.
    pub fn take_variables(&mut self) -> Vec<FrameVariables> {
        let variables = self.variables.as_mut();
        variables.map_or_else(Vec::new, |variables| std::mem::take(&mut variables.found))
    }

    /// Walks a thread's frames into `python`. Records of new code objects and names go to
    /// `records`.
    pub fn walk(
        &mut self,
        memory: &mut PageMemory,
        head: &SampleHead,
        found: Found<'_>,
        python: &mut Vec<u64>,
        records: &mut Vec<u64>,
    ) -> Walked {
        python.clear();
        if let Some(variables) = &mut self.variables {
            variables.frames.clear();
            variables.found.clear();
        }
        let interpreter = &self.interpreter;
        let (layout, runtime) = (&interpreter.layout, interpreter.runtime);
        let states = self.states.of(interpreter, memory, head.tid, found.now);
        let Some(state) = running_of(layout, memory, runtime, states) else {
            return Walked {
                end: PythonEnd::Whole,
                gil: Gil::None,
                task: 0,
            };
        };
        let gil = match is_holder(layout, memory, runtime, state) {
            Some(true) if is_collecting(layout, memory, runtime, state) == Some(true) => {
                Gil::Collecting
            }
            Some(true) => Gil::Held,
            Some(false) if self.waits_for_lock(memory, state, found.lock) => Gil::Waiting,
            Some(false) => Gil::Released,
            None => Gil::None,
        };
        let start = start_of(
            layout,
            interpreter.function,
            &interpreter.evaluation,
            &found.registers,
            found.all,
        );
        let start = match found.is_moving {
            true => Start::default(),
            false => start,
        };
        let start = Start {
            state,
            code_type: interpreter.code_type,
            ..start
        };
        let mut chain = Chain {
            minor: layout.minor,
            layout,
            codes: &mut self.codes,
            python,
            records,
            outermost: None,
            first: None,
            frames: self
                .variables
                .as_mut()
                .map(|variables| &mut variables.frames),
        };
        let end = walk(layout, memory, start, |memory, step| {
            chain.step(memory, step)
        });
        let Chain {
            outermost, first, ..
        } = chain;
        let end = match end {
            End::Whole => PythonEnd::Whole,
            End::Stopped => PythonEnd::Truncated,
            // No frame is known beforehand.
            End::Broken | End::Known => PythonEnd::Broken,
        };
        // The frames kept of a truncated run have their place among the native frames all the same.
        if end != PythonEnd::Whole && is_open(python) {
            python.push(entry_at(0));
        }
        let mut task = 0;
        if end == PythonEnd::Whole {
            if let Some(first) = first {
                self.write_thread_name(memory, head, &first, records);
            }
            task = outermost.map_or(0, |outermost| self.write_task(memory, &outermost, records));
        }
        Walked { end, gil, task }
    }

    /// Whether a lock is the interpreter's.
    fn waits_for_lock(&self, memory: &mut PageMemory, state: u64, lock: Option<u64>) -> bool {
        let Some(lock) = lock else { return false };
        let layout = &self.interpreter.layout;
        is_in_shared_lock(layout, self.interpreter.runtime, lock)
            .unwrap_or_else(|| is_in_lock(layout, memory, state, lock))
    }

    fn write_thread_name(
        &mut self,
        memory: &mut PageMemory,
        head: &SampleHead,
        first: &Frame,
        records: &mut Vec<u64>,
    ) {
        if !self.named.insert(head.tid) {
            return;
        }
        append(records, LARGEST_NAME, |free| {
            let name = write_thread_name(memory, &self.interpreter.layout, head, first, free);
            name.filter(|_| !memory.is_short())
        });
        if memory.is_short() {
            self.named.remove(&head.tid);
        }
    }

    fn write_task(
        &mut self,
        memory: &mut PageMemory,
        outermost: &Outermost,
        records: &mut Vec<u64>,
    ) -> u64 {
        let task = Task::of(&self.interpreter.layout, memory, outermost);
        let hash = task.hash();
        if task.name.is_some() && self.codes.find(hash).is_none() {
            let written = append(records, LARGEST_NAME, |free| {
                let words = task.write(memory, free);
                (!memory.is_short()).then_some(words)
            });
            if written {
                self.codes.keep(hash, 1);
            }
        }
        task.number
    }

    /// Whether a thread has a state in the interpreter.
    pub fn knows(&self, tid: u32) -> bool {
        self.states.knows(tid)
    }

    /// Forgets a thread that has ended: its number may be used again.
    pub fn forget(&mut self, tid: u32) {
        self.named.remove(&tid);
        self.states.forget(tid);
    }
}

/// Lets `write` fill words at the end, and keeps those that it wrote. Returns whether it wrote any.
fn append(
    out: &mut Vec<u64>,
    most: usize,
    write: impl FnOnce(&mut [u64]) -> Option<usize>,
) -> bool {
    let mut free = vec![0; most];
    let written = write(&mut free);
    let words = written.unwrap_or(0).min(most);
    out.extend_from_slice(free.get(most - words..).unwrap_or_default());
    written.is_some()
}

struct Chain<'a> {
    minor: u8,
    layout: &'a profundo_cpython::Layout,
    codes: &'a mut Codes,
    python: &'a mut Vec<u64>,
    records: &'a mut Vec<u64>,
    outermost: Option<Outermost>,
    first: Option<Frame>,
    /// The frames, if they are wanted.
    frames: Option<&'a mut Vec<Frame>>,
}

impl Chain<'_> {
    fn step(&mut self, memory: &mut PageMemory, step: Step) -> ControlFlow<()> {
        if self.python.len() >= MAX_PYTHON {
            return ControlFlow::Break(());
        }
        let word = match step {
            Step::Entry { stack } => entry_at(stack.unwrap_or(0)),
            Step::Frame(frame) => {
                let code = self.number(memory, &frame);
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
                if let Some(frames) = &mut self.frames {
                    frames.push(frame);
                }
                let Frame {
                    offset, is_call, ..
                } = frame;
                PythonWord::Frame {
                    code,
                    offset,
                    is_call,
                }
                .to_word()
            }
        };
        self.python.push(word);
        ControlFlow::Continue(())
    }

    /// The number of a frame's code object, which is recorded if it is new; 0 if that fails.
    fn number(&mut self, memory: &mut PageMemory, frame: &Frame) -> u32 {
        let Some(key) = code_key(self.layout, memory, frame.code) else {
            return 0;
        };
        let hash = key.hash();
        match self.codes.find(hash) {
            Some(number) => number,
            None => self.write_code(memory, &key, hash).unwrap_or(0),
        }
    }

    fn write_code(&mut self, memory: &mut PageMemory, key: &CodeKey, hash: u64) -> Option<u32> {
        let shape = code_shape(self.layout, memory, key)?;
        let number = self.codes.give();
        let head = code_head(self.minor, &shape, number, LARGEST_CODE)?;
        let start = self.records.len();
        self.records.resize(start + head.words(), 0);
        let place = self.records.get_mut(start..)?;
        if copy_code(memory, head, &shape, place).is_none() {
            self.records.truncate(start);
            return None;
        }
        self.codes.keep(hash, number);
        Some(number)
    }
}
