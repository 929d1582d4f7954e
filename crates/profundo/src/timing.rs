//! How long an expression took, in the words of Julia's `@time`.
//!
//! The line has room for allocations, collections of garbage and waits for locks. Without a
//! profiler of allocations the macros fill in the time alone; what is nothing is not printed.

use std::fmt;
use std::io::Write;
use std::time::{Duration, Instant};

/// An expression's value and what it took.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Timed<T> {
    /// The value.
    pub value: T,
    /// The seconds that passed.
    pub time: f64,
    /// How often memory was allocated; `None` where nobody counts.
    pub allocations: Option<u64>,
    /// How many bytes were allocated; `None` where nobody counts.
    pub bytes: Option<u64>,
    /// How often a lock had to be waited for; `None` where nobody counts.
    pub lock_conflicts: Option<u64>,
}

/// What the macros start before an expression and stop after it.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    started: Instant,
}

impl Stopwatch {
    /// Starts it.
    #[expect(
        clippy::new_without_default,
        reason = "a stopwatch by default would run without being asked to"
    )]
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
        }
    }

    /// The seconds since.
    pub fn seconds(self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// The value with what it took.
    pub fn stop<T>(self, value: T) -> Timed<T> {
        Timed {
            time: self.seconds(),
            value,
            allocations: None,
            bytes: None,
            lock_conflicts: None,
        }
    }

    /// Prints what the value took on stdout and passes it on.
    pub fn print<T>(self, label: Option<&dyn fmt::Display>, value: T) -> T {
        let cost = Cost {
            time: self.started.elapsed(),
            ..Cost::default()
        };
        let line = cost.line(label);
        // Where stdout is closed there is nobody to tell; the value counts.
        let _ = writeln!(std::io::stdout().lock(), "{line}");
        value
    }
}

/// What is printed after an expression was timed.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    time: Duration,
    allocations: u64,
    bytes: u64,
    gc_time: Duration,
    lock_conflicts: u64,
}

impl Cost {
    /// One line without its end. Without a label the seconds stand in a column.
    fn line(&self, label: Option<&dyn fmt::Display>) -> String {
        let seconds = format!("{:.6}", self.time.as_secs_f64());
        let mut line = match label {
            Some(label) => format!("{label}: {seconds} seconds"),
            None => format!("{seconds:>10} seconds"),
        };
        let mut parts = Vec::new();
        if self.allocations > 0 || self.bytes > 0 {
            parts.push(format!(
                "{}: {}",
                count(self.allocations),
                bytes(self.bytes)
            ));
        }
        if !self.gc_time.is_zero() {
            let share = self.gc_time.as_secs_f64() / self.time.as_secs_f64();
            parts.push(format!("{:.2}% gc time", share * 100.0));
        }
        if self.lock_conflicts > 0 {
            let plural = if self.lock_conflicts == 1 { "" } else { "s" };
            parts.push(format!("{} lock conflict{plural}", self.lock_conflicts));
        }
        if !parts.is_empty() {
            line.push_str(&format!(" ({})", parts.join(", ")));
        }
        line
    }
}

/// A value in the largest unit that leaves more than 1 of it, and that unit's number.
fn in_units(value: u64, base: u64, units: usize) -> (f64, usize) {
    let mut one: u64 = 1;
    let mut unit = 0;
    while unit + 1 < units && value > one.saturating_mul(base) {
        one *= base;
        unit += 1;
    }
    (value as f64 / one as f64, unit)
}

fn count(allocations: u64) -> String {
    const UNITS: [&str; 6] = ["", " k", " M", " G", " T", " P"];
    match in_units(allocations, 1000, UNITS.len()) {
        (_, 0) if allocations == 1 => "1 allocation".into(),
        (_, 0) => format!("{allocations} allocations"),
        (value, unit) => format!("{value:.2}{} allocations", UNITS[unit]),
    }
}

fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    match in_units(bytes, 1024, UNITS.len()) {
        (_, 0) if bytes == 1 => "1 byte".into(),
        (_, 0) => format!("{bytes} bytes"),
        (value, unit) => format!("{value:.3} {}", UNITS[unit]),
    }
}

/// Runs an expression, prints how long it took on stdout, and gives its value; with a label
/// before it, the line begins with that.
///
/// ```
/// let sum = profundo::time!((0..1000).sum::<u64>());
/// let sum = profundo::time!("the sum again", sum + 0);
/// assert_eq!(sum, 499_500);
/// ```
#[macro_export]
macro_rules! time {
    ($expression:expr $(,)?) => {{
        let watch = $crate::timing::Stopwatch::new();
        let value = $expression;
        watch.print(::core::option::Option::None, value)
    }};
    ($label:expr, $expression:expr $(,)?) => {{
        let watch = $crate::timing::Stopwatch::new();
        let value = $expression;
        watch.print(::core::option::Option::Some(&$label), value)
    }};
}

/// As [`time!`](crate::time!), with the expression's text for a label.
///
/// ```
/// let sum = profundo::showtime!((0..1000).sum::<u64>());
/// assert_eq!(sum, 499_500);
/// ```
#[macro_export]
macro_rules! showtime {
    ($expression:expr $(,)?) => {
        $crate::time!(::core::stringify!($expression), $expression)
    };
}

/// The seconds that an expression took; its value is dropped after they were counted.
///
/// ```
/// let seconds: f64 = profundo::elapsed!((0..1000).sum::<u64>());
/// assert!(seconds < 60.0);
/// ```
#[macro_export]
macro_rules! elapsed {
    ($expression:expr $(,)?) => {{
        let watch = $crate::timing::Stopwatch::new();
        let value = $expression;
        let seconds = watch.seconds();
        ::core::mem::drop(value);
        seconds
    }};
}

/// An expression's value together with what it took, as a [`Timed`](crate::Timed).
///
/// ```
/// let timed = profundo::timed!((0..1000).sum::<u64>());
/// assert_eq!(timed.value, 499_500);
/// assert!(timed.time >= 0.0);
/// ```
#[macro_export]
macro_rules! timed {
    ($expression:expr $(,)?) => {{
        let watch = $crate::timing::Stopwatch::new();
        let value = $expression;
        watch.stop(value)
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(label: Option<&dyn fmt::Display>, seconds: f64, cost: Cost) -> String {
        let time = Duration::from_secs_f64(seconds);
        Cost { time, ..cost }.line(label)
    }

    fn allocated(allocations: u64, bytes: u64) -> Cost {
        Cost {
            allocations,
            bytes,
            ..Cost::default()
        }
    }

    #[test]
    fn the_line_is_julias() {
        let gc = Cost {
            gc_time: Duration::from_secs_f64(0.110_018 * 0.1717),
            ..allocated(1_500_000, 61_577_626)
        };
        assert_eq!(
            line(None, 0.110_018, gc),
            "  0.110018 seconds (1.50 M allocations: 58.725 MiB, 17.17% gc time)"
        );
        let locks = |lock_conflicts| Cost {
            lock_conflicts,
            ..Cost::default()
        };
        assert_eq!(
            line(None, 2.0, locks(1)),
            "  2.000000 seconds (1 lock conflict)"
        );
        let all = Cost {
            lock_conflicts: 3,
            gc_time: Duration::from_secs(1),
            ..allocated(1, 1)
        };
        assert_eq!(
            line(None, 2.0, all),
            "  2.000000 seconds (1 allocation: 1 byte, 50.00% gc time, 3 lock conflicts)"
        );
    }

    #[test]
    fn seconds_stand_in_a_column_or_behind_a_label() {
        assert_eq!(line(None, 0.0, Cost::default()), "  0.000000 seconds");
        assert_eq!(line(None, 123.5, Cost::default()), "123.500000 seconds");
        assert_eq!(line(None, 1234.5, Cost::default()), "1234.500000 seconds");
        let label = Some(&"sum" as &dyn fmt::Display);
        assert_eq!(line(label, 0.25, Cost::default()), "sum: 0.250000 seconds");
    }

    #[test]
    fn counts_have_units_of_a_thousand() {
        let cases = [
            (0, "0 allocations"),
            (1, "1 allocation"),
            (1000, "1000 allocations"),
            (1001, "1.00 k allocations"),
            (1_000_000, "1000.00 k allocations"),
            (1_500_000, "1.50 M allocations"),
            (2_340_000_000, "2.34 G allocations"),
            (5_000_000_000_000, "5.00 T allocations"),
            (u64::MAX, "18446.74 P allocations"),
        ];
        for (allocations, expected) in cases {
            assert_eq!(count(allocations), expected);
        }
    }

    #[test]
    fn bytes_have_units_of_1024() {
        let cases = [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1024, "1024 bytes"),
            (1025, "1.001 KiB"),
            (1 << 20, "1024.000 KiB"),
            ((1 << 20) + 1, "1.000 MiB"),
            (61_577_626, "58.725 MiB"),
            (3 << 30, "3.000 GiB"),
            (u64::MAX, "16384.000 PiB"),
        ];
        for (number, expected) in cases {
            assert_eq!(bytes(number), expected);
        }
    }
}
