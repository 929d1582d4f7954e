//! The chain of a thread's frames, from the leaf to the first one.
//!
//! The thread may be stopped anywhere, in the middle of pushing a frame too. From 3.11 on a new
//! frame may be reachable before it is linked to its caller: then its link is old memory. So the
//! leaf's caller is doubted until a frame is found where the data stack must have it, right below
//! the leaf; and a chain counts as whole only if its last frame is one that may be the last. Where
//! the leaf is not linked yet, its caller is still in a register.

use core::ops::ControlFlow;

use crate::layout::objects::{TAGS, bytes, object};
use crate::layout::{Chain, InstructionCopies, Layout};
use crate::memory::{Arrival, Memory, at, byte, half};

/// The end of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At the first frame of the thread.
    Whole,
    /// The visitor asked to stop.
    Stopped,
    /// At memory that cannot be read, or at something that is no frame.
    Broken,
    /// At a frame whose outer frames are known: [`Memory::arrive`].
    Known,
}

/// A step of a walk.
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
    /// Its address.
    pub address: u64,
    /// Its code object, whose type was checked.
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
    /// A generator.
    pub const GENERATOR: u32 = 0x20;
    /// A function that was defined by `async def`.
    pub const COROUTINE: u32 = 0x80;
    /// One that yields as well.
    pub const ASYNC_GENERATOR: u32 = 0x200;
}

/// The owner of a frame, from 3.11 on: [`InterpreterFrame::owner`](crate::InterpreterFrame::owner).
pub mod owner {
    /// The thread: the frame lies on the data stack.
    pub const THREAD: u8 = 0;
    /// A generator or a coroutine: the frame lies in that.
    pub const GENERATOR: u8 = 1;
    /// From here on a frame has no code of the program's: it serves the loop alone.
    pub(crate) const SHIM: u8 = 3;
}

/// The facts of the thread that the caller knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Start<'a> {
    /// The thread state.
    pub state: u64,
    /// The address of `PyCode_Type`.
    pub code_type: u64,
    /// Whether the thread was stopped outside of the evaluation loop, so that no frame can be half
    /// pushed.
    pub is_settled: bool,
    /// Whether it calls a function of ours, and runs with this state: its frames are whole and
    /// alive.
    pub is_calling: bool,
    /// For a thread that was stopped in the first instructions of the evaluation loop: its stack
    /// pointer. A record there may have been linked in before it was filled in.
    pub entering: Option<u64>,
    /// The contents of the registers, for a thread that was stopped in the evaluation loop.
    pub registers: &'a [u64],
}

/// The most frames that are read: those of the deepest stack that is kept, as many boundaries,
/// and some that are left out.
const MOST: u32 = 16_384;

/// The largest distance of the record of a loop that is being entered above the stack pointer.
const ENTERED: u64 = 0x120;

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
        // A cyclic chain meets the frame that was noted at the last power of two.
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
            // The memory of a frame that is being released may have just been unmapped by its
            // thread.
            let is_doubtful = count == 0 && self.start.is_settled && !self.start.is_calling;
            if is_doubtful {
                memory.doubt(true);
            }
            let previous = memory.word(at(address, self.layout.frame.previous));
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
            let Some(link) = self.read_frame(memory, address, frames_in_run == 0) else {
                return End::Broken;
            };
            let boundary = match link {
                Link::Shim => Some(LoopEntry {
                    stack: Some(address),
                }),
                Link::Hidden => None,
                Link::Frame(frame, entry) => {
                    frames_in_run += 1;
                    if visit(memory, Step::Frame(frame)).is_break() {
                        return End::Stopped;
                    }
                    entry
                }
            };
            may_end = boundary.is_some();
            if let Some(LoopEntry { stack }) = boundary {
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

    /// The record that the rest of the walk depends on.
    fn record_of_run(&self) -> u64 {
        match self.layout.chain {
            Chain::Marked { .. } => self.record,
            _ => 0,
        }
    }

    /// Reads one frame. `is_innermost`: no frame of the same run was met before it.
    pub(crate) fn read_frame(
        &self,
        memory: &mut impl Memory,
        address: u64,
        is_innermost: bool,
    ) -> Option<Link> {
        let layout = self.layout;
        if layout.frame.owner != 0
            && !matches!(layout.chain, Chain::Marked { .. })
            && byte(memory, at(address, layout.frame.owner))? >= owner::SHIM
        {
            return Some(Link::Shim);
        }
        let code = memory.word(at(address, layout.frame.code))? & !TAGS;
        if code == 0
            || of_code(memory, self.layout.field(code, object::TYPE))? != self.start.code_type
        {
            return None;
        }
        let entry = self.entry(memory, address)?;
        let instruction = self.instruction(memory, address, code)?;
        memory.implied(true);
        let facts = self.code_facts(memory, code, instruction, is_innermost);
        memory.implied(false);
        let facts = facts?;
        if facts.is_hidden {
            return entry.is_none().then_some(Link::Hidden);
        }
        let frame = Frame {
            address,
            code,
            flags: facts.flags,
            offset: instruction.offset,
            is_call: facts.is_call,
        };
        Some(Link::Frame(frame, entry))
    }

    /// The facts that a code object adds to a frame.
    fn code_facts(
        &self,
        memory: &mut impl Memory,
        code: u64,
        instruction: Instruction,
        is_innermost: bool,
    ) -> Option<CodeFacts> {
        if self.is_hidden(memory, code)? {
            return Some(CodeFacts {
                is_hidden: true,
                is_call: false,
                flags: 0,
            });
        }
        let layout = self.layout;
        // A frame that has called another one in the same loop stands at the call.
        let is_call = !is_innermost
            || instruction.offset >= 0
                && byte(memory, instruction.address)
                    .is_some_and(|opcode| crate::is_call(layout.minor, opcode));
        Some(CodeFacts {
            is_hidden: false,
            is_call,
            flags: half(memory, at(code, layout.code.flags))?,
        })
    }

    /// Whether code is the interpreter's own: 3.12 and later run a few instructions when an object
    /// is made. Its first traceable instruction lies behind all of them.
    fn is_hidden(&self, memory: &mut impl Memory, code: u64) -> Option<bool> {
        let Some(distance) = self.layout.code.first_traceable else {
            return Some(false);
        };
        let instructions = at(code, self.layout.code.instructions);
        let first = half(memory, instructions.wrapping_sub(u64::from(distance)))?;
        Some(u64::from(first) >= memory.word(self.layout.field(code, object::SIZE))?)
    }

    fn instruction(&self, memory: &mut impl Memory, frame: u64, code: u64) -> Option<Instruction> {
        let layout = self.layout;
        let place = at(frame, layout.frame.instruction);
        if let Chain::FrameObjects { unit, .. } = layout.chain {
            let offset = (half(memory, place)? as i32).checked_mul(unit)?;
            let bytes = of_code(memory, at(code, layout.code.instructions))?;
            let length = of_code(memory, self.layout.field(bytes, object::SIZE))?;
            let is_inside = offset < 0 || (offset as u64) < length;
            let first = self.layout.field(bytes, bytes::FIRST);
            return is_inside.then(|| Instruction {
                offset,
                address: first.wrapping_add_signed(i64::from(offset)),
            });
        }
        let address = memory.word(place)?;
        let first = match self.copy(memory, frame, code) {
            0 => at(code, layout.code.instructions),
            copy => copy,
        };
        let offset = address.wrapping_sub(first) as i64;
        // Its size is the number of code units; before the first instruction it stands on none.
        let units = of_code(memory, self.layout.field(code, object::SIZE))? as i64;
        let is_inside = (-2..units.checked_mul(2)?).contains(&offset);
        is_inside.then_some(Instruction {
            offset: offset as i32,
            address,
        })
    }

    /// The copy of its instructions that a frame runs; 0 if it runs the code object's own.
    fn copy(&self, memory: &mut impl Memory, frame: u64, code: u64) -> u64 {
        let Some(InstructionCopies { array, index }) = self.layout.code.copies else {
            return 0;
        };
        let mut find = || {
            let index = u64::from(half(memory, at(frame, index)).filter(|&index| index != 0)?);
            let array = memory.word(at(code, array))?;
            let is_inside = array != 0 && index < memory.word(array)?;
            is_inside.then(|| memory.word(array.wrapping_add(8 + index * 8)))?
        };
        find().unwrap_or(0)
    }

    /// The loop that a frame is the first one of, if it is; `None` if that cannot be read.
    fn entry(&self, memory: &mut impl Memory, frame: u64) -> Option<Option<LoopEntry>> {
        match self.layout.chain {
            Chain::FrameObjects { .. } => Some(Some(LoopEntry { stack: None })),
            Chain::Marked { is_entry, .. } => {
                let is_entry = byte(memory, at(frame, is_entry))? != 0;
                let stack = Some(self.record);
                Some(is_entry.then_some(LoopEntry { stack }))
            }
            Chain::Shims { .. } | Chain::Direct { .. } => Some(None),
        }
    }
}

/// The instruction that a frame stands at.
#[derive(Clone, Copy)]
struct Instruction {
    /// In bytes from the first; negative before the first.
    offset: i32,
    address: u64,
}

/// The facts that a frame has from its code object.
struct CodeFacts {
    /// The code is the interpreter's own.
    is_hidden: bool,
    /// The instruction calls something.
    is_call: bool,
    flags: u32,
}

/// The first frame of an evaluation loop.
pub(crate) struct LoopEntry {
    /// The place in the loop's frame, as in [`Step::Entry`].
    stack: Option<u64>,
}

/// A member of the chain.
pub(crate) enum Link {
    /// A frame; if it is the first one of its loop, with that loop.
    Frame(Frame, Option<LoopEntry>),
    /// A shim of the loop, on the C stack.
    Shim,
    /// A frame of the interpreter's own code.
    Hidden,
}

#[cfg(test)]
mod tests;
