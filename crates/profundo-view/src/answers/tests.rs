//! Answers over time, compared with the reports: both are about the same samples.

use std::ops::Range;
use std::path::Path;

use profundo_analysis::Filter;
use profundo_model::{Energy, EnergyZone, Nanos, Process, Profile, SampleKind, Thread};
use profundo_report::Listing;
use serde_json::Value;

use super::answer;
use crate::{Library, Question, Source};

const MS: u64 = 1_000_000;

/// Two threads of a process, each with a sample every ten milliseconds.
struct Made;

impl Source for Made {
    fn path(&self) -> &Path {
        Path::new("/made")
    }

    fn read(&self, _: Range<Nanos>) -> Result<Profile, String> {
        let text = "main;load 40\nmain;work 60\n";
        let mut profile = Profile::from_folded(text).map_err(|why| why.to_string())?;
        profile.meta.kind = SampleKind::Cpu;
        profile.meta.energy = Some(Energy {
            zones: vec![EnergyZone {
                name: "package-0".to_owned(),
                microjoules: 10_000_000,
                is_counted: true,
            }],
            duration: Nanos(1000 * MS),
            machine_cpu: Nanos(2000 * MS),
            program_cpu: Nanos(1000 * MS),
        });
        let process = profundo_model::ProcessId(profile.processes.len() as u32);
        profile.processes.push(Process {
            pid: 70,
            ..Process::default()
        });
        let threads = [1, 2].map(|number| {
            profile.threads.push(Thread {
                number: 10 + number,
                tid: 70 + number as u32,
                process,
                ..Thread::default()
            })
        });
        for (row, sample) in (0..).zip(&mut profile.samples) {
            sample.time = Nanos(10 * MS * (row + 1));
            sample.weight = Nanos(10 * MS);
            sample.thread = threads[usize::from(row % 3 == 0)];
        }
        Ok(profile)
    }

    fn listings(&self, _: &mut Profile, _: &Filter, _: &str) -> Result<Vec<Listing>, String> {
        Err("nothing is on this machine".to_owned())
    }
}

fn asked(text: &str) -> Value {
    let library = Library::new(vec![Box::new(Made)]);
    let (name, query) = text.split_once('?').unwrap_or((text, ""));
    let question = Question::of_address(name, query).unwrap();
    let answer = answer(&library, &question).unwrap();
    serde_json::from_slice(&answer.bytes).unwrap()
}

fn seconds(value: &Value) -> f64 {
    value.as_u64().unwrap() as f64 / 1e9
}

#[test]
fn parts_of_the_summary_are_those_of_the_whole() {
    let whole = asked("report?what=summary");
    let mut seen = std::collections::BTreeSet::new();
    for parts in [
        "head",
        "verdict",
        "lines",
        "functions,waits",
        "io",
        "memory",
        "totals",
    ] {
        let part = asked(&format!("report?what=summary&parts={parts}"));
        for (name, value) in part.as_object().unwrap() {
            assert_eq!(*value, whole[name], "{name} of {parts}");
            seen.insert(name.clone());
        }
    }
    // Keys are in the order of their writing if another crate of the build asks for that.
    let all = whole.as_object().unwrap().keys().cloned().collect();
    assert_eq!(seen, all);
    let head = asked("report?what=summary&parts=head");
    assert_eq!(head.as_object().unwrap().len(), 3);
}

#[test]
fn the_timeline_has_the_times_of_the_report() {
    let timeline = asked("timeline");
    let report = asked("report?what=summary&limit=100");
    let threads = report["threads"].as_array().unwrap();
    let process = &timeline["processes"][0];
    let tracks = process["tracks"].as_array().unwrap();
    // The thread without samples has no track.
    assert_eq!((tracks.len(), threads.len()), (2, 3));
    for track in tracks {
        let number: u64 = track["number"].as_str().unwrap().parse().unwrap();
        let thread = threads.iter().find(|thread| thread["thread"] == number);
        let reported = thread.unwrap()["seconds"].as_f64().unwrap();
        assert!((seconds(&track["row"]["total"]) - reported).abs() < 1e-9);
    }
    let all = report["selection"]["seconds"].as_f64();
    let sum = seconds(&timeline["all"]["total"]);
    assert!(
        all.is_none_or(|all| (all - sum).abs() < 1e-9),
        "{all:?} {sum}"
    );
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    assert_eq!(timeline["span"], serde_json::json!([0, 1000 * MS]));
}

#[test]
fn the_times_of_a_filter_do_not_cut_the_picture() {
    let whole = asked("timeline");
    let chosen = asked("timeline?filter=from%3D0.2%20to%3D0.4");
    assert_eq!(chosen["chosen"], serde_json::json!([200 * MS, 400 * MS]));
    assert_eq!(chosen["all"], whole["all"]);
    // What is no time does.
    let thread = asked("timeline?filter=thread%3D12");
    assert_eq!(thread["tracks"], 1);
    assert!(seconds(&thread["all"]["total"]) < 0.5);
}

#[test]
fn windows_and_tracks_are_limited() {
    let part = asked("timeline?start=100000000&end=300000000&columns=20&tracks=1");
    assert_eq!((&part["columns"], &part["shown"]), (&20.into(), &1.into()));
    assert!((seconds(&part["all"]["total"]) - 0.2).abs() < 1e-9);
    // All columns are full: one of the two threads has a sample at each time.
    let columns = part["all"]["columns"]["native"].as_array().unwrap();
    assert!(columns.iter().all(|part| part == 1000), "{columns:?}");
    let library = Library::new(vec![Box::new(Made)]);
    for text in [
        "by=colour",
        "start=5&end=4",
        "tracks=many",
        "filter=from%3Dsoon",
    ] {
        let question = Question::of_address("timeline", text).unwrap();
        assert!(answer(&library, &question).is_err(), "{text}");
    }
}

#[test]
fn the_power_is_the_programs_part() {
    // Of 10 J of the machine, half is the program's, which was busy all the time.
    let energy = &asked("timeline")["energy"];
    let near = |value: &Value, wanted: f64| (value.as_f64().unwrap() - wanted).abs() < 1e-6;
    assert!(
        near(&energy["joules"], 10.0) && near(&energy["window_joules"], 5.0),
        "{energy}"
    );
    assert!(near(&energy["most_watts"], 5.0), "{energy}");
    let half = &asked("timeline?start=0&end=500000000&columns=5")["energy"];
    assert!(near(&half["window_joules"], 2.5), "{half}");
    let watts = half["watts"].as_array().unwrap();
    assert!(watts.iter().all(|watts| near(watts, 5.0)), "{half}");
}

#[test]
fn the_heatmap_has_all_time() {
    let map = asked("heatmap");
    let busy: u64 = (map["busy"].as_array().unwrap().iter())
        .filter_map(Value::as_u64)
        .sum();
    assert_eq!(busy, 1000 * MS);
    let cells = map["columns"].as_u64().unwrap() * map["rows"].as_u64().unwrap();
    assert_eq!(map["busy"].as_array().unwrap().len() as u64, cells);
    // The functions are named once, and each cell with time has one.
    let named = map["hottest"]
        .as_array()
        .unwrap()
        .iter()
        .zip(map["busy"].as_array().unwrap());
    for (function, busy) in named {
        assert_eq!(function.as_i64() == Some(-1), busy == 0);
    }
    assert_eq!(map["functions"].as_array().unwrap().len(), 2);
    let seconds = asked("heatmap?filter=thread%3D12&column=1000000000&row=100000000");
    assert_eq!(
        (&seconds["column"], &seconds["row"]),
        (&1_000_000_000.into(), &100_000_000.into())
    );
    // A third of the samples, so three or four of ten in each row of a tenth of a second.
    assert_eq!(seconds["most_busy"], 40 * MS);
}

#[test]
fn lanes_have_a_box_for_each_stretch() {
    let found = asked("lanes?start=300000000&end=500000000&columns=200");
    let lanes = found["lanes"].as_array().unwrap();
    assert_eq!(lanes.len(), 2);
    let names = found["functions"]["name"].as_array().unwrap();
    for lane in lanes {
        let length = lane["level"].as_array().unwrap().len();
        for column in [
            "function",
            "from",
            "to",
            "box_weight",
            "own",
            "box_count",
            "line",
        ] {
            assert_eq!(lane[column].as_array().unwrap().len(), length, "{column}");
        }
        // `load` ends at 0.4 s, and `work` begins.
        let times = |name: &str| -> Vec<(u64, u64)> {
            let of = |at: usize| {
                lane["function"][at]
                    .as_u64()
                    .and_then(|row| names.get(row as usize))
            };
            (0..length)
                .filter(|&at| of(at).is_some_and(|found| found == name))
                .map(|at| {
                    (
                        lane["from"][at].as_u64().unwrap(),
                        lane["to"][at].as_u64().unwrap(),
                    )
                })
                .collect()
        };
        assert!(
            times("load")
                .iter()
                .all(|&(from, to)| from >= 300 * MS && to <= 400 * MS)
        );
        assert!(
            times("work")
                .iter()
                .all(|&(from, to)| from >= 400 * MS && to <= 500 * MS)
        );
        assert!(!times("load").is_empty() && !times("work").is_empty());
    }
}
