//! The meaning of columns, by their titles.

use profundo_model::{SampleKind, State};

use crate::quantities::value::choose;
use crate::{Error, Options, Unit, Value};

/// The columns of a report.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// What the rows are about, in the first column.
    pub label: Label,
    pub function: Option<usize>,
    /// The name with parameters.
    pub full: Option<usize>,
    pub module: Option<usize>,
    pub file: Option<usize>,
    pub line: Option<usize>,
    pub thread: Option<usize>,
    pub process: Option<usize>,
    values: Vec<Measured>,
}

/// What the rows are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Label {
    /// A function in a call tree, indented below its caller.
    Stack,
    Function,
    Line,
    /// A module, a thread, a package, …: rows without functions.
    #[default]
    Other,
}

/// The columns of one value.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    /// The title.
    pub name: String,
    /// The column of the own weight.
    pub own: Option<usize>,
    /// The column of the weight with callees.
    pub total: Option<usize>,
}

/// The first titles of reports.
const LABELS: &[(&str, Label)] = &[
    ("Function Stack", Label::Stack),
    ("Source Function Stack", Label::Stack),
    ("Function", Label::Function),
    ("Source Function", Label::Function),
    ("Source Line", Label::Line),
    ("Source File", Label::Other),
    ("Source File Path", Label::Other),
    ("Module", Label::Other),
    ("Module Path", Label::Other),
    ("Thread", Label::Other),
    ("Thread ID", Label::Other),
    ("Process", Label::Other),
    ("Process ID", Label::Other),
    ("Package", Label::Other),
    ("Class", Label::Other),
    ("Task Type", Label::Other),
    ("Logical Core", Label::Other),
    ("Physical Core", Label::Other),
];

/// The usual values, the first choice first.
const USUAL: &[&str] = &[
    "CPU Time",
    "Clockticks",
    "Hardware Event Count:CPU_CLK_UNHALTED.THREAD",
    "Hardware Event Count:CPU_CLK_UNHALTED.CORE",
    "Hardware Event Count:CPU_CLK_UNHALTED.REF_TSC",
    "Wait Time",
    "Instructions Retired",
];

/// Parts of titles of what cannot be added up, or is no number.
const NO_SUMS: &[&str] = &[
    "(%)",
    "Rate",
    "Ratio",
    "Bound",
    "Average",
    "Latency",
    "Address",
    "Size",
    "Frequency",
    "Type",
    "Utilization",
    "Retiring",
    "Speculation",
    "Spin Factor",
    "Per ",
];

/// Parts of titles of sums.
const SUMS: &[&str] = &[
    "Time",
    "Count",
    "Clockticks",
    "Instructions Retired",
    "Loads",
    "Stores",
];

/// The title of a value, and whether it is with callees.
fn value_of(title: &str) -> Option<(&str, bool)> {
    let (name, is_total) = match title.rsplit_once(':') {
        Some((name, what)) if what.trim() == "Self" => (name, false),
        Some((name, what)) if what.trim() == "Total" => (name, true),
        _ => (title, false),
    };
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    (has(SUMS) && !has(NO_SUMS)).then_some((name, is_total))
}

/// Whether these are the titles of a report.
pub(super) fn is_report(titles: &[String]) -> bool {
    let label = titles.first().map_or("", |title| &title[..]);
    LABELS.iter().any(|(known, _)| *known == label)
        && titles[1..].iter().any(|title| value_of(title).is_some())
}

impl Columns {
    pub(super) fn new(titles: &[String]) -> Self {
        let mut columns = Self::default();
        for (at, title) in titles.iter().enumerate() {
            let known = LABELS.iter().find(|(known, _)| known == title);
            if let (0, Some((_, label))) = (at, known) {
                columns.label = *label;
            }
            let place = match &title[..] {
                "Function" | "Source Function" | "Function Stack" | "Source Function Stack" => {
                    &mut columns.function
                }
                "Function (Full)" => &mut columns.full,
                "Module" | "Module Path" => &mut columns.module,
                "Source File" | "Source File Path" => &mut columns.file,
                "Source Line" => &mut columns.line,
                "Thread" => &mut columns.thread,
                "Process" => &mut columns.process,
                _ => {
                    columns.value(at, title);
                    continue;
                }
            };
            // A later one is the longer form: the path.
            *place = Some(at);
        }
        columns
    }

    fn value(&mut self, at: usize, title: &str) {
        let Some((name, is_total)) = value_of(title) else {
            return;
        };
        let row = match self.values.iter().position(|value| value.name == name) {
            Some(row) => row,
            None => {
                self.values.push(Measured {
                    name: name.to_owned(),
                    own: None,
                    total: None,
                });
                self.values.len() - 1
            }
        };
        let value = &mut self.values[row];
        *(if is_total {
            &mut value.total
        } else {
            &mut value.own
        }) = Some(at);
    }

    /// The wanted value, or the usual one.
    pub(super) fn value_of(&self, options: &Options) -> Result<Measured, Error> {
        let position = |name: &&str| self.values.iter().position(|value| value.name == **name);
        let usual = USUAL.iter().find_map(position).unwrap_or(0);
        let values: Vec<Value> = (self.values.iter())
            .map(|value| Value {
                name: value.name.clone(),
                unit: value.unit(),
            })
            .collect();
        let chosen = choose(&values, options.value.as_deref(), usual)?;
        self.values
            .get(chosen)
            .cloned()
            .ok_or_else(|| Error::Malformed {
                format: "vtune",
                what: "no column of time or events".to_owned(),
            })
    }
}

impl Measured {
    /// Times are in seconds, unless they say otherwise.
    pub(super) fn unit(&self) -> Unit {
        match self.name.contains("Time") {
            true => Unit::Time(1e9),
            false => Unit::Count,
        }
    }

    /// The quantity and the name of its events.
    pub(super) fn kind(&self) -> (SampleKind, &str) {
        match self.name.contains("Time") {
            true if self.state().is_wall() => (SampleKind::Wall, ""),
            true => (SampleKind::Cpu, ""),
            false => {
                let name = self.name.strip_prefix("Hardware Event Count:");
                (SampleKind::Events, name.unwrap_or(&self.name))
            }
        }
    }

    /// The activity of threads.
    pub(super) fn state(&self) -> State {
        let starts = |names: [&str; 2]| names.iter().any(|name| self.name.starts_with(name));
        match () {
            () if starts(["Wait Time", "Inactive Time"]) => State::WallWaiting,
            () if starts(["Elapsed Time", "Task Time"]) => State::WallRunning,
            () => State::Running,
        }
    }
}

/// A number with its unit, if it is a sum: `1.234`, `0.5s`, `12ms`, `1.5e9`.
pub(super) fn number(cell: &[u8], unit: Unit) -> Option<f64> {
    let text = std::str::from_utf8(cell.trim_ascii()).ok()?;
    let end = text
        .find(|letter: char| !letter.is_ascii_digit() && !"+-.eE".contains(letter))
        .unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let number: f64 = digits.parse().ok()?;
    let unit = match (suffix.trim(), unit) {
        ("", unit) => unit,
        ("%", _) => return None,
        (name, Unit::Time(_)) => Unit::of_name(name),
        _ => return None,
    };
    let scale = match unit {
        Unit::Time(nanoseconds) => nanoseconds,
        _ => 1.0,
    };
    (number.is_finite() && number >= 0.0).then_some(number * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        let time = Unit::Time(1e9);
        assert_eq!(number(b"0.5", time), Some(5e8));
        assert_eq!(number(b" 12ms ", time), Some(12e6));
        assert_eq!(number(b"1.5s", time), Some(1.5e9));
        assert_eq!(number(b"99.1%", time), None);
        assert_eq!(number(b"", time), None);
        assert_eq!(number(b"118300000000", Unit::Count), Some(118.3e9));
    }

    #[test]
    fn titles_have_their_meaning() {
        assert_eq!(value_of("CPU Time:Self"), Some(("CPU Time", false)));
        assert_eq!(value_of("CPU Time: Total"), Some(("CPU Time", true)));
        for other in ["CPI Rate", "Memory Bound(%)", "Module", "Start Address"] {
            assert_eq!(value_of(other), None, "{other}");
        }
    }
}
