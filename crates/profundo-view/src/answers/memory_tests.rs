//! Answers about memory and heap snapshots: what they say is what the reports say.

use std::ops::Range;
use std::path::Path;

use profundo_analysis::Filter;
use profundo_model::graph::{Builder, Graph, Label, NodeId, Sink};
use profundo_model::{Block, Nanos, Process, ProcessEnd, Profile, Sampling};
use profundo_report::{HeapQuestion, HeapSnapshot, Listing};
use serde_json::Value;

use super::answer;
use crate::{Library, Question, Snapshot, Source};

/// Line 1 holds 1000 B from the start on, line 2 holds 4000 B from second 4 to 8.
struct Program;

impl Source for Program {
    fn path(&self) -> &Path {
        Path::new("program.profundo")
    }

    fn read(&self, _: Range<Nanos>) -> Result<Profile, String> {
        let mut profile = Profile::default();
        profile.processes.push(Process {
            pid: 7,
            end: ProcessEnd::Unknown,
            ..Process::default()
        });
        let thread = profile.hand_made_thread(1, "main");
        let task = profile.hand_made_task(1);
        let second = |seconds: u64| Nanos(seconds * 1_000_000_000);
        profile.heap.sampling = Sampling::All;
        profile.meta.duration = second(10);
        for (line, size, from, to) in [(1, 1000, 0, None), (2, 4000, 4, Some(8))] {
            let at = profile.hand_made_python("/home/me/app.py", "work", line, true);
            let stack = profile.hand_made_stack(&[at]);
            profile.heap.blocks.push(Block {
                time: second(from),
                freed: to.map(second),
                size,
                thread,
                task,
                stack,
                ..Block::default()
            });
        }
        Ok(profile)
    }

    fn listings(&self, _: &mut Profile, _: &Filter, _: &str) -> Result<Vec<Listing>, String> {
        Err("there is no program".to_owned())
    }
}

/// A root with a list of `0` items, each with a text.
struct Heap(u32);

impl Heap {
    fn graph(&self) -> Graph {
        let mut heap = Builder::default();
        let kinds = ["synthetic", "list", "dict", "string"];
        let [root, list, dict, text] = kinds.map(|kind| heap.node_kind(kind).unwrap());
        let name = heap.name(b"x").unwrap();
        let node = |heap: &mut Builder, kind, id: u32, size| {
            heap.node(kind, name, u64::from(id), size).unwrap();
            NodeId(id)
        };
        let root = node(&mut heap, root, 0, 0);
        let list = node(&mut heap, list, 1, 56);
        let mut items = Vec::new();
        for item in 0..self.0 {
            let dict = node(&mut heap, dict, 2 + 2 * item, 64);
            let text = node(&mut heap, text, 3 + 2 * item, 10 + u64::from(item));
            items.push((dict, text));
        }
        let element = heap.edge_kind("element").unwrap();
        let mut edge = |from, to| heap.edge(element, Label::Index(0), from, to).unwrap();
        edge(root, list);
        for &(dict, _) in &items {
            edge(list, dict);
        }
        for &(dict, text) in &items {
            edge(dict, text);
        }
        heap.finish()
    }
}

impl Snapshot for Heap {
    fn path(&self) -> &Path {
        Path::new("one.heapsnapshot")
    }

    fn read(&self) -> Result<Graph, String> {
        Ok(self.graph())
    }
}

fn library() -> Library {
    let snapshots: Vec<Box<dyn Snapshot>> = vec![Box::new(Heap(3)), Box::new(Heap(5))];
    Library::new(vec![Box::new(Program)]).snapshots(snapshots)
}

fn asked(question: &Question) -> Result<Value, String> {
    let answer = answer(&library(), question).map_err(|error| error.to_string())?;
    Ok(serde_json::from_slice(&answer.bytes).unwrap())
}

fn heap(what: &str) -> Question {
    Question::new("heap").with("what", what)
}

#[test]
fn a_moment_has_its_lines_and_its_picture() {
    for (at, expected) in [
        ("1.5", vec![(1, 1000)]),
        ("5", vec![(2, 4000), (1, 1000)]),
        ("9", vec![(1, 1000)]),
    ] {
        let held = asked(&Question::new("held").with("at", at)).unwrap();
        let lines = held["lines"].as_array().unwrap().iter();
        let lines: Vec<(u64, u64)> = lines
            .map(|row| {
                (
                    row["line"].as_u64().unwrap(),
                    row["bytes"].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(lines, expected, "at {at}");
        assert_eq!(held["lines"][0]["bytes_low"], Value::Null, "it is exact");
        let flame = Question::new("flame").with("of", "live").with("at", at);
        let flame = asked(&flame).unwrap();
        assert_eq!(flame["total"], held["total"]["bytes"], "at {at}");
        assert_eq!(flame["unit"], "bytes");
    }
    let of_end = asked(&Question::new("flame").with("of", "live")).unwrap();
    assert_eq!(of_end["total"], 1000);
    assert!(asked(&Question::new("held")).is_err(), "no moment");
    assert!(asked(&Question::new("held").with("at", "-1")).is_err());
}

#[test]
fn stacks_have_the_figures_of_the_report() {
    let found = asked(&Question::new("memory_stacks")).unwrap();
    let report = asked(&Question::new("report").with("what", "allocs")).unwrap();
    let all = report["allocations"]["total"].as_object().unwrap();
    for (name, value) in found["total"].as_object().unwrap() {
        assert_eq!(&all[name], value, "{name}");
    }
    let lines = found["stacks"].as_array().unwrap().iter();
    let lines: Vec<(u64, u64, u64)> = lines
        .map(|row| {
            let place = row["stack"][0].as_u64().unwrap() as usize;
            (
                found["places"]["line"][place].as_u64().unwrap(),
                row["allocated_bytes"].as_u64().unwrap(),
                row["live_bytes"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(lines, [(2, 4000, 0), (1, 1000, 1000)]);
    let one = asked(&Question::new("memory_stacks").with("limit", 1)).unwrap();
    assert_eq!(one["left_out"], 1);
    assert_eq!(one["total"], found["total"]);
}

#[test]
fn a_heap_has_the_figures_of_the_report() {
    let graph = Heap(3).graph();
    for (what, question) in [
        ("summary", HeapQuestion::Summary),
        ("types", HeapQuestion::Types),
        ("biggest", HeapQuestion::Biggest),
        ("duplicates", HeapQuestion::Duplicates),
    ] {
        let mut json = Vec::new();
        let report = HeapSnapshot::new().question(question).limit(100);
        report.write_json(&graph, &mut json).unwrap();
        let report: Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(asked(&heap(what)).unwrap(), report, "{what}");
    }
    let path = asked(&heap("path").with("of", "dict")).unwrap();
    assert_eq!(path["objects"], 3);
    let none = asked(&heap("path").with("of", "nobody"));
    assert!(none.unwrap_err().contains("nobody"));
    let grown = asked(&heap("difference")).unwrap();
    assert_eq!(grown["before"]["objects"], 8);
    assert_eq!(grown["now"]["objects"], 12);
    assert!(asked(&heap("types").with("snapshot", 2)).is_err());
}

#[test]
fn a_branch_is_asked_for_by_the_id_of_its_object() {
    let below = |of: &str, limit| {
        let question = heap("below").with("of", of).with("limit", limit);
        let rows = asked(&question).unwrap()["dominators"].take();
        let rows = rows.as_array().unwrap().iter();
        let rows = rows.map(|row| {
            let number = |key: &str| row[key].as_u64().unwrap();
            (number("depth"), number("id"), number("hidden_children"))
        });
        rows.collect::<Vec<_>>()
    };
    assert_eq!(below("", 10), [(0, 0, 0), (1, 1, 3)]);
    // The one with the longest text first.
    assert_eq!(below("@1", 2), [(0, 1, 1), (1, 6, 1), (1, 4, 1)]);
    assert_eq!(below("@0x6", 2), [(0, 6, 0), (1, 7, 0)]);
    assert!(asked(&heap("below").with("of", "@99")).is_err());
}

#[test]
fn a_page_says_which_snapshots_it_has() {
    let about = asked(&Question::new("about")).unwrap();
    assert_eq!(about["snapshots"][1]["name"], "one.heapsnapshot");
    assert_eq!(about["recordings"][0]["has"]["memory"], true);
}
