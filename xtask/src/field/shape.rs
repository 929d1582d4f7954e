//! The expected shape of a recording: shares and sentences, never exact numbers.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::side::Failure;

/// One expectation.
#[derive(Debug, Clone)]
pub enum Shape {
    /// A function whose name contains this has at least this percentage of the sampled time,
    /// callees included.
    Hot(&'static str, f64),
    /// No function's name contains this.
    Without(&'static str),
    /// At least so many seconds were sampled.
    Seconds(f64),
    /// A note of the recording contains this.
    Note(&'static str),
    /// No note of the recording contains this.
    NoNote(&'static str),
}

/// Compares a recording with the shape. The error names the difference.
pub fn check(profundo: &Path, recording: &Path, shape: &[Shape]) -> Result<(), Failure> {
    if shape.is_empty() {
        return Ok(());
    }
    let output = Command::new(profundo)
        .args(["report", "--json", "--limit", "100000"])
        .arg(recording)
        .arg("functions")
        .output()
        .map_err(|error| Failure(format!("cannot run {}: {error}", profundo.display())))?;
    let report: Value = serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        Failure(format!("the recording cannot be read: {}", said.trim()))
    })?;
    for shape in shape {
        shape.holds(&report)?;
    }
    Ok(())
}

impl Shape {
    fn holds(&self, report: &Value) -> Result<(), Failure> {
        let texts = |list: &Value, key: &str| -> Vec<String> {
            let list = list.as_array().cloned().unwrap_or_default();
            let text = |value: &Value| match key {
                "" => value.as_str().map(str::to_owned),
                key => value[key].as_str().map(str::to_owned),
            };
            list.iter().filter_map(text).collect()
        };
        let notes = texts(&report["recording"]["notes"], "");
        let functions = texts(&report["functions"], "function");
        match self {
            Self::Hot(name, percent) => {
                let rows = report["functions"].as_array();
                let share = rows.into_iter().flatten().filter(|row| {
                    let function = row["function"].as_str();
                    function.is_some_and(|function| function.contains(name))
                });
                let share = share.filter_map(|row| row["total_share"].as_f64());
                let share = 100.0 * share.fold(0.0, f64::max);
                let first: Vec<&str> = functions.iter().take(5).map(String::as_str).collect();
                holds(
                    share >= *percent,
                    format!("{name} has {share:.1} %, not {percent} %; the first are {first:?}"),
                )
            }
            Self::Without(name) => {
                let found = functions.iter().find(|function| function.contains(name));
                holds(
                    found.is_none(),
                    format!("{name} is in the recording: {found:?}"),
                )
            }
            Self::Seconds(least) => {
                let seconds = report["selection"]["seconds"].as_f64().unwrap_or(0.0);
                holds(
                    seconds >= *least,
                    format!("{seconds:.3} s were sampled, not {least} s"),
                )
            }
            Self::Note(part) => holds(
                notes.iter().any(|note| note.contains(part)),
                format!("no note says {part:?}: {notes:?}"),
            ),
            Self::NoNote(part) => holds(
                !notes.iter().any(|note| note.contains(part)),
                format!("a note says {part:?}: {notes:?}"),
            ),
        }
    }
}

fn holds(it_does: bool, or_else: String) -> Result<(), Failure> {
    match it_does {
        true => Ok(()),
        false => Err(Failure(or_else)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_report_is_compared_with_the_shape() {
        let report = json!({
            "recording": {"notes": ["the JIT is out of sight"]},
            "selection": {"seconds": 0.25},
            "functions": [{"function": "busy", "total_share": 0.75}],
        });
        for good in [
            Shape::Hot("bus", 70.0),
            Shape::Without("idle"),
            Shape::Seconds(0.2),
            Shape::Note("JIT"),
            Shape::NoNote("lost"),
        ] {
            assert!(good.holds(&report).is_ok(), "{good:?}");
        }
        for bad in [
            Shape::Hot("busy", 80.0),
            Shape::Hot("idle", 1.0),
            Shape::Without("busy"),
            Shape::Seconds(0.3),
            Shape::Note("lost"),
            Shape::NoNote("JIT"),
        ] {
            assert!(bad.holds(&report).is_err(), "{bad:?}");
        }
    }
}
