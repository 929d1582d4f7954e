//! The head of a file: what it is of, and which events its costs are.

use crate::quantities::value::{Unit, Value};

/// The two formats that share the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavor {
    Callgrind,
    Cachegrind,
}

/// The keys of heads, but for those that decide.
const KEYS: [&str; 13] = [
    "version",
    "creator",
    "pid",
    "cmd",
    "part",
    "thread",
    "desc",
    "event",
    "positions",
    "summary",
    "totals",
    "target",
    "arch",
];

/// Whether a file begins like one of the two: known keys only, up to the events.
pub(super) fn is_start(start: &[u8]) -> Option<Flavor> {
    let mut is_callgrind = start.starts_with(b"# callgrind format");
    let mut is_cachegrind = false;
    for line in start.split(|&byte| byte == b'\n') {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let (key, value) = key_value(line)?;
        match key {
            "events" => {
                let flavor = match (is_callgrind, is_cachegrind) {
                    (true, _) => Flavor::Callgrind,
                    (false, true) => Flavor::Cachegrind,
                    // Converters write nothing else.
                    (false, false) => Flavor::Callgrind,
                };
                return (!value.is_empty()).then_some(flavor);
            }
            "version" | "creator" | "positions" | "event" | "part" => is_callgrind = true,
            "desc" | "cmd" => is_cachegrind = true,
            key if KEYS.contains(&key) => {}
            _ => return None,
        }
    }
    None
}

/// The key and the value of a line of the head.
pub(super) fn key_value(line: &[u8]) -> Option<(&str, &str)> {
    let line = std::str::from_utf8(line).ok()?;
    let (key, value) = line.split_once(':')?;
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase());
    is_key.then_some((key, value.trim()))
}

/// The facts that a file begins with.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub creator: String,
    pub command: String,
    pub pid: u32,
    /// The events, and sums of them by a formula.
    pub values: Vec<Value>,
}

impl Head {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut head = Self::default();
        let mut long_names: Vec<(&str, &str)> = Vec::new();
        let mut formulas: Vec<&str> = Vec::new();
        for line in bytes.split(|&byte| byte == b'\n') {
            let line = line.trim_ascii();
            let Some((key, value)) = key_value(line) else {
                if line.is_empty() || line.starts_with(b"#") {
                    continue;
                }
                break;
            };
            match key {
                "creator" => head.creator = value.to_owned(),
                "cmd" => head.command = value.to_owned(),
                "pid" => head.pid = value.parse().unwrap_or(0),
                "event" => {
                    let (name, long) = value.rsplit_once(':').unwrap_or((value, ""));
                    match name.split_once('=') {
                        Some((name, _)) => formulas.push(name.trim()),
                        None => long_names.push((name.trim(), long.trim())),
                    }
                }
                "events" if head.values.is_empty() => {
                    let values = value.split_ascii_whitespace().map(|name| Value {
                        name: name.to_owned(),
                        unit: Unit::Count,
                    });
                    head.values = values.collect();
                }
                _ => {}
            }
        }
        for value in &mut head.values {
            let long = long_names.iter().find(|(name, _)| *name == value.name);
            value.unit = unit(
                &head.creator,
                &value.name,
                long.map_or("", |(_, long)| long),
            );
        }
        let formulas = formulas.into_iter().map(|name| Value {
            name: name.to_owned(),
            unit: Unit::Count,
        });
        head.values.extend(formulas);
        head
    }

    /// Whether we have written the file.
    pub(super) fn is_ours(&self) -> bool {
        self.creator.starts_with("profundo")
    }

    /// Whether Valgrind has written it, which counts every event.
    pub(super) fn is_valgrinds(&self) -> bool {
        let has_instructions = self.values.iter().any(|value| value.name == "Ir");
        self.has_totals() || self.creator.is_empty() && has_instructions
    }

    /// Whether a whole file of this tool ends with its totals.
    pub(super) fn has_totals(&self) -> bool {
        self.creator.starts_with("callgrind-3.")
    }
}

/// The unit of an event.
fn unit(creator: &str, name: &str, long: &str) -> Unit {
    const MICROSECOND: f64 = 1e3;
    match name {
        // Millionths of a second.
        "Ticks" if creator.starts_with("yappi") => return Unit::Time(MICROSECOND),
        // Before its third version.
        "Time" if creator.starts_with("xdebug") => return Unit::Time(MICROSECOND),
        "Time_(10ns)" => return Unit::Time(10.0),
        _ => {}
    }
    let in_brackets = name
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    let names = [in_brackets, Some(name), Some(long)];
    let mut units = names.into_iter().flatten().map(|name| match name {
        // Letters alone are too short to be meant.
        "s" | "b" | "B" | "S" => Unit::Count,
        name => Unit::of_name(name),
    });
    units
        .find(|&unit| unit != Unit::Count)
        .unwrap_or(Unit::Count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_are_times_are_known() {
        let unit = |name, long| super::unit("", name, long);
        assert_eq!(unit("Time_(10ns)", ""), Unit::Time(10.0));
        assert_eq!(unit("ns", "Nanoseconds"), Unit::Time(1.0));
        assert_eq!(unit("Nanoseconds", ""), Unit::Time(1.0));
        assert_eq!(unit("Memory_(bytes)", ""), Unit::Bytes);
        assert_eq!(unit("Ir", ""), Unit::Count);
        assert_eq!(unit("Ticks", ""), Unit::Count);
        assert_eq!(super::unit("yappi", "Ticks", ""), Unit::Time(1e3));
    }

    #[test]
    fn a_start_is_known() {
        let is_start = |text: &str| super::is_start(text.as_bytes());
        assert_eq!(
            is_start("desc: I1 cache:\ncmd: ./a\nevents: Ir\nfl=a.c\n"),
            Some(Flavor::Cachegrind)
        );
        assert_eq!(is_start("events: Ir\nfl=a.c\n"), Some(Flavor::Callgrind));
        assert_eq!(is_start("desc: --x\ncmd: ./a\ntime_unit: i\n"), None);
        assert_eq!(is_start("main;work 3\n"), None);
    }
}
