//! What a profile needs only while it grows.
//!
//! A finished profile has no use for any of it: the places in it are locations, with their names
//! and modules. It is in the file while a recording goes on, so that one whose recorder was killed
//! can be gone on with.

use crate::{FileId, ModuleId, ProcessId, StringId};

/// What is known of the programs of a recording that is not over, as it was told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Growing {
    /// Code objects of interpreters. A later one replaces an earlier one of the same number.
    pub codes: Vec<CodeObject>,
    /// Where programs have their modules. A later one replaces an earlier one of the same place
    /// and time.
    pub mappings: Vec<Mapping>,
}

/// A module in a program's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mapping {
    /// Whose memory.
    pub process: ProcessId,
    /// What is mapped. Its own addresses are those of the first program that has it.
    pub module: ModuleId,
    /// The first address.
    pub start: u64,
    /// The end of the last one.
    pub end: u64,
    /// When it was first seen, on the cycle counter.
    pub loaded: u64,
    /// When it was gone; `u64::MAX` while it is there.
    pub unloaded: u64,
}

/// A code object, under the number that frames of its process have for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodeObject {
    /// Whose.
    pub process: ProcessId,
    /// Its number.
    pub number: u32,
    /// CPython 3.what.
    pub minor: u8,
    /// The line of the function's beginning.
    pub first_line: i32,
    /// The file that it was compiled from.
    pub file: FileId,
    /// Its qualified name.
    pub name: StringId,
    /// Its line table, as the interpreter's version has it.
    pub lines: Box<[u8]>,
}
