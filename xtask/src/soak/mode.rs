//! The modes of a soak, as data.

/// A program that never rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    C,
    Python,
}

/// The way the profiler comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// The program runs alone, for comparison.
    None,
    /// The profiler starts it.
    Starts,
    /// The profiler attaches to it.
    Attaches,
}

/// The extent of what a recording tells of each quarter of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    Nothing,
    /// All quarters have their CPU time.
    All,
    /// The recording keeps the last minutes alone.
    Last,
}

/// A recording to soak.
#[derive(Debug)]
pub struct Mode {
    pub name: &'static str,
    pub program: Program,
    pub entry: Entry,
    /// The words of the command line, before the output's name.
    pub words: &'static [&'static str],
    pub told: Told,
}

const fn mode(
    name: &'static str,
    program: Program,
    entry: Entry,
    words: &'static [&'static str],
    told: Told,
) -> Mode {
    Mode {
        name,
        program,
        entry,
        words,
        told,
    }
}

use Entry::{Attaches, None as Alone, Starts};
use Program::{C, Python};
use Told::{All, Last, Nothing};

/// Every mode. Programs alone come first: others are compared with them.
pub const MODES: &[Mode] = &[
    mode("alone-c", C, Alone, &[], Nothing),
    mode("alone-python", Python, Alone, &[], Nothing),
    mode("run-c", C, Starts, &["record"], All),
    mode("run-python", Python, Starts, &["record"], All),
    mode(
        "wall-python",
        Python,
        Starts,
        &["record", "--wall"],
        Nothing,
    ),
    mode("memory-c", C, Starts, &["record", "--memory"], All),
    mode(
        "memory-python",
        Python,
        Starts,
        &["record", "--memory"],
        All,
    ),
    mode("exact-c", C, Starts, &["record", "--memory=exact"], All),
    mode(
        "exact-python",
        Python,
        Starts,
        &["record", "--memory=exact"],
        All,
    ),
    mode("trace-python", Python, Starts, &["trace"], Nothing),
    mode("attach-python", Python, Attaches, &["attach"], All),
    mode("inside-c", C, Attaches, &["attach", "--inside"], All),
    mode(
        "late-memory-python",
        Python,
        Attaches,
        &["attach", "--memory"],
        All,
    ),
    mode(
        "last-python",
        Python,
        Starts,
        &["record", "--last", "1m"],
        Last,
    ),
];
