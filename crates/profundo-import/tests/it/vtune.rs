//! Reports of VTune. The files are built from the layout that its manual and other readers show;
//! VTune cannot be had where these tests were written. Call trees, tables and call graphs of VTune
//! 2013 to 2020 that other projects keep were read, too: their totals are those of the reports.

use profundo_model::{Language, Profile, SampleKind, State};

use crate::support::{functions_of_samples, read, read_text, read_value, stacks};

const SECOND: u64 = 1_000_000_000;

fn check(profile: &Profile, expected: &[(&str, f64, f64)]) {
    let functions = functions_of_samples(profile);
    let nanoseconds = |seconds: f64| (seconds * SECOND as f64).round() as u64;
    for &(name, own, total) in expected {
        assert_eq!(
            functions[name],
            (nanoseconds(own), nanoseconds(total)),
            "{name}"
        );
    }
}

#[test]
fn a_call_tree_has_stacks() {
    let imported = read("vtune/top-down.csv");
    assert_eq!(imported.reader.name(), "vtune");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Cpu);
    // Own and total are two columns of the report.
    check(
        profile,
        &[
            ("_start", 0.0, 6.0),
            ("main", 0.25, 6.0),
            ("fill<int, long>", 1.5, 2.0),
            ("operator new", 0.5, 0.5),
            ("step", 3.0, 3.5),
            ("do_syscall_64", 0.5, 0.5),
            ("operator\"\"_x", 0.25, 0.25),
            ("clone", 0.5, 0.5),
        ],
    );
    let system = profile
        .samples
        .iter()
        .filter(|sample| sample.state == State::System);
    assert_eq!(
        system.map(|sample| sample.weight.0).sum::<u64>(),
        SECOND / 2
    );
    let language = |name: &str| {
        let frame = profile
            .frames
            .iter()
            .find(|frame| profile.strings.get(frame.function) == name);
        frame.expect(name).language
    };
    assert_eq!(language("step"), Language::Julia);
    // The smallest weight is one sample's.
    assert_eq!(profile.meta.period.0, SECOND / 4);
    assert_eq!(profile.sample_count(), 26);
}

#[test]
fn a_table_has_threads_and_values() {
    let imported = read("vtune/hotspots.csv");
    assert_eq!(imported.reader.name(), "vtune");
    let profile = &imported.profile;
    check(profile, &[("step", 4.25, 4.25), ("memcpy", 0.5, 0.5)]);
    let threads: Vec<_> = (profile.threads.iter())
        .map(|(_, thread)| (thread.tid, profile.strings.get(thread.name)))
        .collect();
    assert_eq!(threads, [(4242, "worker"), (4241, "main")]);
    let effective = read_value("vtune/hotspots.csv", Some("cpu time:effective time"));
    check(
        &effective.profile,
        &[("step", 4.0, 4.0), ("memcpy", 0.25, 0.25)],
    );
    let instructions = read_value("vtune/hotspots.csv", Some("Instructions Retired"));
    let profile = &instructions.profile;
    assert_eq!(profile.meta.kind, SampleKind::Events);
    assert_eq!(profile.meta.event, "Instructions Retired");
    assert_eq!(functions_of_samples(profile)["step"].0, 10_000_000_000);
}

#[test]
fn text_in_columns_is_the_same() {
    let imported = read("vtune/hotspots.txt");
    assert_eq!(imported.reader.name(), "vtune");
    check(
        &imported.profile,
        &[("step", 4.25, 4.25), ("kmalloc", 0.5, 0.5)],
    );
}

#[test]
fn a_call_graph_is_shared_out_among_callers() {
    let imported = read("vtune/gprof-cc.txt");
    assert_eq!(imported.reader.name(), "vtune");
    let expected = [
        ("main", SECOND),
        ("main;left", 2 * SECOND),
        ("main;left;leaf", 4 * SECOND),
        ("main;right;leaf", 3 * SECOND),
    ];
    let expected = expected.map(|(stack, weight)| (stack.to_owned(), weight));
    assert_eq!(stacks(&imported.profile), expected.into());
}

#[test]
fn cycles_keep_the_own_time_of_each_function() {
    let text = "Index  % CPU Time:Total  CPU Time:Self  CPU Time:Children  Name                Index\n\
        -----  ----------------  -------------  -----------------  ------------------  -----\n\
        [1]    100.0             3.0            6.0                <cycle 1 as a whole>  [1]\n\
        \n\
                                 \u{20}1.0            2.0                  odd <cycle 1>     [3]\n\
        [2]    100.0             1.0            6.0                even <cycle 1>     [2]\n\
                                 \u{20}2.0            4.0                  odd <cycle 1>     [3]\n\
        \n\
                                 \u{20}2.0            4.0                  even <cycle 1>    [2]\n\
        [3]    100.0             2.0            4.0                odd <cycle 1>      [3]\n";
    let profile = read_text(text).profile;
    let functions = functions_of_samples(&profile);
    assert_eq!(functions["even"].0, SECOND);
    assert_eq!(functions["odd"].0, 2 * SECOND);
}

#[test]
fn other_columns_and_rows_are_read() {
    // Only totals; a semicolon; a byte-order mark; a line before the titles.
    let text = "\u{feff}vtune: Using result path `/tmp/r000hs'\n\
        Function Stack;CPU Time:Total;Module\nTotal;3;\n main;3;app\n  work;2;app\n";
    let expected = [("main", SECOND), ("main;work", 2 * SECOND)];
    let expected = expected.map(|(stack, weight)| (stack.to_owned(), weight));
    assert_eq!(stacks(&read_text(text).profile), expected.into());
    let text = "Source Line,Source File,CPU Time,Module\n12,app.c,1.5,app\n13,app.c,x,app\n";
    let imported = read_text(text);
    let line = imported.profile.frames.iter().map(|frame| frame.line).max();
    assert_eq!(line, Some(12));
    assert_eq!(imported.warnings.len(), 1);
    let text = "Thread,Wait Time\nworker (TID: 7),2\n";
    let profile = read_text(text).profile;
    assert_eq!(profile.meta.kind, SampleKind::Wall);
    assert_eq!(profile.samples[0].state, State::WallWaiting);
}

#[test]
fn other_tables_are_none_of_its() {
    for text in [
        "Function,Time\nf,1\n",
        "Name,CPU Time\nf,1\n",
        "Function\tCalls\nf\t1\n",
    ] {
        let read = profundo_import::read(text.as_bytes(), &profundo_import::Options::default());
        let is_vtune = read.is_ok_and(|read| read.reader.name() == "vtune");
        assert!(is_vtune == text.starts_with("Function,Time"), "{text}");
    }
}
