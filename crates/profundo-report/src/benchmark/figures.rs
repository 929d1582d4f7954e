//! Times as timeit prints them: three significant digits as C's `%g` writes them, and its names of
//! units. Times of commands are in the units of all other reports.

use profundo_analysis::bench::Subject;

use crate::page::units::duration;

/// The units of times, by timeit's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocked {
    /// Nanoseconds.
    Nsec,
    /// Microseconds.
    Usec,
    /// Milliseconds.
    Msec,
    /// Seconds.
    Sec,
}

impl Clocked {
    /// All of them, the smallest first.
    pub const ALL: [Self; 4] = [Self::Nsec, Self::Usec, Self::Msec, Self::Sec];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nsec => "nsec",
            Self::Usec => "usec",
            Self::Msec => "msec",
            Self::Sec => "sec",
        }
    }

    fn seconds(self) -> f64 {
        match self {
            Self::Nsec => 1e-9,
            Self::Usec => 1e-6,
            Self::Msec => 1e-3,
            Self::Sec => 1.0,
        }
    }

    /// The largest unit of which there is at least one.
    fn fitting(seconds: f64) -> Self {
        let fits = |unit: &&Self| seconds >= unit.seconds();
        *Self::ALL.iter().rev().find(fits).unwrap_or(&Self::Nsec)
    }
}

/// The unit and the digits in which times are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figures {
    pub unit: Option<Clocked>,
    pub digits: usize,
    is_command: bool,
}

impl Figures {
    pub(super) fn of(subject: Subject) -> Self {
        Self {
            unit: None,
            digits: 3,
            is_command: subject == Subject::Command,
        }
    }

    pub(super) fn time(&self, seconds: f64) -> String {
        if self.is_command && self.unit.is_none() && self.digits == 3 {
            return duration((seconds.max(0.0) * 1e9).round() as u64);
        }
        let unit = self.unit.unwrap_or_else(|| Clocked::fitting(seconds));
        let number = significant(seconds / unit.seconds(), self.digits);
        format!("{number} {}", unit.name())
    }
}

/// A number with this many digits, as C's `%.*g` has it.
pub fn significant(number: f64, digits: usize) -> String {
    if !number.is_finite() {
        return "?".into();
    }
    let scientific = format!("{number:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    trimmed(&format!("{number:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_c() {
        // Each as Python's `"%.*g"` prints it.
        for (number, digits, expected) in [
            (0.0, 3, "0"),
            (1.0, 3, "1"),
            (1.005, 3, "1"),
            (0.123_45, 3, "0.123"),
            (12.345, 3, "12.3"),
            (99.95, 3, "100"),
            (999.4, 3, "999"),
            (999.6, 3, "1e+03"),
            (1234.5, 3, "1.23e+03"),
            (1234.5, 5, "1234.5"),
            (0.000_123_4, 3, "0.000123"),
            (0.000_012_34, 3, "1.23e-05"),
            (20.0, 1, "2e+01"),
        ] {
            assert_eq!(significant(number, digits), expected, "{number} {digits}");
        }
    }

    #[test]
    fn units_are_those_of_timeit() {
        let time = |seconds| Figures::of(Subject::Python).time(seconds);
        for (seconds, expected) in [
            (1.03e-7, "103 nsec"),
            (3.1e-10, "0.31 nsec"),
            (1e-6, "1 usec"),
            (0.0205, "20.5 msec"),
            (61.5, "61.5 sec"),
        ] {
            assert_eq!(time(seconds), expected);
        }
        let mut nanos = Figures::of(Subject::Python);
        nanos.unit = Some(Clocked::Nsec);
        assert_eq!(nanos.time(1.2345e-6), "1.23e+03 nsec");
        nanos.digits = 5;
        assert_eq!(nanos.time(1.2345e-6), "1234.5 nsec");
    }

    #[test]
    fn commands_have_the_units_of_reports() {
        let mut figures = Figures::of(Subject::Command);
        assert_eq!(figures.time(0.1013), "101 ms");
        figures.unit = Some(Clocked::Sec);
        assert_eq!(figures.time(0.1013), "0.101 sec");
    }
}
