//! The schema in `docs/json.md` and what is written are the same, both ways: each object has the
//! members of its definition, all of them and no others, of the types that stand there.

use std::collections::BTreeMap;
use std::path::Path;

use profundo_analysis::growth::{growth, judge};
use profundo_analysis::measured;
use profundo_model::{LocationKind, Measure, Profile, Sample};
use profundo_report::{
    Allocs, Callers, Check, Checklist, Choices, CountedLines, Exceptions, Filter, Format,
    Functions, GroupBy, Io, Lines, Mark, Memory, MemoryLines, Mend, Ready, Regressions, Report,
    ServiceVersions, Spans, Spread, Stacks, Statprof, Summary, Syscalls, ThreadLocals, Trace, View,
};
use serde_json::Value;

use crate::allocs::{exact_memory, memory};
use crate::fixture::app;
use crate::locals::locals_of;
use crate::merged::merged;
use crate::mixed::{crowd, growing, metered, python, reading, rust, waiting};
use crate::traced::{counted_lines, lines_once};

/// The definitions of the page, by name: a line that repeats a name goes on with it.
#[derive(Debug)]
struct Schema(BTreeMap<String, Vec<String>>);

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    kind: String,
    is_optional: bool,
}

impl Schema {
    fn documented() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
        Self::of(&std::fs::read_to_string(path).unwrap())
    }

    fn of(page: &str) -> Self {
        let (_, block) = page.split_once("```schema\n").unwrap();
        let (block, _) = block.split_once("```").unwrap();
        let mut definitions: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in block.lines().filter(|line| !line.is_empty()) {
            let (name, parts) = line.split_once(" = ").unwrap();
            let parts = parts.split(", ").map(str::to_owned);
            definitions.entry(name.into()).or_default().extend(parts);
        }
        Self(definitions)
    }

    /// The members of an object, each with `before` in front of its name.
    fn members(&self, name: &str, before: &str) -> BTreeMap<String, Member> {
        let parts = (self.0.get(name)).unwrap_or_else(|| panic!("{name} is not defined"));
        let mut members = BTreeMap::new();
        for part in parts {
            if let Some((name, kind)) = part.split_once(": ") {
                let bare = name.trim_end_matches('?');
                let member = Member {
                    kind: kind.into(),
                    is_optional: bare != name,
                };
                let known = members.insert(format!("{before}{bare}"), member);
                assert_eq!(known, None, "{part} is there twice");
                continue;
            }
            let (prefix, of) = part.split_once(' ').unwrap_or(("", part));
            members.extend(self.members(of, &format!("{before}{prefix}")));
        }
        members
    }

    /// The faults of a document.
    fn faults(&self, value: &Value) -> Vec<String> {
        let report = value["profundo"]["report"].as_str().unwrap_or_default();
        let mut faults = Vec::new();
        self.object(value, report, report, &mut faults);
        faults
    }

    fn object(&self, value: &Value, name: &str, path: &str, faults: &mut Vec<String>) {
        let Some(object) = value.as_object() else {
            faults.push(format!("{path} is no object"));
            return;
        };
        let members = self.members(name, "");
        for key in object.keys().filter(|key| !members.contains_key(*key)) {
            faults.push(format!("{path}.{key} is not documented"));
        }
        for (key, member) in members {
            let path = format!("{path}.{key}");
            match object.get(&key) {
                Some(value) => self.value(value, &member.kind, &path, faults),
                None if member.is_optional => {}
                None => faults.push(format!("{path} is missing")),
            }
        }
    }

    fn value(&self, value: &Value, kind: &str, path: &str, faults: &mut Vec<String>) {
        if let Some(inner) = kind
            .strip_prefix('[')
            .and_then(|inner| inner.strip_suffix(']'))
        {
            match value.as_array() {
                Some(all) => {
                    for value in all {
                        self.value(value, inner, path, faults);
                    }
                }
                None => faults.push(format!("{path} is no array")),
            }
            return;
        }
        let bare = kind.trim_end_matches('?');
        if value.is_null() && bare != kind {
            return;
        }
        let fits = match bare {
            "number" => value.is_number(),
            "text" => value.is_string(),
            "bool" => value.is_boolean(),
            name => return self.object(value, name, path, faults),
        };
        if !fits {
            faults.push(format!("{path} is {value}, not {kind}"));
        }
    }
}

/// Variables of every Python frame.
fn locals(profile: &Profile) -> Vec<ThreadLocals> {
    let of_sample = |sample: &Sample| {
        let thread = profile.threads.get(sample.thread);
        let kinds = profile.stacks.locations(sample.stack);
        let kinds = kinds.map(|location| profile.locations.get(location).kind);
        let frames = kinds.filter(|kind| matches!(kind, LocationKind::Python { .. }));
        let frames = vec![&[("a", "int", "1"), ("b", "", "<unreadable>")][..]; frames.count()];
        let pid = profile.processes[thread.process.index()].pid;
        locals_of(pid, thread.tid, &frames)
    };
    profile.samples.iter().map(of_sample).collect()
}

/// Every report on a profile, in every variation that changes its members.
fn documents(profile: &Profile, choices: &Choices) -> Vec<String> {
    let choices = || choices.clone();
    let tree = Report::new().choices(choices());
    let flat = tree.clone().format(Format::Flat);
    let mut all = vec![
        Summary::new().choices(choices()).json(profile),
        Lines::new().choices(choices()).json(profile),
        Lines::new()
            .choices(choices())
            .all_lines(true)
            .json(profile),
        Lines::new()
            .choices(choices())
            .statements(true)
            .json(profile),
        Functions::new().choices(choices()).json(profile),
        Spread::new().choices(choices()).json(profile),
        Spans::new().choices(choices()).json(profile),
        Spans::new()
            .choices(choices())
            .by(GroupBy::SpanOf("route".into()))
            .json(profile),
        Statprof::new().choices(choices()).json(profile),
        Io::new().choices(choices()).json(profile),
        Syscalls::new().choices(choices()).json(profile),
        Memory::new().choices(choices()).json(profile),
        Allocs::new().choices(choices()).json(profile),
        MemoryLines::new().choices(choices()).json(profile),
        Trace::new().choices(choices()).json(profile),
        Exceptions::new().choices(choices()).json(profile),
        CountedLines::new().choices(choices()).json(profile),
        Trace::new()
            .choices(choices())
            .group_by(GroupBy::Label)
            .json(profile),
        Trace::pstats()
            .choices(choices())
            .group_by(GroupBy::Thread)
            .json(profile),
        Stacks::new().choices(choices()).json(profile),
        Stacks::new()
            .locals(locals(profile))
            .choices(choices())
            .json(profile),
        Callers::new("main").choices(choices()).json(profile),
        Callers::callees_of("main").choices(choices()).json(profile),
        Callers::both("nobody").choices(choices()).json(profile),
        crate::annotate::view(profile)
            .choices(choices())
            .json(profile),
    ];
    for by in [
        GroupBy::None,
        GroupBy::Process,
        GroupBy::ThreadTask,
        GroupBy::Label,
        GroupBy::LabelOf("run".into()),
        GroupBy::Span,
    ] {
        let (tree, flat) = (tree.clone().group_by(by.clone()), flat.clone().group_by(by));
        all.push(tree.json(profile));
        all.push(tree.combine(false).json(profile));
        all.push(flat.clone().combine(false).json(profile));
        all.push(flat.format(Format::Functions).json(profile));
    }
    all.into_iter().map(Result::unwrap).collect()
}

#[test]
fn what_is_written_is_what_is_documented() {
    let schema = Schema::documented();
    let nothing = Choices::command().filter(Filter::default().thread("nobody"));
    let mut reports = std::collections::BTreeSet::new();
    for profile in [
        crate::spans::named(),
        python(),
        metered(),
        crowd(),
        rust(),
        app(),
        waiting(),
        reading(),
        growing(),
        memory(),
        exact_memory(),
        measured(memory(), Measure::default()),
        counted_lines(),
        lines_once(),
        crate::exceptions::exceptions(),
        crate::annotate::profile(),
        merged(),
        Profile::default(),
    ] {
        for choices in [
            Choices::command(),
            Choices::new(),
            Choices::command().only_mine(true),
            nothing.clone(),
        ] {
            for document in documents(&profile, &choices) {
                let value: Value = serde_json::from_str(&document).unwrap();
                let faults = schema.faults(&value);
                assert!(faults.is_empty(), "{faults:#?}\n{document}");
                reports.insert(value["profundo"]["report"].as_str().unwrap().to_owned());
            }
        }
    }
    assert_eq!(reports.len(), 22, "{reports:?}");
}

#[test]
fn the_list_that_is_no_report_is_documented_too() {
    let check = |mend| Check {
        topic: "clocks".into(),
        mark: Mark::Partly,
        message: "something stands in".into(),
        mend,
        essential: true,
    };
    let mends = [
        None,
        Some(Mend::Command("mend".into())),
        Some(Mend::Advice("wait".into())),
    ];
    let list = Checklist::new().part("A machine", mends.map(check).into());
    let mut document = Vec::new();
    list.write_json(&mut document).unwrap();
    let value: Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(Schema::documented().faults(&value), Vec::<String>::new());
}

#[test]
fn runs_are_documented_too() {
    use crate::time::{dark, remarkable, run};
    let schema = Schema::documented();
    for runs in [
        vec![],
        vec![run()],
        vec![dark()],
        vec![run(), remarkable(), dark()],
    ] {
        let mut document = Vec::new();
        let time = profundo_report::Time::new("make", runs).gap("refused");
        time.write_json(&mut document).unwrap();
        let value: Value = serde_json::from_slice(&document).unwrap();
        assert_eq!(schema.faults(&value), Vec::<String>::new(), "{value:#}");
    }
}

#[test]
fn heap_snapshots_are_documented_too() {
    let schema = Schema::documented();
    let mut reports = std::collections::BTreeSet::new();
    for document in crate::heap::documents() {
        let value: Value = serde_json::from_str(&document).unwrap();
        let faults = schema.faults(&value);
        assert!(faults.is_empty(), "{faults:#?}\n{document}");
        reports.insert(value["profundo"]["report"].as_str().unwrap().to_owned());
    }
    assert_eq!(reports.len(), 7, "{reports:?}");
}

#[test]
fn comparisons_are_documented_too() {
    let schema = Schema::documented();
    for document in crate::diff::documents() {
        let value: Value = serde_json::from_str(&document).unwrap();
        assert_eq!(schema.faults(&value), Vec::<String>::new(), "{document}");
    }
}

#[test]
fn regressions_are_documented_too() {
    let profile = Profile::from_folded("main;a 700\nmain;b 300").unwrap();
    let mut found = growth(&profile, ["", ""], 0.01);
    judge([&mut found], 0.05, 0.0);
    assert!(found.rows.iter().all(|row| !row.has_grown));
    found.rows.iter_mut().for_each(|row| row.has_grown = true);
    let services = vec![
        ServiceVersions::compared("api", ["1.4", "1.5"], [1.0, 2.0], &profile, &found),
        ServiceVersions::left_out("worker", "it has one version, 7".to_owned()),
    ];
    let report = Regressions::new("from -1h", services, 0.005, 0.05);
    let document = report.json().unwrap();
    let value: Value = serde_json::from_str(&document).unwrap();
    let faults = Schema::documented().faults(&value);
    assert_eq!(faults, Vec::<String>::new(), "{document}");
    assert!(
        value["functions"]
            .as_array()
            .is_some_and(|rows| rows.len() == 2),
        "{document}"
    );
    let text = report.render().unwrap();
    assert!(
        text.contains("Not compared: worker (it has one version, 7)."),
        "{text}"
    );
}

#[test]
fn each_definition_is_used_and_each_fault_is_found() {
    let schema = Schema::documented();
    let document = Summary::new().json(&python()).unwrap();
    let whole: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(schema.faults(&whole), Vec::<String>::new());
    let fault = |change: fn(&mut Value)| {
        let mut value = whole.clone();
        change(&mut value);
        schema.faults(&value).join("; ")
    };
    assert_eq!(
        fault(|document| document["functions"][0]["new"] = 1.into()),
        "summary.functions.new is not documented"
    );
    assert_eq!(
        fault(|document| {
            document["recording"]
                .as_object_mut()
                .unwrap()
                .remove("notes");
        }),
        "summary.recording.notes is missing"
    );
    assert!(
        fault(|document| document["lines"][0]["self_share"] = "much".into()).contains("not number")
    );
    assert!(fault(|document| document["processes"][0]["pid"] = Value::Null).contains("not number"));
    assert!(fault(|document| document["threads"] = Value::Null).contains("no array"));
    // A definition that no report reaches would be documentation of nothing.
    let text: Vec<&String> = schema.0.values().flatten().collect();
    for name in schema.0.keys() {
        let is_report = schema.0[name]
            .first()
            .is_some_and(|part| part == "document");
        // It is about no recording, as documents are.
        let is_report = is_report || name == "doctor" || schema.0[name][0] == "profundo: header";
        let is_used = text.iter().any(|part| {
            let last = part.rsplit([' ', '[']).next().unwrap_or_default();
            last.trim_end_matches(['?', ']']) == name
        });
        assert!(is_report || is_used, "{name} is used nowhere");
    }
}
