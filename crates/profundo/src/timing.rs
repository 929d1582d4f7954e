//! How long an expression took and what it allocated, in the words of Julia's `@time`.
//!
//! Allocations are those of the whole process, as in Julia; they are counted where
//! [`Alloc`](crate::Alloc) is the program's allocator, and left out where it is not. Waits for locks are
//! counted for the locks of [`crate::locks`]. There is no garbage to collect, and nothing is compiled.

mod line;
mod macros;

use std::fmt;
use std::io::Write;
use std::time::Instant;

use profundo_capture::heap::{Counted, Counting};

use crate::locks;
use line::Cost;

/// An expression's value and what it took.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Timed<T> {
    /// The value.
    pub value: T,
    /// The seconds that passed.
    pub time: f64,
    /// How often the process allocated meanwhile; `None` where nobody counts.
    pub allocations: Option<u64>,
    /// How many bytes it allocated; `None` where nobody counts.
    pub bytes: Option<u64>,
    /// How often one of our [`locks`] had to be waited for; `None` where none is used.
    pub lock_conflicts: Option<u64>,
}

/// What the macros start before an expression and stop after it.
#[derive(Debug)]
pub struct Stopwatch {
    /// `None` where nobody counts.
    counting: Option<Counting>,
    conflicts: Option<u64>,
    started: Instant,
}

/// What is read when the watch is stopped.
#[derive(Debug, Clone, Copy)]
struct Reading {
    cost: Cost,
    counted: Option<Counted>,
    conflicts: Option<u64>,
}

impl Stopwatch {
    /// Starts it.
    #[expect(
        clippy::new_without_default,
        reason = "a stopwatch by default would run without being asked to"
    )]
    pub fn new() -> Self {
        Self {
            // It can only fail where nobody counts.
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
                allocations: counted.map_or(0, |it| it.count),
                bytes: counted.map_or(0, |it| it.bytes),
                lock_conflicts: conflicts.unwrap_or(0),
            },
            counted,
            conflicts,
        }
    }

    /// The value with what it took.
    pub fn stop<T>(self, value: T) -> Timed<T> {
        let Reading {
            cost,
            counted,
            conflicts,
        } = self.read();
        Timed {
            value,
            time: cost.time.as_secs_f64(),
            allocations: counted.map(|it| it.count),
            bytes: counted.map(|it| it.bytes),
            lock_conflicts: conflicts,
        }
    }

    /// Prints what the value took on stdout and passes it on.
    pub fn print<T>(self, label: Option<&dyn fmt::Display>, value: T) -> T {
        say(&[self.read().cost.line(label)]);
        value
    }

    /// The same with all numbers below.
    pub fn print_all<T>(self, value: T) -> T {
        let Reading { cost, counted, .. } = self.read();
        let mut lines = vec![cost.line(None)];
        lines.extend(cost.numbers(counted));
        say(&lines);
        value
    }
}

fn say(lines: &[String]) {
    let text = lines.join("\n");
    // Where stdout is closed there is nobody to tell; the value counts.
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
