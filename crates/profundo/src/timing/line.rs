//! The cost of a timed expression in one line: Julia's units and Julia's order.

use std::fmt;
use std::time::Duration;

use profundo_capture::heap::Counted;

/// The numbers that are printed after an expression was timed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    pub(super) time: Duration,
    pub(super) allocations: u64,
    pub(super) bytes: u64,
    pub(super) lock_conflicts: u64,
}

impl Cost {
    /// One line without its end. Without a label the seconds are aligned in a column.
    pub(super) fn line(&self, label: Option<&dyn fmt::Display>) -> String {
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
        if self.lock_conflicts > 0 {
            let plural = if self.lock_conflicts == 1 { "" } else { "s" };
            parts.push(format!("{} lock conflict{plural}", self.lock_conflicts));
        }
        if !parts.is_empty() {
            line.push_str(&format!(" ({})", parts.join(", ")));
        }
        line
    }

    /// A line per number. Those of a garbage collector are always 0, and those of allocations
    /// appear only where they are counted.
    pub(super) fn numbers(&self, counted: Option<Counted>) -> Vec<String> {
        let line = |label: &str, number: u128| format!("{:<20}{number}", format!("{label}:"));
        let mut lines = vec![
            line("elapsed time (ns)", self.time.as_nanos()),
            line("gc time (ns)", 0),
        ];
        if let Some(counted) = counted {
            let fresh = counted.count.saturating_sub(counted.resized);
            let freed = counted.freed.saturating_sub(counted.resized);
            lines.extend([
                line("bytes allocated", counted.bytes.into()),
                line("pool allocs", 0),
                line("non-pool GC allocs", 0),
            ]);
            if fresh > 0 {
                lines.push(line("malloc() calls", fresh.into()));
            }
            if counted.resized > 0 {
                lines.push(line("realloc() calls", counted.resized.into()));
            }
            if fresh > 0 {
                lines.push(line("free() calls", freed.into()));
            }
        }
        lines.extend([line("minor collections", 0), line("full collections", 0)]);
        lines
    }
}

/// The value in the largest unit of which it has more than 1, and that unit's index.
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
        assert_eq!(
            line(None, 0.110_018, allocated(1_500_000, 61_577_626)),
            "  0.110018 seconds (1.50 M allocations: 58.725 MiB)"
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
            ..allocated(1, 1)
        };
        assert_eq!(
            line(None, 2.0, all),
            "  2.000000 seconds (1 allocation: 1 byte, 3 lock conflicts)"
        );
    }

    #[test]
    fn numbers_stand_in_a_column() {
        let cost = Cost {
            time: Duration::from_nanos(6_319_818),
            ..Cost::default()
        };
        let counted = Counted {
            count: 5,
            bytes: 8_000_256,
            freed: 3,
            resized: 2,
            ..Counted::default()
        };
        let expected = [
            "elapsed time (ns):  6319818",
            "gc time (ns):       0",
            "bytes allocated:    8000256",
            "pool allocs:        0",
            "non-pool GC allocs: 0",
            "malloc() calls:     3",
            "realloc() calls:    2",
            "free() calls:       1",
            "minor collections:  0",
            "full collections:   0",
        ];
        assert_eq!(cost.numbers(Some(counted)), expected);
        let uncounted = [expected[0], expected[1], expected[8], expected[9]];
        assert_eq!(cost.numbers(None), uncounted);
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
