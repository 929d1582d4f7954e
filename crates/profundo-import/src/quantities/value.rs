//! The kinds of value in a file, of which a profile's samples have one.

use crate::Error;

/// A kind of value, as a file names it.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// The name: `cpu`, `alloc_space`.
    pub name: String,
    /// The unit.
    pub unit: Unit,
}

/// The unit of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unit {
    /// So many nanoseconds each.
    Time(f64),
    /// Bytes.
    Bytes,
    /// A number of things.
    Count,
}

impl Unit {
    /// The unit of this name, as pprof, speedscope and the like write it.
    pub fn of_name(name: &str) -> Self {
        match &name.to_ascii_lowercase()[..] {
            "nanoseconds" | "nanosecond" | "ns" => Self::Time(1.0),
            "microseconds" | "microsecond" | "us" | "µs" | "usec" => Self::Time(1e3),
            "milliseconds" | "millisecond" | "ms" | "msec" => Self::Time(1e6),
            "seconds" | "second" | "s" | "sec" => Self::Time(1e9),
            "minutes" | "minute" | "min" => Self::Time(60e9),
            "hours" | "hour" => Self::Time(3600e9),
            "bytes" | "byte" | "b" => Self::Bytes,
            _ => Self::Count,
        }
    }

    /// A value of this unit as a weight: nanoseconds, bytes or a number.
    pub fn weight(self, value: f64) -> u64 {
        let scale = match self {
            Self::Time(nanoseconds) => nanoseconds,
            Self::Bytes | Self::Count => 1.0,
        };
        // A cast saturates, and takes what is no number as 0.
        (value * scale).round() as u64
    }
}

/// The value that is wanted by name, or the usual one.
pub(crate) fn choose(values: &[Value], wanted: Option<&str>, usual: usize) -> Result<usize, Error> {
    let Some(name) = wanted else {
        return Ok(usual);
    };
    let at = (values.iter()).position(|value| value.name.eq_ignore_ascii_case(name));
    at.ok_or_else(|| Error::NoSuchValue {
        name: name.to_owned(),
        choices: listed(values.iter().map(|value| &value.name[..])),
    })
}

/// Names in a sentence.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match &names[..] {
        [] => "none".to_owned(),
        [one] => (*one).to_owned(),
        [names @ .., last] => format!("{} and {last}", names.join(", ")),
    }
}
