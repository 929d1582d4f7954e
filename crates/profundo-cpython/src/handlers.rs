//! What the instructions of a code object say about its handlers of exceptions.
//!
//! The bytes are those of `co_code`, in which no instruction is replaced by a specialised one.
//! They may be anything: a place that is no instruction has no answer. Versions whose opcodes are
//! not listed here have fewer answers.

/// The opcodes of a version that matter.
#[derive(Debug)]
struct Opcodes {
    extended_arg: u8,
    pop_top: u8,
    raise: u8,
    /// The instruction that ends a handler which has not taken the exception.
    raise_on: u8,
    /// The instruction that compares an exception with the types of a clause.
    matches: u8,
    matching: Matching,
    /// The same for a clause of groups.
    matches_group: Option<u8>,
    /// The instruction of a `with` that calls `__exit__` with an exception. In 3.8 it is called
    /// without one by the same instruction.
    exits: Option<u8>,
    /// The instructions at which a generator is paused.
    pauses: [u8; 2],
    entry: Entry,
}

/// The form of a clause's comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Matching {
    /// A comparison with this argument, then a jump to an offset.
    Compares(u32),
    /// A jump to an offset.
    Jumps,
    /// A comparison, then a jump by a distance.
    Checks,
}

/// The beginning of a handler.
#[derive(Debug, Clone, Copy)]
enum Entry {
    /// The target of an instruction: that of `try` and of `async for`, whose handler is
    /// `end_async_for`, or those of `with` and of `async with`.
    Setup {
        finally: u8,
        with: [u8; 2],
        end_async_for: u8,
    },
    /// An instruction of its own; handlers of the compiler's own begin with `copy`, or with
    /// `intrinsic` and an argument, and always raise on.
    Push {
        push: u8,
        copy: u8,
        intrinsic: Option<(u8, u32)>,
    },
}

const SETUP: Entry = Entry::Setup {
    finally: 122,
    with: [143, 154],
    end_async_for: 54,
};

const PYTHON_3_8: Opcodes = Opcodes {
    extended_arg: 144,
    pop_top: 1,
    raise: 130,
    raise_on: 88,
    matches: 107,
    matching: Matching::Compares(10),
    matches_group: None,
    exits: None,
    pauses: [86, 72],
    entry: SETUP,
};

const PYTHON_3_9: Opcodes = Opcodes {
    raise_on: 48,
    exits: Some(49),
    matches: 121,
    matching: Matching::Jumps,
    ..PYTHON_3_8
};

const PYTHON_3_10: Opcodes = Opcodes {
    raise_on: 119,
    ..PYTHON_3_9
};

const PYTHON_3_11: Opcodes = Opcodes {
    matches: 36,
    matching: Matching::Checks,
    matches_group: Some(37),
    pauses: [86, 123],
    entry: Entry::Push {
        push: 35,
        copy: 120,
        intrinsic: None,
    },
    ..PYTHON_3_10
};

const PYTHON_3_12: Opcodes = Opcodes {
    pauses: [150, 123],
    entry: Entry::Push {
        push: 35,
        copy: 120,
        intrinsic: Some((173, 3)),
    },
    ..PYTHON_3_11
};

const PYTHON_3_13: Opcodes = Opcodes {
    extended_arg: 71,
    pop_top: 32,
    raise: 101,
    raise_on: 102,
    matches: 7,
    matching: Matching::Checks,
    matches_group: Some(6),
    exits: Some(44),
    pauses: [118, 104],
    entry: Entry::Push {
        push: 33,
        copy: 61,
        intrinsic: Some((55, 3)),
    },
};

const PYTHON_3_14: Opcodes = Opcodes {
    extended_arg: 69,
    pop_top: 31,
    raise: 104,
    raise_on: 105,
    matches: 6,
    matching: Matching::Checks,
    matches_group: Some(5),
    exits: Some(43),
    pauses: [120, 106],
    entry: Entry::Push {
        push: 32,
        copy: 59,
        intrinsic: Some((53, 3)),
    },
};

const PYTHON_3_15: Opcodes = Opcodes {
    extended_arg: 67,
    pop_top: 29,
    raise: 103,
    raise_on: 104,
    matches: 6,
    matching: Matching::Checks,
    matches_group: Some(5),
    exits: Some(41),
    pauses: [119, 105],
    entry: Entry::Push {
        push: 30,
        copy: 57,
        intrinsic: Some((51, 3)),
    },
};

fn opcodes(minor: u8) -> Option<&'static Opcodes> {
    Some(match minor {
        8 => &PYTHON_3_8,
        9 => &PYTHON_3_9,
        10 => &PYTHON_3_10,
        11 => &PYTHON_3_11,
        12 => &PYTHON_3_12,
        13 => &PYTHON_3_13,
        14 => &PYTHON_3_14,
        15 => &PYTHON_3_15,
        _ => return None,
    })
}

/// An instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Instruction {
    /// Its offset, after its extended arguments.
    offset: u32,
    /// The offset of the next one, after its own caches.
    next: u32,
    opcode: u8,
    argument: u32,
}

/// The code of a function.
#[derive(Debug, Clone, Copy)]
pub struct Handlers<'a> {
    minor: u8,
    opcodes: &'static Opcodes,
    code: &'a [u8],
}

/// The opcode of a cache, whose argument is 0.
const CACHE: u8 = 0;

impl<'a> Handlers<'a> {
    /// The handlers in the bytes of `co_code`. `None`: the version's opcodes are not known.
    pub fn new(minor: u8, code: &'a [u8]) -> Option<Self> {
        Some(Self {
            minor,
            opcodes: opcodes(minor)?,
            code,
        })
    }

    fn has_caches(&self) -> bool {
        matches!(self.opcodes.entry, Entry::Push { .. })
    }

    fn opcode(&self, offset: u32) -> Option<u8> {
        self.code.get(offset as usize).copied()
    }

    /// The instructions from an offset on.
    fn from(&self, mut offset: u32) -> impl Iterator<Item = Instruction> + use<'_, 'a> {
        core::iter::from_fn(move || {
            let mut argument = 0_u32;
            loop {
                let at = usize::try_from(offset).ok()?;
                let &[opcode, low] = self.code.get(at..at.checked_add(2)?)?.first_chunk()?;
                argument = argument << 8 | u32::from(low);
                let mut next = offset.checked_add(2)?;
                if opcode == self.opcodes.extended_arg {
                    offset = next;
                    continue;
                }
                while self.has_caches() && self.opcode(next) == Some(CACHE) {
                    next = next.checked_add(2)?;
                }
                let found = Instruction {
                    offset,
                    next,
                    opcode,
                    argument,
                };
                offset = next;
                return Some(found);
            }
        })
    }

    /// Whether the instruction at an offset is a `raise` with an exception.
    pub fn raises(&self, offset: u32) -> bool {
        let mut found = self.from(offset);
        found.next().is_some_and(|instruction| {
            instruction.opcode == self.opcodes.raise && instruction.argument > 0
        })
    }

    /// Whether a generator may be paused at an offset.
    pub fn pauses(&self, offset: u32) -> bool {
        let opcode = self.opcode(offset);
        opcode.is_some_and(|opcode| self.opcodes.pauses.contains(&opcode))
    }

    /// Whether the handler of a `with` begins at an offset.
    pub fn is_with(&self, offset: u32) -> bool {
        let mut near = self.from(offset);
        let first = near.next().map(|first| first.opcode);
        let called = match self.opcodes.entry {
            Entry::Push { push, .. } if first == Some(push) => near.next().map(|next| next.opcode),
            _ => first,
        };
        called.is_some() && called == self.opcodes.exits
    }

    /// Whether the handler at an offset is the compiler's own: it raises on whatever it gets.
    pub fn is_hidden(&self, handler: u32) -> bool {
        let Entry::Push {
            copy, intrinsic, ..
        } = self.opcodes.entry
        else {
            return false;
        };
        let first = self.from(handler).next();
        first.is_some_and(|first| {
            first.opcode == copy || intrinsic == Some((first.opcode, first.argument))
        })
    }

    /// The `with` or the `async for` whose handler is at an offset, before 3.11.
    pub fn statement_of(&self, handler: u32) -> Option<u32> {
        let Entry::Setup {
            finally,
            with,
            end_async_for,
        } = self.opcodes.entry
        else {
            return None;
        };
        let is_for = self.opcode(handler) == Some(end_async_for);
        let mut all = self.from(0);
        let found = all.find(|instruction| {
            let is_setup =
                with.contains(&instruction.opcode) || is_for && instruction.opcode == finally;
            is_setup && self.relative(*instruction) == handler
        });
        found.map(|instruction| instruction.offset)
    }

    /// The target of a jump by a distance.
    fn relative(&self, jump: Instruction) -> u32 {
        jump.next.saturating_add(self.bytes(jump.argument))
    }

    /// Bytes of an argument that counts instructions; before 3.10 it counts bytes.
    fn bytes(&self, argument: u32) -> u32 {
        match self.minor {
            ..=9 => argument,
            _ => argument.saturating_mul(2),
        }
    }

    /// Where a clause goes on if its types do not match.
    fn mismatch(&self, comparison: Instruction) -> Option<u32> {
        let jump = || self.from(comparison.next).next();
        match self.opcodes.matching {
            Matching::Compares(argument) if argument == comparison.argument => {
                Some(self.bytes(jump()?.argument))
            }
            Matching::Compares(_) => None,
            Matching::Jumps => Some(self.bytes(comparison.argument)),
            Matching::Checks => Some(self.relative(jump()?)),
        }
    }

    fn is_clause(&self, offset: u32) -> bool {
        self.opcode(offset)
            .is_some_and(|opcode| opcode != self.opcodes.raise_on)
    }

    /// The offsets of instructions on the lines of `except` clauses.
    pub fn clauses(&self, mut visit: impl FnMut(u32)) {
        for instruction in self.from(0) {
            let Instruction { offset, opcode, .. } = instruction;
            if opcode == self.opcodes.matches
                && let Some(next) = self.mismatch(instruction)
            {
                visit(offset);
                if self.is_clause(next) {
                    visit(next);
                }
            }
            // One without types.
            let bare = match self.opcodes.entry {
                Entry::Setup { finally, .. } if opcode == finally => self.relative(instruction),
                Entry::Push { push, .. } if opcode == push => instruction.next,
                _ => continue,
            };
            if self.opcode(bare) == Some(self.opcodes.pop_top) {
                visit(bare);
            }
        }
    }

    /// The instruction that compares an exception with the first clause of a handler, or the one
    /// that raises it on.
    fn first_match(&self, handler: u32) -> Option<Instruction> {
        /// A clause names few types.
        const LONGEST: usize = 64;
        let Opcodes {
            matches,
            matches_group,
            raise_on,
            ..
        } = *self.opcodes;
        let mut near = self.from(handler).take(LONGEST);
        near.find(|Instruction { opcode, .. }| {
            [matches, raise_on].contains(opcode) || Some(*opcode) == matches_group
        })
    }

    /// Whether the handler at an offset is one of groups: `except*`.
    pub fn is_of_groups(&self, handler: u32) -> bool {
        let first = self.first_match(handler);
        first.is_some_and(|first| Some(first.opcode) == self.opcodes.matches_group)
    }

    /// Whether the handler at an offset has more than one clause.
    pub fn has_clauses(&self, handler: u32) -> bool {
        let first = self.first_match(handler);
        let next = first
            .filter(|first| first.opcode == self.opcodes.matches)
            .and_then(|first| self.mismatch(first));
        next.is_some_and(|next| self.is_clause(next))
    }
}

/// The handler of an instruction, by the table of 3.11 and later (`co_exceptiontable`).
pub fn handler_in(table: &[u8], offset: u32) -> Option<u32> {
    let mut bytes = table.iter().copied();
    let mut number = || {
        let mut byte = bytes.next()?;
        let mut number = u32::from(byte & 0x3F);
        while byte & 0x40 != 0 {
            byte = bytes.next()?;
            number = number << 6 | u32::from(byte & 0x3F);
        }
        Some(number)
    };
    loop {
        let (start, length) = (number()?, number()?);
        let (target, _) = (number()?, number()?);
        let unit = offset / 2;
        if (start..start.saturating_add(length)).contains(&unit) {
            return target.checked_mul(2);
        }
    }
}

#[cfg(test)]
mod tests;
