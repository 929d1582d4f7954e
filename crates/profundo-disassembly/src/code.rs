//! The code of a function and its instructions.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::{Machine, Syntax, x86};

/// An instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Its address.
    pub address: u64,
    /// Its length in bytes, at least 1.
    pub length: usize,
    /// Its text. The operands begin in the same column in all instructions.
    pub text: String,
    /// The instruction that runs next.
    pub flow: Flow,
    /// The address of the memory that it names relative to its own address.
    pub memory: Option<u64>,
}

/// The instruction that runs after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flow {
    /// The one behind it.
    Next,
    /// The target, always.
    Jump {
        /// Its address.
        target: u64,
    },
    /// The target, or the one behind it.
    Branch {
        /// Its address.
        target: u64,
    },
    /// A function, which returns to the one behind it.
    Call {
        /// The address of the function, where the instruction has it.
        target: Option<u64>,
    },
    /// An address that only the running program knows: a jump through a table, a return.
    Elsewhere,
}

impl Flow {
    /// The target of a jump, conditional or not, where the instruction has it.
    pub fn jump(self) -> Option<u64> {
        match self {
            Self::Jump { target } | Self::Branch { target } => Some(target),
            _ => None,
        }
    }

    /// The target of a jump or a call, where the instruction has it.
    pub fn target(self) -> Option<u64> {
        match self {
            Self::Call { target } => target,
            _ => self.jump(),
        }
    }
}

/// The code of a function.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    machine: Machine,
    bytes: &'a [u8],
    start: u64,
}

impl<'a> Code<'a> {
    /// These bytes, the first of which lies at `start`.
    pub fn new(machine: Machine, bytes: &'a [u8], start: u64) -> Self {
        Self {
            machine,
            bytes,
            start,
        }
    }

    /// The addresses of the code.
    pub fn range(&self) -> Range<u64> {
        let length = self.bytes.len() as u64;
        self.start..self.start.saturating_add(length)
    }

    /// The addresses outside of the code that its instructions jump to, call, read or write.
    pub fn references(&self) -> BTreeSet<u64> {
        let range = self.range();
        let mut found = BTreeSet::new();
        let addresses = self.flows().into_iter();
        found.extend(addresses.flat_map(|(flow, memory)| flow.target().into_iter().chain(memory)));
        found.retain(|address| !range.contains(address));
        found
    }

    fn flows(&self) -> Vec<(Flow, Option<u64>)> {
        match self.machine {
            Machine::X86_64 => x86::flows(64, self.bytes, self.start),
            Machine::X86 => x86::flows(32, self.bytes, self.start),
        }
    }

    /// All instructions in their order. `name` gives the names of addresses outside of the code; an
    /// address without a name stays a number.
    pub fn instructions(
        &self,
        syntax: Syntax,
        name: impl Fn(u64) -> Option<String>,
    ) -> Vec<Instruction> {
        let range = self.range();
        let name = |address: u64| match range.contains(&address) {
            true => None,
            false => name(address),
        };
        match self.machine {
            Machine::X86_64 => x86::instructions(64, self.bytes, self.start, syntax, name),
            Machine::X86 => x86::instructions(32, self.bytes, self.start, syntax, name),
        }
    }
}
