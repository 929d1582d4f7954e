//! The parts of a profile that are needed only while it grows.
//!
//! A finished profile has no use for any of it: the places in it are locations, with their names
//! and modules. It is in the file while a recording goes on, so that it can be continued if the
//! recorder is killed.

use crate::{FileId, ModuleId, ProcessId, StringId};

/// The programs of an unfinished recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Growing {
    /// Code objects of interpreters. A later one replaces an earlier one of the same number.
    pub codes: Vec<CodeObject>,
    /// The mappings of modules. A later one replaces an earlier one of the same place and time.
    pub mappings: Vec<Mapping>,
}

/// A module in a program's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mapping {
    /// The process.
    pub process: ProcessId,
    /// The module. Its own addresses are those of the first program that maps it.
    pub module: ModuleId,
    /// The first address.
    pub start: u64,
    /// The end of the last one.
    pub end: u64,
    /// The time when it was first seen, on the cycle counter.
    pub loaded: u64,
    /// The time when it was unmapped, on the cycle counter; `u64::MAX` while it is there.
    pub unloaded: u64,
}

/// A code object, under the number that frames of its process refer to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodeObject {
    /// The process.
    pub process: ProcessId,
    /// Its number.
    pub number: u32,
    /// The minor version: the `x` of CPython 3.x.
    pub minor: u8,
    /// The function's first line.
    pub first_line: i32,
    /// The file that it was compiled from.
    pub file: FileId,
    /// Its qualified name.
    pub name: StringId,
    /// Its line table, in the format of the interpreter's version.
    pub lines: Box<[u8]>,
}
