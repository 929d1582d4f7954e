//! The time and allocations of an expression, in the words of Julia's `@time`.
//!
//! Allocations are those of the whole process, as in Julia; they are counted only where
//! [`Alloc`](crate::Alloc) is the program's allocator. Waits for locks are counted for the locks of
//! [`crate::locks`]. There is no garbage to collect, and nothing is compiled.

mod line;
mod macros;

use std::fmt;
use std::io::Write;
use std::time::Instant;

use profundo_capture::heap::{Counted, Counting};

use crate::locks;
use line::Cost;

/// An expression's value and cost.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Timed<T> {
    /// The expression's value.
    pub value: T,
    /// The elapsed seconds.
    pub time: f64,
    /// The number of allocations of the process meanwhile; `None` where they are not counted.
    pub allocations: Option<u64>,
    /// The bytes that it allocated; `None` where they are not counted.
    pub bytes: Option<u64>,
    /// The number of waits for our [`locks`]; `None` where none is used.
    pub lock_conflicts: Option<u64>,
}

/// A measurement that the macros start before an expression and stop after it.
#[derive(Debug)]
pub struct Stopwatch {
    /// `None` where allocations are not counted.
    counting: Option<Counting>,
    conflicts: Option<u64>,
    started: Instant,
}

/// The readings when the watch is stopped.
#[derive(Debug, Clone, Copy)]
struct Reading {
    cost: Cost,
    counted: Option<Counted>,
    conflicts: Option<u64>,
}

impl Stopwatch {
    /// Starts the watch.
    #[expect(
        clippy::new_without_default,
        reason = "a stopwatch by default would run without being asked to"
    )]
    pub fn new() -> Self {
        Self {
            // It fails only where allocations are not counted.
            counting: Counting::begin().ok(),
            conflicts: locks::conflicts(),
            started: Instant::now(),
        }
    }

    fn read(self) -> Reading {
        let time = self.started.elapsed();
        let counted = self.counting.as_ref().map(Counting::counted);
        let conflicts = locks::conflicts().map(|now| now - self.conflicts.unwrap_or(0));
        Reading {
            cost: Cost {
                time,
                allocations: counted.map_or(0, |counted| counted.count),
                bytes: counted.map_or(0, |counted| counted.bytes),
                lock_conflicts: conflicts.unwrap_or(0),
            },
            counted,
            conflicts,
        }
    }

    /// The value with its cost.
    pub fn stop<T>(self, value: T) -> Timed<T> {
        let Reading {
            cost,
            counted,
            conflicts,
        } = self.read();
        Timed {
            value,
            time: cost.time.as_secs_f64(),
            allocations: counted.map(|counted| counted.count),
            bytes: counted.map(|counted| counted.bytes),
            lock_conflicts: conflicts,
        }
    }

    /// Prints the value's cost on stdout and returns the value.
    pub fn print<T>(self, label: Option<&dyn fmt::Display>, value: T) -> T {
        print_lines(&[self.read().cost.line(label)]);
        value
    }

    /// As [`print`](Self::print), with all numbers below the line.
    pub fn print_all<T>(self, value: T) -> T {
        let Reading { cost, counted, .. } = self.read();
        let mut lines = vec![cost.line(None)];
        lines.extend(cost.numbers(counted));
        print_lines(&lines);
        value
    }
}

fn print_lines(lines: &[String]) {
    let text = lines.join("\n");
    // A failed write to stdout cannot be reported; the value counts.
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
