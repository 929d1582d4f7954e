//! Code objects.

use super::InstructionCopies;

/// The place of the names of a function's variables in its code object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableNames {
    /// Up to 3.10: in tuples, by the order in which the variables lie in a frame (`co_varnames`,
    /// `co_cellvars`, `co_freevars`).
    Several([u16; 3]),
    /// 3.11 and later: all of them in one.
    One {
        /// Their number, in 32 bits: `co_nlocalsplus`.
        count: u16,
        /// The tuple: `co_localsplusnames`.
        names: u16,
        /// Their kinds, a byte each: `co_localspluskinds`.
        kinds: u16,
    },
}

/// The parts of `PyCodeObject`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeObject {
    /// The names of variables.
    pub variable_names: VariableNames,
    /// Of the number of its arguments (`co_argcount`); the number of those that are given by name
    /// alone is two integers behind it.
    pub arguments: u16,
    /// Of its flags.
    pub flags: u16,
    /// Of its first line.
    pub first_line: u16,
    /// Of the file's name.
    pub file: u16,
    /// Of its name: the qualified one from 3.11 on.
    pub name: u16,
    /// Of its bare name, where its name is the qualified one.
    pub bare_name: Option<u16>,
    /// Of its line table.
    pub lines: u16,
    /// Of its instructions: from 3.11 on the first one itself, before that a pointer to bytes.
    pub instructions: u16,
    /// Of the copies of its instructions, in a build that can run without the lock, from 3.14 on.
    pub copies: Option<InstructionCopies>,
    /// The offset, before the instructions, of the index of the first one that may be traced (from
    /// 3.12 on). In code of the interpreter's own, which makes objects, it lies behind all of them.
    pub first_traceable: Option<u16>,
    /// Of the size of a frame on the data stack, in words: its own field from 3.12 on; in 3.11 the
    /// number of locals, with the depth of the stack at `stack_size`; 0 before that.
    pub frame_size: u16,
    /// Of the depth of the evaluation stack; 0 where `frame_size` is all.
    pub stack_size: u16,
}
