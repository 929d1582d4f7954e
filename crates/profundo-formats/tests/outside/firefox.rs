//! The Firefox Profiler's format, read by its own command line and by us.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use profundo_formats::export::{Format, Options, Weights};
use profundo_model::{
    Gauge, Mark, Measure, Nanos, Part, ProcessId, Profile, Span, SpanPath, ThreadId,
};
use profundo_testing::skip;
use serde_json::Value;

use crate::tables::{self, Name};
use crate::{made, text, tools};

fn file(profile: &Profile, options: &Options) -> Value {
    serde_json::from_str(&text(profile, Format::FIREFOX, options)).unwrap()
}

/// A cell of a table.
fn cell<'a>(thread: &'a Value, table: &str, column: &str, row: usize) -> &'a Value {
    &thread[table][column][row]
}

fn number(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

/// The functions on a stack, leaf first.
fn functions(thread: &Value, stack: usize) -> Vec<Name> {
    let mut names = Vec::new();
    let mut next = Some(stack);
    while let Some(stack) = next {
        let frame = number(cell(thread, "stackTable", "frame", stack));
        let function = number(cell(thread, "frameTable", "func", frame));
        let text = |column| match cell(thread, "funcTable", column, function).as_u64() {
            Some(row) => thread["stringArray"][row as usize]
                .as_str()
                .unwrap()
                .to_owned(),
            None => String::new(),
        };
        names.push((text("name"), text("fileName")));
        let prefix = cell(thread, "stackTable", "prefix", stack);
        next = prefix.as_u64().map(|row| row as usize);
        assert!(
            next.is_none_or(|caller| caller < stack),
            "callers stand before callees"
        );
    }
    names
}

/// Own and total weights of each function, with six digits behind the point.
fn sums(file: &Value, table: &str) -> BTreeMap<Name, (u64, u64)> {
    let mut sums: BTreeMap<Name, (u64, u64)> = BTreeMap::new();
    for thread in file["threads"].as_array().unwrap() {
        let samples = &thread[table];
        let mut last = 0.0;
        for row in 0..samples["length"].as_u64().unwrap_or(0) as usize {
            let time = samples["time"][row].as_f64().unwrap();
            assert!(time >= last, "rows are in the order of time");
            last = time;
            let Some(stack) = samples["stack"][row].as_u64() else {
                continue;
            };
            let weight = samples["weight"][row].as_f64().unwrap();
            let weight = match samples["weightType"].as_str() {
                Some("tracing-ms") => (weight * 1e6).round() as u64,
                _ => weight as u64,
            };
            let mut names = functions(thread, stack as usize);
            sums.entry(names[0].clone()).or_default().0 += weight;
            names.sort();
            names.dedup();
            for name in names {
                sums.entry(name).or_default().1 += weight;
            }
        }
    }
    sums
}

#[test]
fn weights_are_those_of_our_tables() {
    for profile in [made::odd(), made::odd_wall(), made::large(4_000)] {
        for weights in [Weights::Time, Weights::Samples] {
            let options = Options {
                weights: Some(weights),
                ..Options::default()
            };
            let ours: BTreeMap<Name, (u64, u64)> = tables::functions(&profile, false)
                .into_iter()
                .map(|(name, numbers)| match weights {
                    Weights::Time => (name, (numbers.own_time, numbers.time)),
                    Weights::Samples => (name, (numbers.own_count, numbers.count)),
                })
                .collect();
            assert_eq!(sums(&file(&profile, &options), "samples"), ours);
        }
    }
}

#[test]
fn tables_are_whole() {
    let file = file(&made::odd(), &Options::default());
    let threads = file["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 3);
    for thread in threads {
        for table in [
            "samples",
            "markers",
            "stackTable",
            "frameTable",
            "funcTable",
            "resourceTable",
        ] {
            let length = thread[table]["length"].as_u64().unwrap() as usize;
            for (name, column) in thread[table].as_object().unwrap() {
                if let Some(column) = column.as_array() {
                    assert_eq!(column.len(), length, "{table}.{name}");
                }
            }
        }
        let categories = file["meta"]["categories"].as_array().unwrap().len();
        for category in thread["frameTable"]["category"].as_array().unwrap() {
            assert!(number(category) < categories);
        }
    }
    assert_eq!(threads[0]["name"], "MainThread");
    assert_eq!(threads[0]["pid"], "4001");
    assert_eq!(threads[0]["isMainThread"], true);
    assert_eq!(threads[1]["isMainThread"], false);
    // The inlined function is a step deeper than its caller, at the same address.
    let depths = threads[2]["frameTable"]["inlineDepth"].as_array().unwrap();
    assert!(depths.iter().any(|depth| depth == 1), "{depths:?}");
}

/// The odd profile with allocations, readings of memory, spans and a mark.
fn odd_with_all() -> Profile {
    let mut profile = made::odd_memory();
    for (time, resident) in [(0, 5_000_000), (1_000_000_000, 9_000_000)] {
        profile.heap.gauges.push(Gauge {
            process: ProcessId(0),
            time: Nanos(time),
            resident,
            ..Gauge::default()
        });
    }
    let words = ["request", "route", "/\"", "epoch"];
    let [request, route, place, epoch] = words.map(|word| profile.strings.intern(word));
    let path = profile.spans.paths.intern(SpanPath {
        parent: None,
        name: request,
        attributes: [(route, place)].into(),
    });
    for (number, to) in [(1, Some(Nanos(40_000_000))), (2, None)] {
        profile.spans.each.push(Span {
            path,
            number,
            from: Nanos(10_000_000 * number),
            to,
            ..Span::default()
        });
    }
    profile.spans.marks.push(Mark {
        name: epoch,
        time: Nanos(7_000_000),
        ..Mark::default()
    });
    profile
}

#[test]
fn memory_and_markers_lie_beside_the_samples() {
    let profile = odd_with_all();
    let file_ = file(&profile, &Options::default());
    let counter = &file_["counters"][0];
    assert_eq!(counter["samples"]["count"].to_string(), "[5000000,4000000]");
    // The tenth part of all blocks was never freed.
    let blocks: u64 = profile.samples.len() as u64 * 10;
    let mut kept = 0;
    for thread in file_["threads"].as_array().unwrap() {
        let changes = &thread["nativeAllocations"];
        assert_eq!(
            changes["memoryAddress"].as_array().unwrap().len(),
            number(&changes["length"])
        );
        kept += changes["weight"]
            .as_array()
            .unwrap()
            .iter()
            .map(|w| w.as_i64().unwrap())
            .sum::<i64>();
    }
    assert_eq!(kept as u64, blocks * 10);
    let markers = &file_["threads"][0]["markers"];
    assert_eq!(markers["startTime"].to_string(), "[7,10,20]");
    assert_eq!(markers["endTime"].to_string(), "[null,40,2500]");
    assert_eq!(markers["phase"].to_string(), "[0,1,1]");
    assert_eq!(markers["data"][1]["attributes"], "route=/\"");
    // In the place of samples.
    let live = Options {
        measure: Some(Measure {
            part: Part::Live,
            counts: false,
        }),
        ..Options::default()
    };
    let file_ = file(&profile, &live);
    let of_memory = sums(&file_, "samples");
    assert_eq!(file_["threads"][0]["samples"]["weightType"], "bytes");
    assert_eq!(
        of_memory.values().map(|(own, _)| own).sum::<u64>(),
        blocks * 10
    );
}

/// Asks the page's own command line: it prints what the page shows.
#[test]
fn its_own_command_line_shows_our_numbers() {
    let (node, script) = match tools::profiler_cli() {
        Ok(found) => found,
        Err(why) => return skip(&why),
    };
    let profile = odd_with_all();
    let bytes = text(&profile, Format::FIREFOX, &Options::default());
    let path = tools::put("odd.firefox.json", bytes.as_bytes());
    let shown = match Shown::load(&node, &script, &path) {
        Ok(shown) => shown,
        Err(why) => return skip(&why),
    };
    let mut theirs: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for thread in 0..3 {
        let handle = format!("t-{thread}");
        let answer = shown.ask(&[
            "thread",
            "functions",
            "--json",
            "--include-idle",
            "--thread",
            &handle,
        ]);
        let answer: Value = serde_json::from_str(&answer).unwrap();
        for function in answer["functions"].as_array().unwrap() {
            let nanoseconds =
                |member: &str| (function[member].as_f64().unwrap() * 1e6).round() as u64;
            let name = function["name"].as_str().unwrap().to_owned();
            let sum = theirs.entry(name).or_default();
            sum.0 += nanoseconds("selfSamples");
            sum.1 += nanoseconds("totalSamples");
        }
    }
    let mut ours: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for ((name, _), numbers) in tables::functions(&profile, false) {
        let sum = ours.entry(name).or_default();
        sum.0 += numbers.own_time;
        sum.1 += numbers.time;
    }
    assert_eq!(theirs, ours);
    let markers = shown.ask(&["thread", "markers", "--json", "--thread", "t-0"]);
    assert!(
        markers.contains("request") && markers.contains("epoch"),
        "{markers}"
    );
    let info = shown.ask(&["profile", "info"]);
    assert!(info.contains("3 threads across 2 processes"), "{info}");
    assert!(info.contains("memory range in graph: 4.00MB"), "{info}");
}

/// A file in the command line's daemon, which is stopped in the end.
pub struct Shown<'a> {
    node: &'a Path,
    script: &'a Path,
    folder: std::path::PathBuf,
}

impl<'a> Shown<'a> {
    /// Loads a file. A busy machine may keep the daemon from starting in time.
    pub fn load(node: &'a Path, script: &'a Path, file: &Path) -> Result<Self, String> {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let shown = Self {
            node,
            script,
            folder: tools::folder().join(format!("{name}.session")),
        };
        std::fs::create_dir_all(&shown.folder).unwrap();
        let mut result = Ok(String::new());
        for _ in 0..8 {
            result = tools::text(shown.command().arg("load").arg(file), 60);
            let Err(why) = &result else { break };
            // A daemon that was too slow for its half second goes on.
            let pid = why.split("running as pid ").nth(1);
            let pid = pid.and_then(|rest| rest.split('.').next());
            if let Some(pid) = pid {
                let _ = tools::output(Command::new("kill").arg(pid), 10);
            }
        }
        result.map(|_| shown)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.node);
        command
            .arg(self.script)
            .env("PROFILER_CLI_SESSION_DIR", &self.folder)
            .env("HOME", &self.folder);
        command
    }

    pub fn ask(&self, arguments: &[&str]) -> String {
        tools::text(self.command().args(arguments), 60).unwrap()
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        let _ = tools::output(self.command().arg("stop"), 30);
    }
}

#[test]
fn a_thread_that_does_not_run_has_rows_without_a_stack() {
    let mut profile = Profile::from_folded("main;work 3").unwrap();
    for (sample, time) in profile.samples.iter_mut().zip([1, 2, 50]) {
        sample.time = Nanos(time * 1_000_000);
    }
    let file = file(&profile, &Options::default());
    let samples = &file["threads"][0]["samples"];
    assert_eq!(samples["time"].to_string(), "[1,2,3,49,50]");
    assert_eq!(samples["threadCPUDelta"][4], 1_000_000);
    let without = samples["stack"].as_array().unwrap();
    assert_eq!(without.iter().filter(|stack| stack.is_null()).count(), 2);
    assert_eq!(profile.samples[0].thread, ThreadId(0));
}
