//! The chain of a thread's frames, from the leaf to the first one.
//!
//! The thread may be stopped anywhere, in the middle of pushing a frame too. From 3.11 on a new
//! frame may be reachable before it is linked to its caller: then it still says what the memory
//! said before. So what the leaf leads to is doubted until a frame is found where the data stack
//! must have it, right below the leaf; and a chain counts as whole only if its last frame is one
//! that may be the last. Where the leaf is not linked yet, its caller is still in a register.

use core::ops::ControlFlow;

use crate::layout::{Chain, Layout};
use crate::memory::{Arrival, Memory, byte, half};

/// Why a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At the first frame of the thread.
    Whole,
    /// The visitor had enough.
    Stopped,
    /// At memory that cannot be read, or at something that is no frame.
    Broken,
    /// At a frame from which on the way is known: [`Memory::arrive`].
    Known,
}

/// What a walk meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A frame.
    Frame(Frame),
    /// The frames since the last boundary are those of one run of the evaluation loop.
    Entry {
        /// A place in that loop's own frame on the C stack. `None` before 3.11, where each frame
        /// has a loop of its own.
        stack: Option<u64>,
    },
}

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Where it lies.
    pub address: u64,
    /// Its code object, whose type was looked at.
    pub code: u64,
    /// The flags of the code object.
    pub flags: u32,
    /// The instruction that runs, in bytes from the first; negative before the first.
    pub offset: i32,
    /// Whether that instruction calls something.
    pub is_call: bool,
}

/// Bits of [`Frame::flags`].
pub mod flag {
    /// A function that was defined by `async def`.
    pub const COROUTINE: u32 = 0x80;
}

/// What the caller knows of the thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Start<'a> {
    /// The thread state.
    pub state: u64,
    /// The address of `PyCode_Type`.
    pub code_type: u64,
    /// Whether the thread was stopped outside of the evaluation loop, so that no frame can be half
    /// pushed.
    pub is_settled: bool,
    /// Whether it calls a function of ours, and runs with this state: its frames are whole and alive.
    pub is_calling: bool,
    /// For a thread that was stopped in the first instructions of the evaluation loop: its stack
    /// pointer. A record there may have been linked in before it was filled in.
    pub entering: Option<u64>,
    /// What the registers hold, for a thread that was stopped in the evaluation loop.
    pub registers: &'a [u64],
}

/// How many frames are looked at, at most: those of the deepest stack that anybody keeps, as many
/// boundaries, and some that are left out.
const MOST: u32 = 16_384;

/// How far above the stack pointer the record of a loop that is being entered can lie.
const ENTERED: u64 = 0x120;

/// The owner from which on a frame has no code of the program's: it is there for the loop's sake.
const SHIM: u8 = 3;

/// Bits that 3.14 keeps in a pointer to an object.
pub(crate) const TAGS: u64 = 7;

/// Of the size of an object that has one. Code counts its units from 3.11 on.
const SIZE: u64 = 16;

/// Walks the frames of a thread, the leaf first, and shows each to `visit`.
pub fn walk<M: Memory>(
    layout: &Layout,
    memory: &mut M,
    start: Start<'_>,
    mut visit: impl FnMut(&mut M, Step) -> ControlFlow<()>,
) -> End {
    let mut walker = Walker {
        layout,
        start,
        record: 0,
    };
    // Outside of the loop the thread may have let go of the lock, and its state may be freed by
    // another one; inside, only a record that is not filled in yet may lead anywhere.
    let may_be_gone = start.is_settled && !start.is_calling;
    memory.doubt(may_be_gone || start.entering.is_some());
    let Some(leaf) = walker.leaf(memory) else {
        memory.doubt(false);
        return End::Broken;
    };
    memory.doubt(start.entering.is_some());
    let end = walker.run(memory, leaf, &mut visit);
    memory.doubt(false);
    end
}

/// A word of a code object.
#[inline]
fn of_code(memory: &mut impl Memory, address: u64) -> Option<u64> {
    memory.of_code(true);
    let word = memory.word(address);
    memory.of_code(false);
    word
}

pub(crate) struct Walker<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) start: Start<'a>,
    /// The record of the loop that the frames belong to, up to 3.12.
    pub(crate) record: u64,
}

#[inline]
pub(crate) fn at(address: u64, offset: u16) -> u64 {
    address.wrapping_add(u64::from(offset))
}

impl Walker<'_> {
    /// The address of the leaf's frame; 0 if there is none.
    fn leaf(&mut self, memory: &mut impl Memory) -> Option<u64> {
        let state = self.start.state;
        match self.layout.chain {
            Chain::FrameObjects { frame, .. } | Chain::Direct { frame } => {
                memory.word(at(state, frame))
            }
            Chain::Marked {
                record,
                frame,
                previous,
                ..
            }
            | Chain::Shims {
                record,
                frame,
                previous,
            } => {
                self.record = memory.word(at(state, record))?;
                let is_new = |sp: u64| self.record.wrapping_sub(sp) < ENTERED;
                if self.start.entering.is_some_and(is_new) {
                    self.record = match self.record_in_registers(memory, frame, previous) {
                        Some(found) => found,
                        None => memory.word(at(self.record, previous))?,
                    };
                }
                memory.word(at(self.record, frame))
            }
        }
    }

    fn run<M: Memory>(
        &mut self,
        memory: &mut M,
        leaf: u64,
        visit: &mut impl FnMut(&mut M, Step) -> ControlFlow<()>,
    ) -> End {
        let mut address = leaf;
        // A chain that bites its tail meets the frame that was noted at the last power of two.
        let mut noted = 0;
        let mut frames_in_run = 0_u32;
        // An empty chain is whole: the thread runs no Python.
        let mut may_end = true;
        for count in 0..MOST {
            if address == 0 {
                return if may_end { End::Whole } else { End::Broken };
            }
            if address == noted || !address.is_multiple_of(8) {
                return End::Broken;
            }
            if count.is_power_of_two() {
                noted = address;
            }
            let arrival = Arrival {
                address,
                record: self.record_of_run(),
                begins_run: frames_in_run == 0,
                is_whole: count > 0 || self.start.is_settled,
            };
            if memory.arrive(arrival) {
                return End::Known;
            }
            // A frame that is being given back may have lain in memory that its thread has just unmapped.
            let is_doubtful = count == 0 && self.start.is_settled && !self.start.is_calling;
            if is_doubtful {
                memory.doubt(true);
            }
            let previous = memory.word(at(address, self.layout.previous));
            if is_doubtful {
                memory.doubt(self.start.entering.is_some());
            }
            let Some(mut previous) = previous else {
                return End::Broken;
            };
            if count == 0 {
                let (leaf, caller) = self.settle(memory, address, previous);
                (address, previous) = (leaf, caller);
            }
            let Some(seen) = self.look(memory, address, frames_in_run == 0) else {
                return End::Broken;
            };
            let boundary = match seen {
                Seen::Shim => Some(Some(address)),
                Seen::Hidden => None,
                Seen::Frame(frame, entry) => {
                    frames_in_run += 1;
                    if visit(memory, Step::Frame(frame)).is_break() {
                        return End::Stopped;
                    }
                    entry
                }
            };
            may_end = boundary.is_some();
            if let Some(stack) = boundary {
                if frames_in_run != 0 && visit(memory, Step::Entry { stack }).is_break() {
                    return End::Stopped;
                }
                frames_in_run = 0;
                if let Chain::Marked { previous, .. } = self.layout.chain {
                    self.record = memory.word(at(self.record, previous)).unwrap_or(0);
                }
            }
            address = previous;
        }
        End::Broken
    }

    /// The record that the way depends on.
    fn record_of_run(&self) -> u64 {
        match self.layout.chain {
            Chain::Marked { .. } => self.record,
            _ => 0,
        }
    }

    /// Reads one frame. `is_innermost`: no frame of the same run was met before it.
    pub(crate) fn look(
        &self,
        memory: &mut impl Memory,
        address: u64,
        is_innermost: bool,
    ) -> Option<Seen> {
        let layout = self.layout;
        if layout.owner != 0
            && !matches!(layout.chain, Chain::Marked { .. })
            && byte(memory, at(address, layout.owner))? >= SHIM
        {
            return Some(Seen::Shim);
        }
        let code = memory.word(at(address, layout.code))? & !TAGS;
        if code == 0 || of_code(memory, code.wrapping_add(8))? != self.start.code_type {
            return None;
        }
        let entry = self.entry(memory, address)?;
        let (offset, instruction) = self.instruction(memory, address, code)?;
        memory.implied(true);
        let rest = self.what_code_says(memory, code, (offset, instruction), is_innermost);
        memory.implied(false);
        let (is_hidden, is_call, flags) = rest?;
        if is_hidden {
            return entry.is_none().then_some(Seen::Hidden);
        }
        let frame = Frame {
            address,
            code,
            flags,
            offset,
            is_call,
        };
        Some(Seen::Frame(frame, entry))
    }

    /// Whether code is the interpreter's own, whether the instruction calls something, and the flags.
    fn what_code_says(
        &self,
        memory: &mut impl Memory,
        code: u64,
        (offset, instruction): (i32, u64),
        is_innermost: bool,
    ) -> Option<(bool, bool, u32)> {
        if self.is_hidden(memory, code)? {
            return Some((true, false, 0));
        }
        let layout = self.layout;
        // A frame that has called another one in the same loop stands at what called it.
        let is_call = !is_innermost
            || offset >= 0
                && byte(memory, instruction)
                    .is_some_and(|opcode| crate::is_call(layout.minor, opcode));
        Some((false, is_call, half(memory, at(code, layout.flags))?))
    }

    /// Whether code is the interpreter's own: 3.12 and later run a few instructions when an object
    /// is made. The first that may be traced is said to lie behind all of them.
    fn is_hidden(&self, memory: &mut impl Memory, code: u64) -> Option<bool> {
        /// Where its number lies, before the instructions.
        const FIRST_TRACEABLE: u64 = 16;
        if self.layout.minor < 12 {
            return Some(false);
        }
        let instructions = at(code, self.layout.instructions);
        let first = half(memory, instructions.wrapping_sub(FIRST_TRACEABLE))?;
        Some(u64::from(first) >= memory.word(code.wrapping_add(SIZE))?)
    }

    /// The offset of a frame's instruction and where it lies.
    fn instruction(&self, memory: &mut impl Memory, frame: u64, code: u64) -> Option<(i32, u64)> {
        let layout = self.layout;
        let place = at(frame, layout.instruction);
        if let Chain::FrameObjects { unit, .. } = layout.chain {
            let offset = (half(memory, place)? as i32).checked_mul(unit)?;
            let bytes = of_code(memory, at(code, layout.instructions))?;
            let length = of_code(memory, bytes.wrapping_add(SIZE))?;
            let is_inside = offset < 0 || (offset as u64) < length;
            let first = bytes.wrapping_add(32);
            return is_inside.then(|| (offset, first.wrapping_add_signed(i64::from(offset))));
        }
        let instruction = memory.word(place)?;
        let first = at(code, layout.instructions);
        let offset = instruction.wrapping_sub(first) as i64;
        // Its size is the number of code units; before the first instruction it stands on none.
        let units = of_code(memory, code.wrapping_add(SIZE))? as i64;
        let is_inside = (-2..units.checked_mul(2)?).contains(&offset);
        is_inside.then_some((offset as i32, instruction))
    }

    /// Whether a frame is the first one of its loop, and where that loop is known by.
    fn entry(&self, memory: &mut impl Memory, frame: u64) -> Option<Option<Option<u64>>> {
        match self.layout.chain {
            Chain::FrameObjects { .. } => Some(Some(None)),
            Chain::Marked { is_entry, .. } => {
                let is_entry = byte(memory, at(frame, is_entry))? != 0;
                Some(is_entry.then_some(Some(self.record)))
            }
            Chain::Shims { .. } | Chain::Direct { .. } => Some(None),
        }
    }
}

/// What lies at an address in the chain.
pub(crate) enum Seen {
    /// A frame; if it is the first one of its loop, with the place on the C stack.
    Frame(Frame, Option<Option<u64>>),
    /// What is there for the loop's sake, on the C stack.
    Shim,
    /// A frame of the interpreter's own code.
    Hidden,
}

#[cfg(test)]
mod tests;
