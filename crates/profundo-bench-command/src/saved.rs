//! A saved measurement: the JSON of its report, read again.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use profundo_analysis::bench::{Bench, Candidate, Cpu, Machine, Run, Start, Subject};
use serde_json::Value;

/// The schema versions that can be read.
const SCHEMAS: std::ops::RangeInclusive<u64> = 1..=2;

/// Reads a measurement.
pub fn read(path: &Path) -> Result<Bench> {
    let shown = path.display();
    let text = fs::read(path).with_context(|| format!("cannot read {shown}"))?;
    parse(&text)
        .with_context(|| format!("{shown} is no measurement that `bench --save` has written"))
}

fn parse(text: &[u8]) -> Result<Bench> {
    let value: Value = serde_json::from_slice(text)?;
    let head = &value["profundo"];
    if head["report"] != "bench" {
        bail!("it is no report of `bench`");
    }
    let schema = head["schema"].as_u64().unwrap_or(0);
    if !SCHEMAS.contains(&schema) {
        bail!("its schema {schema} is newer than this profundo");
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let machine = &value["machine"];
    let candidates = value["candidates"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    Ok(Bench {
        subject: match value["subject"].as_str() {
            Some("python") => Subject::Python,
            Some("command") => Subject::Command,
            Some("rust") => Subject::Rust,
            _ => bail!("it does not say what was measured"),
        },
        cpu_clock: value["clock"] == "cpu",
        started: value["started_unix_seconds"].as_u64().unwrap_or(0),
        machine: Machine {
            cpu: text(&machine["cpu"]),
            cpus: machine["cpus"].as_u64().unwrap_or(0),
            kernel: text(&machine["kernel"]),
            governor: text(&machine["governor"]),
        },
        start: start(&value["shell"]),
        candidates: candidates.iter().map(candidate).collect::<Result<_>>()?,
    })
}

fn start(value: &Value) -> Option<Start> {
    let number = |name: &str| value[name].as_f64().filter(|number| *number >= 0.0);
    Some(Start {
        seconds: number("seconds")?,
        doubt: number("doubt_seconds")?,
    })
}

fn candidate(value: &Value) -> Result<Candidate> {
    let name = value["name"].as_str();
    let name = name
        .ok_or_else(|| anyhow!("a candidate has no name"))?
        .to_owned();
    let runs = value["runs"].as_array().map_or(&[][..], Vec::as_slice);
    let run = |run: &Value| {
        let seconds = run["seconds"].as_f64().filter(|seconds| *seconds >= 0.0);
        let cpu = run["user_seconds"]
            .as_f64()
            .zip(run["system_seconds"].as_f64());
        Ok(Run {
            seconds: seconds.ok_or_else(|| anyhow!("a run of {name} has no time"))?,
            cpu: cpu.map(|(user, system)| Cpu { user, system }),
        })
    };
    Ok(Candidate {
        text: value["text"].as_str().unwrap_or(&name).to_owned(),
        by: value["by"].as_str().map(str::to_owned),
        loops: value["loops"].as_u64().unwrap_or(1),
        runs: runs.iter().map(run).collect::<Result<_>>()?,
        name,
    })
}

#[cfg(test)]
mod tests {
    use profundo_report::Benchmark;

    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let cpu = Some(Cpu {
            user: 0.25,
            system: 0.125,
        });
        let measured = Bench {
            subject: Subject::Command,
            cpu_clock: true,
            started: 1_700_000_000,
            machine: Machine {
                cpu: Some("a CPU".into()),
                cpus: 2,
                kernel: Some("6.1".into()),
                governor: None,
            },
            start: Some(Start {
                seconds: 0.001_25,
                doubt: 3e-5,
            }),
            candidates: vec![Candidate {
                name: "one \"two\"\nthree".into(),
                text: "text".into(),
                by: Some("sh".into()),
                loops: 20_000_000,
                runs: vec![
                    Run {
                        seconds: 0.203_123_456_789,
                        cpu,
                    },
                    Run {
                        seconds: 1e-9,
                        cpu: None,
                    },
                ],
            }],
        };
        let mut json = Vec::new();
        Benchmark::new(&measured).write_json(&mut json).unwrap();
        assert_eq!(parse(&json).unwrap(), measured);
    }

    #[test]
    fn what_is_none_is_refused() {
        let head = r#"{"profundo": {"schema": 1, "report": "bench"}"#;
        for (text, why) in [
            ("", "EOF"),
            ("[]", "no report"),
            (
                r#"{"profundo": {"schema": 1, "report": "flat"}}"#,
                "no report",
            ),
            (r#"{"profundo": {"schema": 9, "report": "bench"}}"#, "newer"),
            (&format!("{head}}}"), "what was measured"),
            (
                &format!("{head}, \"subject\": \"rust\", \"candidates\": [1]}}"),
                "no name",
            ),
            (
                &format!(
                    "{head}, \"subject\": \"rust\", \"candidates\": [{{\"name\": \"a\", \"runs\": [{{}}]}}]}}"
                ),
                "no time",
            ),
        ] {
            let error = format!("{:#}", parse(text.as_bytes()).unwrap_err());
            assert!(error.contains(why), "{error}");
        }
    }
}
