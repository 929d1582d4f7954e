//! A measurement as JSON. It is also what is saved, and compared with later ones.

use profundo_analysis::bench::{Candidate, Ratio, Subject};

use super::Benchmark;
use crate::json::Json;
use crate::json::SCHEMA;

impl Benchmark<'_> {
    pub(super) fn members(&self, json: &mut Json<'_>) {
        json.row("profundo", |json| {
            json.number("schema", SCHEMA);
            json.text("report", "bench");
        });
        let bench = self.bench;
        json.text("subject", subject(bench.subject));
        json.text("clock", if bench.cpu_clock { "cpu" } else { "wall" });
        json.number("started_unix_seconds", bench.started);
        json.row("machine", |json| {
            let machine = &bench.machine;
            let or_null = |json: &mut Json<'_>, key: &str, text: &Option<String>| {
                json.text_or_null(key, text.as_deref().unwrap_or_default());
            };
            or_null(json, "cpu", &machine.cpu);
            json.number("cpus", machine.cpus);
            or_null(json, "kernel", &machine.kernel);
            or_null(json, "governor", &machine.governor);
        });
        match bench.start {
            None => json.null("shell"),
            Some(start) => json.row("shell", |json| {
                json.exactly("seconds", Some(start.seconds));
                json.exactly("doubt_seconds", Some(start.doubt));
            }),
        }
        json.array("candidates", |json| {
            for candidate in &bench.candidates {
                json.object("", |json| candidate_members(json, candidate));
            }
        });
        json.array("comparisons", |json| {
            for one in 0..bench.candidates.len() {
                for other in 0..one {
                    json.row("", |json| {
                        json.text("one", &bench.candidates[one].name);
                        json.text("other", &bench.candidates[other].name);
                        ratio_members(json, bench.ratio(one, other));
                    });
                }
            }
        });
        match bench.fastest() {
            Some((fastest, ..)) => json.text("fastest", &bench.candidates[fastest].name),
            None => json.null("fastest"),
        }
        match self.agreed {
            Some(agreed) => json.is("give_the_same", agreed),
            None => json.null("give_the_same"),
        }
        match &self.against {
            None => json.null("against"),
            Some(against) => json.object("against", |json| {
                json.text("name", &against.name);
                json.exactly("threshold_share", Some(against.threshold));
                json.array("comparisons", |json| {
                    for (index, now) in bench.candidates.iter().enumerate() {
                        if bench.earlier(index, against.bench).is_none() {
                            continue;
                        }
                        let ratio = bench.ratio_to(index, against.bench);
                        json.row("", |json| {
                            json.text("one", &now.name);
                            ratio_members(json, ratio);
                            let is_past = ratio.is_some_and(|ratio| against.is_past(&ratio));
                            json.is("too_slow", is_past);
                        });
                    }
                });
            }),
        }
        json.array("remarks", |json| {
            for remark in &self.remarks {
                json.text("", remark);
            }
        });
        json.array("warnings", |json| {
            for warning in self.warnings() {
                json.text("", &warning);
            }
        });
    }
}

fn subject(subject: Subject) -> &'static str {
    match subject {
        Subject::Python => "python",
        Subject::Command => "command",
        Subject::Rust => "rust",
    }
}

fn candidate_members(json: &mut Json<'_>, candidate: &Candidate) {
    let spread = candidate.spread();
    json.text("name", &candidate.name);
    json.text("text", &candidate.text);
    json.text_or_null("by", candidate.by.as_deref().unwrap_or_default());
    json.number("loops", candidate.loops);
    json.exactly("best_seconds", Some(spread.best));
    json.exactly("worst_seconds", Some(spread.worst));
    json.exactly("mean_seconds", Some(spread.mean));
    json.exactly("deviation_seconds", Some(spread.deviation));
    json.exactly("median_seconds", Some(spread.median));
    let cpu = candidate.cpu();
    json.exactly("user_seconds", cpu.map(|cpu| cpu.user));
    json.exactly("system_seconds", cpu.map(|cpu| cpu.system));
    json.row("outliers", |json| {
        json.number("mild", spread.outliers.mild as u64);
        json.number("severe", spread.outliers.severe as u64);
    });
    json.array("runs", |json| {
        for run in &candidate.runs {
            json.row("", |json| {
                json.exactly("seconds", Some(run.seconds));
                json.exactly("user_seconds", run.cpu.map(|cpu| cpu.user));
                json.exactly("system_seconds", run.cpu.map(|cpu| cpu.system));
            });
        }
    });
}

fn ratio_members(json: &mut Json<'_>, ratio: Option<Ratio>) {
    json.exactly("ratio", ratio.map(|ratio| ratio.value));
    json.exactly("ratio_low", ratio.map(|ratio| ratio.low));
    json.exactly("ratio_high", ratio.map(|ratio| ratio.high));
    match ratio {
        Some(ratio) => json.is("differs", ratio.differs()),
        None => json.null("differs"),
    }
}
