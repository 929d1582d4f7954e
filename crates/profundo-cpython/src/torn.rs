//! A thread that was stopped while it pushed a frame.

use crate::layout::objects::TAGS;
use crate::layout::{Chain, CodeObject, InterpreterFrame};
use crate::memory::{Memory, at, byte, half};
use crate::walk::owner::THREAD;
use crate::walk::{Link, Start, Walker};

impl Walker<'_> {
    /// The record before one that is not filled in yet.
    pub(crate) fn record_in_registers(
        &self,
        memory: &mut impl Memory,
        frame: u16,
        previous: u16,
    ) -> Option<u64> {
        /// The largest distance of the record before: a stack's size.
        const FAR: u64 = 64 << 20;
        /// The largest size of a thread state, at whose end is the first record.
        const STATE: u64 = 1 << 12;
        let Start {
            registers, state, ..
        } = self.start;
        let is_place = |from: u64, record: u64| {
            record > from && record - from < FAR || record.wrapping_sub(state) < STATE
        };
        let mut is_record = |&&register: &&u64| {
            if !register.is_multiple_of(8) || !is_place(self.record, register) {
                return None;
            }
            let before = memory.word(at(register, previous))?;
            let leaf = memory.word(at(register, frame))?;
            // The first one has nothing before it, and may have had no frame yet.
            let is_first = register.wrapping_sub(state) < STATE;
            (if is_first {
                before == 0
            } else {
                is_place(register, before)
                    && matches!(self.read_frame(memory, leaf, true)?, Link::Frame(..))
            })
            .then_some(())
        };
        let found = registers
            .iter()
            .find(|register| is_record(register).is_some());
        found.copied()
    }

    /// Checks whether the leaf is linked to its caller, and if not, looks for the missing frame in
    /// the registers; returns the leaf, possibly another one, and its caller.
    ///
    /// Frames that the thread owns lie on the data stack without gaps, so a caller that the leaf
    /// ends at is proven. A generator's frame does not lie there, but it leads nowhere while it is
    /// suspended.
    pub(crate) fn settle(&self, memory: &mut impl Memory, leaf: u64, caller: u64) -> (u64, u64) {
        /// The largest frame that is looked for.
        const LARGEST: u64 = 1 << 16;
        let owner = self.layout.frame.owner;
        if owner == 0 || self.start.is_settled {
            return (leaf, caller);
        }
        memory.doubt(true);
        if self.is_right_above(memory, leaf, caller) {
            memory.doubt(false);
            return (leaf, caller);
        }
        let found = (caller != 0)
            .then(|| self.read_frame(memory, caller, false))
            .flatten();
        if matches!(found, Some(Link::Shim)) {
            memory.doubt(false);
            return (leaf, caller);
        }
        let mut is_on_stack = |frame| byte(memory, at(frame, owner)) == Some(THREAD);
        // A frame right below the leaf is not its caller if a generator that it resumed is.
        if is_on_stack(leaf) && (found.is_none() || is_on_stack(caller)) {
            let mut below = None;
            for &register in self.start.registers {
                let is_near = register < leaf && leaf - register < LARGEST;
                if is_near && self.is_right_above(memory, leaf, register) {
                    below = Some(register);
                } else if register != leaf
                    && self.frame_in_register(memory, register).is_some()
                    && byte(memory, at(register, owner)) != Some(THREAD)
                {
                    below = None;
                    break;
                }
            }
            if let Some(below) = below {
                return (leaf, below);
            }
        }
        if found.is_some() || self.may_be_first(memory, leaf) {
            memory.doubt(false);
            return (leaf, caller);
        }
        let mut linked = None;
        for &register in self.start.registers {
            if register == leaf || linked.is_some_and(|(frame, _)| frame == register) {
                continue;
            }
            let Some(caller) = self.frame_in_register(memory, register) else {
                continue;
            };
            if linked.is_some() {
                // It is not known which of the two is.
                return (leaf, 0);
            }
            linked = Some((register, caller));
        }
        linked.unwrap_or((leaf, caller))
    }

    /// The caller of the frame that a register points to, if it points to one.
    fn frame_in_register(&self, memory: &mut impl Memory, register: u64) -> Option<u64> {
        if !register.is_multiple_of(8)
            || !matches!(self.read_frame(memory, register, true)?, Link::Frame(..))
        {
            return None;
        }
        let caller = memory.word(at(register, self.layout.frame.previous))?;
        if caller == 0 {
            return None;
        }
        self.read_frame(memory, caller, false).map(|_| caller)
    }

    /// Whether a frame may be the first one.
    fn may_be_first(&self, memory: &mut impl Memory, frame: u64) -> bool {
        match self.layout.chain {
            Chain::Marked { is_entry, .. } => {
                byte(memory, at(frame, is_entry)).is_some_and(|mark| mark != 0)
            }
            _ => false,
        }
    }

    /// Whether a frame lies on the data stack just behind the one that it names as its caller.
    fn is_right_above(&self, memory: &mut impl Memory, address: u64, caller: u64) -> bool {
        let InterpreterFrame {
            code,
            locals,
            owner,
            ..
        } = self.layout.frame;
        let CodeObject {
            frame_size,
            stack_size,
            ..
        } = self.layout.code;
        if owner == 0 {
            return false;
        }
        let size = || {
            if byte(memory, at(caller, owner))? != THREAD {
                return None;
            }
            let code = memory.word(at(caller, code))? & !TAGS;
            let size = u64::from(half(memory, at(code, frame_size))?);
            if stack_size == 0 {
                return Some(size);
            }
            let head = u64::from(locals) / 8;
            Some(size + u64::from(half(memory, at(code, stack_size))?) + head)
        };
        let mut size = size;
        size().is_some_and(|words| caller.wrapping_add(words.wrapping_mul(8)) == address)
    }
}
