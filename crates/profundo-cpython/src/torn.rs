//! What to make of a thread that was stopped while it pushed a frame.
//!
//! The evaluation loop makes a frame reachable a few instructions before, or after, it links it to
//! its caller, as the compiler liked it; and the record of a loop that is being entered is linked in
//! before it is filled in. What is missing is then still in a register.

use crate::layout::{Chain, Layout};
use crate::memory::{Memory, byte, half};
use crate::walk::{Seen, Start, TAGS, Walker, at};

const OWNED_BY_THREAD: u8 = 0;

/// Words of a frame before its locals.
const FRAME_HEAD: u64 = 9;

impl Walker<'_> {
    /// The record before one that is not filled in yet.
    pub(crate) fn record_in_registers(
        &self,
        memory: &mut impl Memory,
        frame: u16,
        previous: u16,
    ) -> Option<u64> {
        /// How far above it the record before may lie: a stack's size.
        const FAR: u64 = 64 << 20;
        /// How large a thread state is at most, whose end holds the first record.
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
                    && matches!(self.look(memory, leaf, true)?, Seen::Frame(..))
            })
            .then_some(())
        };
        let found = registers
            .iter()
            .find(|register| is_record(register).is_some());
        found.copied()
    }

    /// Finds out whether the leaf leads to its caller, and if not, who does; returns the leaf, which
    /// is another one then, and its caller.
    ///
    /// Frames that the thread owns lie on the data stack without gaps, so a caller that the leaf ends
    /// at is proven. A generator's frame does not lie there, but it leads nowhere while it is
    /// suspended.
    pub(crate) fn settle(&self, memory: &mut impl Memory, leaf: u64, caller: u64) -> (u64, u64) {
        /// The largest frame that is looked for.
        const LARGEST: u64 = 1 << 16;
        let owner = self.layout.owner;
        if owner == 0 || self.start.is_settled {
            return (leaf, caller);
        }
        memory.doubt(true);
        if self.is_right_above(memory, leaf, caller) {
            memory.doubt(false);
            return (leaf, caller);
        }
        let seen = (caller != 0)
            .then(|| self.look(memory, caller, false))
            .flatten();
        if matches!(seen, Some(Seen::Shim)) {
            memory.doubt(false);
            return (leaf, caller);
        }
        let mut is_on_stack = |frame| byte(memory, at(frame, owner)) == Some(OWNED_BY_THREAD);
        // A frame right below the leaf is not its caller if a generator that it resumed is.
        if is_on_stack(leaf) && (seen.is_none() || is_on_stack(caller)) {
            let mut below = None;
            for &register in self.start.registers {
                let is_near = register < leaf && leaf - register < LARGEST;
                if is_near && self.is_right_above(memory, leaf, register) {
                    below = Some(register);
                } else if register != leaf
                    && self.frame_in_register(memory, register).is_some()
                    && byte(memory, at(register, owner)) != Some(OWNED_BY_THREAD)
                {
                    below = None;
                    break;
                }
            }
            if let Some(below) = below {
                return (leaf, below);
            }
        }
        if seen.is_some() || self.may_be_first(memory, leaf) {
            memory.doubt(false);
            return (leaf, caller);
        }
        let mut found = None;
        for &register in self.start.registers {
            if register == leaf || found.is_some_and(|(frame, _)| frame == register) {
                continue;
            }
            let Some(caller) = self.frame_in_register(memory, register) else {
                continue;
            };
            if found.is_some() {
                // Nobody can tell which.
                return (leaf, 0);
            }
            found = Some((register, caller));
        }
        found.unwrap_or((leaf, caller))
    }

    /// The caller of the frame that a register points to, if it points to one.
    fn frame_in_register(&self, memory: &mut impl Memory, register: u64) -> Option<u64> {
        if !register.is_multiple_of(8)
            || !matches!(self.look(memory, register, true)?, Seen::Frame(..))
        {
            return None;
        }
        let caller = memory.word(at(register, self.layout.previous))?;
        if caller == 0 {
            return None;
        }
        self.look(memory, caller, false).map(|_| caller)
    }

    /// Whether a frame may have none before it.
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
        let Layout {
            owner,
            code,
            frame_size,
            stack_size,
            ..
        } = *self.layout;
        if owner == 0 {
            return false;
        }
        let size = || {
            if byte(memory, at(caller, owner))? != OWNED_BY_THREAD {
                return None;
            }
            let code = memory.word(at(caller, code))? & !TAGS;
            let size = u64::from(half(memory, at(code, frame_size))?);
            if stack_size == 0 {
                return Some(size);
            }
            Some(size + u64::from(half(memory, at(code, stack_size))?) + FRAME_HEAD)
        };
        let mut size = size;
        size().is_some_and(|words| caller.wrapping_add(words.wrapping_mul(8)) == address)
    }
}
