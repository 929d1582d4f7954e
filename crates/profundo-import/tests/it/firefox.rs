//! Profiles of Firefox itself and of the library that samply writes its profiles with.

use std::collections::BTreeMap;

use profundo_model::{LocationKind, Profile, SampleKind, StackId, State};

use crate::support::{oracle, read, read_text, read_value, stacks};

/// The names of a stack, the innermost first; addresses as Firefox writes them.
fn names(profile: &Profile, stack: StackId) -> Vec<String> {
    let mut names = Vec::new();
    for id in profile.stacks.locations(stack) {
        let location = profile.locations.get(id);
        match location.kind {
            LocationKind::Code(address) => names.push(format!("{:#x}", address.address().0)),
            _ => names.extend(
                (location.frames.iter()).map(|&frame| profile.function_name(frame).to_owned()),
            ),
        }
    }
    names
}

/// The samples of each function: its own, and with what it calls.
fn counts(profile: &Profile, each: u64) -> BTreeMap<String, (u64, u64)> {
    let mut sums = BTreeMap::<String, (u64, u64)>::new();
    for sample in &profile.samples {
        assert_eq!(sample.weight.0 % each, 0);
        let count = sample.weight.0 / each;
        let mut names = names(profile, sample.stack);
        sums.entry(names[0].clone()).or_default().0 += count;
        names.sort_unstable();
        names.dedup();
        for name in names {
            sums.entry(name).or_default().1 += count;
        }
    }
    sums
}

fn check(profile: &Profile, each: u64, expected: &BTreeMap<String, (u64, u64)>) {
    // The page shows the files of some functions in their names.
    let short = |name: &str| match name.split_once(".js!") {
        Some((_, name)) => name.to_owned(),
        None if name.starts_with("(root scope) ") => "(root scope)".to_owned(),
        None => name.to_owned(),
    };
    let expected: BTreeMap<String, (u64, u64)> = (expected.iter())
        .map(|(name, &counts)| (short(name), counts))
        .collect();
    let found = counts(profile, each);
    for (name, &(own, total)) in &expected {
        let &(found_own, found_total) = found.get(name).unwrap_or(&(0, 0));
        assert_eq!(found_own, own, "own samples of {name}");
        // Functions that share a name have no total there.
        if total > 0 {
            assert_eq!(found_total, total, "samples of {name}");
        }
    }
    let own = |rows: &BTreeMap<String, (u64, u64)>| rows.values().map(|row| row.0).sum::<u64>();
    assert_eq!(own(&found), own(&expected));
}

/// A file of Firefox 153, without its markers and with few of its libraries.
#[test]
fn firefox_has_the_functions_of_its_own_reader() {
    let imported = read("firefox/gecko-js.json.gz");
    assert_eq!(imported.reader.name(), "firefox");
    let profile = imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Wall);
    assert_eq!(profile.meta.period.0, 40_000_000);
    check(
        &profile,
        40_000_000,
        &oracle("firefox/gecko-js.functions.txt"),
    );
    let pids: Vec<u32> = profile
        .processes
        .iter()
        .map(|process| process.pid)
        .collect();
    assert_eq!(pids, [5308, 5598]);
    let thread = profile.threads.iter().next().unwrap().1;
    assert_eq!(profile.strings.get(thread.name), "GeckoMain");
    assert_eq!(thread.tid, 5308);
    // The second process starts later.
    let first_of = |pid| {
        let is_its = |thread| {
            let process = profile.threads.get(thread).process;
            profile.processes[process.index()].pid == pid
        };
        let mut samples = profile.samples.iter();
        samples.find(|sample| is_its(sample.thread)).unwrap().time.0
    };
    assert_eq!(first_of(5308), 0);
    assert!(first_of(5598) > 500_000_000);
    assert!(
        profile
            .samples
            .iter()
            .any(|sample| sample.state == State::WallWaiting)
    );
}

#[test]
fn cpu_time_is_the_other_value() {
    let profile = read_value("firefox/gecko-js.json.gz", Some("cpu")).profile;
    assert_eq!(profile.meta.kind, SampleKind::Cpu);
    let all: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
    // `cpuMs` of the two threads by profiler-cli: 670.494819 and 30.447305.
    assert!(all.abs_diff(700_942_124) < 1_000, "{all}");
}

/// A file of fxprof-processed-profile 0.8.1, the library of samply.
#[test]
fn the_library_of_samply_has_the_functions_of_the_page() {
    let profile = read("firefox/fxprof.json").profile;
    check(&profile, 1_000_000, &oracle("firefox/fxprof.functions.txt"));
    let names: Vec<&str> = (profile.threads.iter())
        .map(|(_, thread)| profile.strings.get(thread.name))
        .collect();
    assert_eq!(names, ["app", "helper"]);
    let modules: Vec<&str> = (profile.modules.iter())
        .map(|(_, module)| profile.strings.get(module.path))
        .collect();
    assert!(modules.contains(&"[kernel]") && modules.contains(&"/opt/app/bin/app"));
    assert_eq!(profile.meta.started_at_unix, 1_700_000_000_000_000_000);
    let [site] = &profile.heap.sites[..] else {
        panic!("{:?}", profile.heap.sites);
    };
    assert_eq!((site.allocated.count, site.allocated.bytes), (4, 8392));
    assert_eq!(site.live().bytes, 200);
    let cpu = read_value("firefox/fxprof.json", Some("cpu")).profile;
    let all: u64 = cpu.samples.iter().map(|sample| sample.weight.0).sum();
    assert_eq!(all, 2 * (35 * 900_000 + 1_000_000));
}

/// The layouts of several versions of the page, written by hand.
#[test]
fn tables_may_be_shared_and_prefixes_may_be_offsets() {
    let tables = |stacks: &str, functions: &str, more: &str| {
        format!(
            r#""stackTable":{{"frame":[0,1,2],{stacks},"length":3}},
            "frameTable":{{"func":[0,1,1],"line":[1,null,7],"address":[-1,16,32]{more}}},
            "funcTable":{{"name":[0,1],"isJS":[true,false],"lineNumber":[3,4],{functions}}},
            "stringArray":["js","native","/a.js","/b.c"]"#
        )
    };
    let samples = r#""samples":{"stack":[1,null,2,0],"timeDeltas":[0,1,1,1],"weight":null,
        "weightType":"samples","threadCPUDelta":[0,5,6,7]}"#;
    let meta = |version: u32| {
        format!(
            r#""meta":{{"interval":2,"startTime":1000,"preprocessedProfileVersion":{version},
            "categories":[{{"name":"Other"}}],"sampleUnits":{{"threadCPUDelta":"µs"}}}},
            "libs":[{{"name":"libx.so","path":"/lib/libx.so","codeId":"0aff"}}]"#
        )
    };
    let old = format!(
        r#"{{{},"threads":[{{"name":"T","pid":"12.1","tid":13,{samples},{},
        "resourceTable":{{"lib":[0]}}}}]}}"#,
        meta(47),
        tables(
            r#""prefix":[null,0,0]"#,
            r#""fileName":[2,3],"resource":[-1,0]"#,
            ""
        )
    );
    let new = format!(
        r#"{{{},"threads":[{{"name":"T","pid":"12","tid":"13",{samples}}}],"shared":{{{},
        "sources":{{"filename":[2,3]}}}}}}"#,
        meta(70),
        tables(
            r#""prefixOffset":[0,1,2]"#,
            r#""source":[0,1],"resource":[-1,-1]"#,
            r#","lib":[-1,0,0]"#
        )
    );
    for text in [old, new] {
        let imported = read_text(&text);
        assert_eq!(imported.warnings, []);
        let profile = imported.profile;
        let expected = [
            ("js".to_owned(), 2_000_000),
            ("js;native".to_owned(), 4_000_000),
        ];
        assert_eq!(stacks(&profile), expected.into());
        let states: Vec<State> = profile.samples.iter().map(|sample| sample.state).collect();
        assert_eq!(
            states,
            [State::WallWaiting, State::WallRunning, State::WallRunning]
        );
        let frames: Vec<_> = (profile.frames.iter())
            .map(|frame| {
                (
                    frame.line,
                    profile.strings.get(profile.files.get(frame.file).path),
                )
            })
            .collect();
        assert_eq!(frames, [(1, "/a.js"), (4, "/b.c"), (7, "/b.c")]);
        let (_, module) = profile.modules.iter().next().unwrap();
        assert_eq!(profile.strings.get(module.path), "/lib/libx.so");
        assert_eq!(module.build_id, [0x0a, 0xff]);
        let (_, thread) = profile.threads.iter().next().unwrap();
        assert_eq!((thread.tid, profile.processes[0].pid), (13, 12));
        let options = profundo_import::Options {
            value: Some("cpu".into()),
        };
        let cpu = profundo_import::read(text.as_bytes(), &options)
            .unwrap()
            .profile;
        let weights: Vec<u64> = cpu.samples.iter().map(|sample| sample.weight.0).collect();
        assert_eq!(weights, [11_000, 7_000]);
    }
}

#[test]
fn allocations_are_memory() {
    let text = r#"{"meta":{"interval":1,"startTime":0,"preprocessedProfileVersion":40},"threads":[{
        "name":"T","pid":1,"tid":1,"samples":{"stack":[],"time":[]},
        "nativeAllocations":{"time":[1,2,3],"weight":[100,50,-100],"weightType":"bytes",
        "stack":[0,1,null],"memoryAddress":[16,32,16],"threadId":[1,1,1]},
        "stackTable":{"frame":[0,1],"prefix":[null,0]},"frameTable":{"func":[0,1]},
        "funcTable":{"name":[0,1]},"stringArray":["a","b"]}]}"#;
    let profile = read_text(text).profile;
    let sites: Vec<_> = (profile.heap.sites.iter())
        .map(|site| {
            (
                names(&profile, site.stack),
                site.allocated.bytes,
                site.live().bytes,
            )
        })
        .collect();
    let name = |text: &str| text.to_owned();
    assert_eq!(
        sites,
        [
            (vec![name("a")], 100, 0),
            (vec![name("b"), name("a")], 50, 50)
        ]
    );
}
