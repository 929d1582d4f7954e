//! The judgement of a soak: what grew, and what a recording tells of the last quarter of its time.

use std::fmt;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Place;
use super::mode::{Entry, Mode, Told};
use super::watch::{Reading, Watched};

/// The names of the columns.
pub const HEADER: &str = "mode                   program MB        recorder MB       files MB          recorded/used by quarter";

/// Growth that is not one: pages of allocators, tables that double.
const SHARE: f64 = 0.05;
const BYTES: f64 = 2e6;

/// The difference between the first and the last quarter in what was recorded of the CPU time.
const FADING: f64 = 0.10;

/// A mode's figures, and what is wrong with them.
#[derive(Debug)]
pub struct Verdict {
    name: &'static str,
    /// The medians of the second and of the last quarter: program, recorder, files.
    medians: [(f64, f64); 3],
    /// The recorded part of each quarter's CPU time.
    recorded: Vec<f64>,
    pub failures: Vec<String>,
}

/// Judges a recording.
pub fn of(place: &Place, mode: &Mode, watched: &Watched) -> Result<Verdict> {
    let medians = [
        medians(&watched.readings, |reading| reading.program),
        medians(&watched.readings, |reading| reading.recorder),
        medians(&watched.readings, |reading| reading.files),
    ];
    let mut failures = Vec::new();
    let mut fail = |failed: bool, why: &str| {
        if failed {
            failures.push(why.to_owned());
        }
    };
    let has_ended = watched.stdout.ends_with("it has rested\n") && watched.code == Some(7);
    fail(!has_ended, "the program did not end as it does alone");
    fail(grows(medians[0]), "the program's memory grows");
    fail(grows(medians[1]), "the recorder's memory grows");
    fail(mode.told == Told::Last && grows(medians[2]), "files grow");
    let used = used(&watched.stdout);
    let recorded = match mode.entry {
        Entry::None => Vec::new(),
        _ => recorded(place, watched)?,
    };
    let recorded: Vec<f64> = recorded
        .iter()
        .zip(&used)
        .map(|(recorded, used)| recorded / used)
        .collect();
    if let (Told::All, &[first, .., last]) = (mode.told, recorded.as_slice()) {
        let fades = (last / first - 1.0).abs() > FADING;
        fail(
            fades || first < 0.5,
            "the last quarter is recorded differently",
        );
    }
    if let (Told::Last, Some(&last)) = (mode.told, recorded.last()) {
        fail(last == 0.0, "the last quarter is not recorded");
    }
    Ok(Verdict {
        name: mode.name,
        medians,
        recorded,
        failures,
    })
}

fn grows((early, late): (f64, f64)) -> bool {
    late > early * (1.0 + SHARE) + BYTES
}

/// The medians of the second and of the last quarter.
fn medians(readings: &[Reading], field: impl Fn(&Reading) -> u64) -> (f64, f64) {
    let quarter = readings.len() / 4;
    let median = |readings: &[Reading]| {
        let mut values: Vec<u64> = readings.iter().map(&field).collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied().unwrap_or(0) as f64
    };
    let second = readings.get(quarter..2 * quarter).unwrap_or_default();
    let last = readings.get(3 * quarter..).unwrap_or_default();
    (median(second), median(last))
}

/// The CPU time of each quarter, by the program itself.
fn used(stdout: &str) -> Vec<f64> {
    let lines = stdout.lines().filter(|line| line.starts_with("quarter_"));
    lines
        .filter_map(|line| line.split_once(' ')?.1.parse().ok())
        .collect()
}

/// The CPU time of each quarter, by the recording.
fn recorded(place: &Place, watched: &Watched) -> Result<Vec<f64>> {
    let output = Command::new(&place.profundo)
        .args(["report", "--json", "--limit", "100000"])
        .arg(&watched.recording)
        .arg("functions")
        .output()?;
    let value: Value = serde_json::from_slice(&output.stdout).with_context(|| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        format!(
            "no report of it ({}); the recorder said: {}",
            said.trim(),
            watched.stderr.trim()
        )
    })?;
    let functions = value["functions"].as_array().cloned().unwrap_or_default();
    let total = |name: &str| -> f64 {
        let of_name = functions.iter().filter(|one| one["function"] == name);
        of_name
            .filter_map(|one| one["total_seconds"].as_f64())
            .sum()
    };
    Ok((1..=4)
        .map(|number| total(&format!("quarter_{number}")))
        .collect())
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<22}", self.name)?;
        for (early, late) in self.medians {
            let change = format!("{:.1} → {:.1}", early / 1e6, late / 1e6);
            write!(f, " {change:<17}")?;
        }
        for recorded in &self.recorded {
            write!(f, "{recorded:.3} ")?;
        }
        match self.failures.as_slice() {
            [] => write!(f, " passed"),
            failures => write!(f, " FAILED: {}", failures.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_more_than_a_table_that_doubles() {
        assert!(!grows((20e6, 22e6)));
        assert!(grows((20e6, 24e6)));
        let readings = [1, 1, 2, 2, 3, 3, 9, 9].map(|recorder| Reading {
            recorder,
            ..Reading::default()
        });
        assert_eq!(medians(&readings, |reading| reading.recorder), (2.0, 9.0));
    }

    #[test]
    fn the_program_says_what_it_used() {
        let said = "quarter_1 0.5\nquarter_2 0.25\nit has rested\n";
        assert_eq!(used(said), [0.5, 0.25]);
    }
}
