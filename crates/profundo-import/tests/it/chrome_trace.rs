//! Traces of viztracer, py-spy and Chrome's developer tools, and odd ones.

use profundo_model::{SampleKind, State};

use crate::support::{functions_of_samples, oracle, read, read_text, read_value, stacks};

#[test]
fn stretches_have_the_functions_of_speedscope() {
    for (name, file) in [
        ("viztracer", "viztracer.json.gz"),
        ("py-spy", "py-spy.json"),
    ] {
        let imported = read(&format!("chrome-trace/{file}"));
        assert_eq!(imported.reader.name(), "chrome-trace");
        let profile = imported.profile;
        assert_eq!(profile.meta.kind, SampleKind::Wall);
        let mut expected = oracle(&format!("chrome-trace/{name}.functions.txt"));
        expected.retain(|_, &mut (own, total)| own + total > 0);
        let found = functions_of_samples(&profile);
        for (name, &(own, total)) in &expected {
            let found = found.get(name).copied().unwrap_or_default();
            // Speedscope's times are floats of microseconds since the start of the machine.
            let is_near = |a: u64, b: u64| a.abs_diff(b) <= 200;
            assert!(
                is_near(found.0, own) && is_near(found.1, total),
                "{name}: {found:?}, not {own} and {total}"
            );
        }
        assert_eq!(found.len(), expected.len(), "{name}");
    }
}

/// Blocks around an `await` do not lie in the calls around them. Speedscope takes such a trace
/// apart.
#[test]
fn blocks_around_an_await_end_with_their_call() {
    let imported = read_value("chrome-trace/viztracer-async.json.gz", None);
    let [warning] = &imported.warnings[..] else {
        panic!("{:?}", imported.warnings);
    };
    assert!(
        warning.to_string().starts_with("3 ends of events"),
        "{warning}"
    );
    let profile = imported.profile;
    assert_eq!(profile.processes.len(), 2);
    assert_eq!(profile.spans.marks.len(), 3);
    // `builtins.exec` of the first process.
    let (_, total) = functions_of_samples(&profile)["<module>"];
    assert_eq!(total, 37_591_937);
}

#[test]
fn places_and_names_of_threads_are_known() {
    let profile = read("chrome-trace/viztracer.json.gz").profile;
    let names: Vec<&str> = (profile.threads.iter())
        .map(|(_, thread)| profile.strings.get(thread.name))
        .collect();
    assert!(
        names.contains(&"MainThread") && names.contains(&"helper"),
        "{names:?}"
    );
    let fib = (0..profile.frames.len())
        .map(profundo_model::FrameId::from_index)
        .find(|&frame| profile.function_name(frame) == "fib");
    let fib = fib.expect("the function");
    assert!(profile.file_path(fib).ends_with("/viz.py"));
    assert_eq!(profile.frames.get(fib).line, 12);
    let profile = read("chrome-trace/py-spy.json").profile;
    let command = profile.processes[0].command;
    assert!(profile.strings.get(command).ends_with("python app.py"));
    let names: Vec<&str> = (profile.threads.iter())
        .map(|(_, thread)| profile.strings.get(thread.name))
        .collect();
    assert!(names.contains(&"MainThread"), "{names:?}");
}

#[test]
fn the_profile_in_a_trace_of_chrome_is_the_usual_value() {
    let imported = read("chrome-trace/devtools.json.gz");
    assert_eq!(imported.reader.name(), "chrome-trace");
    let mut profile = imported.profile;
    // Speedscope gives the last sample no time, and leaves out waits.
    if let Some(last) = profile.samples.last_mut() {
        last.weight.0 = 0;
    }
    profile
        .samples
        .retain(|sample| sample.state != State::WallWaiting);
    let mut found = functions_of_samples(&profile);
    found.retain(|_, &mut (own, total)| own + total > 0);
    assert_eq!(found, oracle("chrome-trace/devtools.functions.txt"));
    let events = read_value("chrome-trace/devtools.json.gz", Some("events")).profile;
    let functions = functions_of_samples(&events);
    assert!(functions.contains_key("FunctionCall"), "{functions:?}");
    assert!(!functions.contains_key("middle"));
}

#[test]
fn our_own_spans_are_stretches() {
    let text = r#"{"displayTimeUnit":"ms","traceEvents":[
        {"ph":"M","name":"process_name","pid":7,"tid":7,"args":{"name":"app (7)"}},
        {"ph":"X","name":"outer","cat":"span","pid":7,"tid":7,"ts":1.5,"dur":10,"args":{}},
        {"ph":"X","name":"inner","cat":"span","pid":7,"tid":7,"ts":2.5,"dur":4},
        {"ph":"b","name":"request","cat":"span","pid":7,"tid":7,"ts":0.5,"id":3},
        {"ph":"e","name":"request","cat":"span","pid":7,"tid":7,"ts":20,"id":3},
        {"ph":"i","s":"t","name":"here","cat":"mark","pid":7,"tid":7,"ts":3}
        ]}"#;
    let profile = read_text(text).profile;
    let expected = [
        ("outer".to_owned(), 6_000),
        ("outer;inner".to_owned(), 4_000),
    ];
    assert_eq!(stacks(&profile), expected.into());
    let [span] = &profile.spans.each[..] else {
        panic!("{:?}", profile.spans.each);
    };
    // All are on one clock, which begins with the first of them.
    assert_eq!((span.from.0, span.to.unwrap().0), (0, 19_500));
    assert_eq!(profile.spans.marks[0].time.0, 2_500);
    assert_eq!(profile.samples[0].time.0, 1_000);
}

#[test]
fn a_list_may_lack_its_end_and_texts_may_be_numbers() {
    let text = "[\n{\"name\":\"a\",\"ph\":\"B\",\"ts\":1,\"pid\":\"Main\",\"tid\":\"render\"},\n\
        {\"name\":\"b\",\"ph\":\"B\",\"ts\":2,\"pid\":\"Main\",\"tid\":\"render\"},\n\
        {\"ph\":\"E\",\"ts\":4,\"pid\":\"Main\",\"tid\":\"render\"},\n\
        {\"name\":\"c\",\"ph\":\"X\",\"ts\":6,\"dur\":1,\"pid\":\"Main\",\"tid\":\"render\"},\n";
    let imported = read_text(text);
    assert_eq!(imported.warnings, []);
    let profile = imported.profile;
    // The first is open until the last event.
    let expected = [
        ("a".to_owned(), 3_000),
        ("a;b".to_owned(), 2_000),
        ("a;c".to_owned(), 1_000),
    ];
    assert_eq!(stacks(&profile), expected.into());
    let names: Vec<&str> = (profile.threads.iter())
        .map(|(_, thread)| profile.strings.get(thread.name))
        .collect();
    assert_eq!(names, ["render"]);
}

#[test]
fn a_stretch_without_a_name_is_nothing_around_others() {
    let text = r#"[{"ph":"b","ts":0,"pid":1,"tid":1,"id":"1","cat":"x"},
        {"name":"in","ph":"b","ts":2,"pid":1,"tid":1,"id":"1","cat":"x"},
        {"name":"work","ph":"X","ts":2,"dur":3,"pid":1,"tid":1}]"#;
    let profile = read_text(text).profile;
    let spans = &profile.spans;
    assert_eq!(spans.each.len(), 2);
    assert_eq!(spans.paths.get(spans.each[1].path).parent, None);
    let mut file = Vec::new();
    profundo_formats::write(&profile, &mut file).unwrap();
    let (again, warnings) = profundo_formats::read(&file).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(again.spans.each, profile.spans.each);
}

#[test]
fn an_end_closes_the_start_of_its_name() {
    let text = r#"[{"name":"a","ph":"B","ts":0,"pid":1,"tid":1},
        {"name":"b","ph":"B","ts":2,"pid":1,"tid":1},{"name":"c","ph":"E","ts":3,"pid":1,"tid":1},
        {"name":"a","ph":"E","ts":4,"pid":1,"tid":1},
        {"name":"x","ph":"X","ts":6,"tdur":3,"pid":1,"tid":1}]"#;
    let imported = read_text(text);
    assert_eq!(imported.warnings.len(), 1);
    let expected = [
        ("a".to_owned(), 2_000),
        ("a;b".to_owned(), 2_000),
        ("x".to_owned(), 3_000),
    ];
    assert_eq!(stacks(&imported.profile), expected.into());
}

#[test]
fn overlaps_end_with_what_is_around_them() {
    let text = r#"[{"name":"a","ph":"X","ts":0,"dur":10,"pid":1,"tid":1},
        {"name":"b","ph":"X","ts":5,"dur":10,"pid":1,"tid":1},
        {"name":"c","ph":"E","ts":5,"pid":1,"tid":2}]"#;
    let imported = read_text(text);
    assert_eq!(imported.warnings.len(), 2);
    let expected = [("a".to_owned(), 5_000), ("a;b".to_owned(), 5_000)];
    assert_eq!(stacks(&imported.profile), expected.into());
}

/// Not a file of the tool itself: the layout of Hermes.
#[test]
fn samples_beside_the_events_have_frames_with_callers() {
    let text = r#"{"traceEvents":[{"name":"thread_name","ph":"M","pid":75,"ts":"1","tid":"77",
        "args":{"name":"mqt_js"}}],
        "samples":[{"ts":"10","pid":75,"tid":"77","weight":"1","sf":2},
        {"ts":"14","pid":75,"tid":"77","weight":"1","sf":"3"},
        {"ts":"19","pid":75,"tid":"77","weight":"1","sf":9}],
        "stackFrames":{"1":{"name":"[root]"},"2":{"name":"f(http://x/a.js:12:3)","parent":1},
        "3":{"name":"g","parent":"2"},"4":{"name":"loop","parent":4}}}"#;
    let imported = read_text(text);
    assert_eq!(imported.warnings, []);
    let profile = imported.profile;
    let expected = [
        ("[root];f".to_owned(), 4_000),
        ("[root];f;g".to_owned(), 5_000),
    ];
    assert_eq!(stacks(&profile), expected.into());
    let (_, thread) = profile.threads.iter().next().unwrap();
    assert_eq!(
        (thread.tid, profile.strings.get(thread.name)),
        (77, "mqt_js")
    );
}

#[test]
fn a_profile_without_samples_does_not_stand_in_for_the_events() {
    let text = r#"[{"name":"a","ph":"X","ts":0,"dur":10,"pid":1,"tid":1},
        {"name":"Profile","ph":"P","id":"0x1","pid":1,"tid":1,"ts":0,
        "args":{"data":{"startTime":0}}}]"#;
    let profile = read_text(text).profile;
    assert_eq!(profile.meta.kind, SampleKind::Wall);
    assert_eq!(stacks(&profile), [("a".to_owned(), 10_000)].into());
}

/// Not a file of the tool itself: the layout of Chrome before 2018.
#[test]
fn whole_profiles_are_those_of_their_threads() {
    let event = |tid: u32, name: &str| {
        format!(
            r#"{{"name":"CpuProfile","ph":"I","pid":1,"tid":{tid},"ts":9,"args":{{"data":
            {{"cpuProfile":{{"nodes":[{{"id":1,"callFrame":{{"functionName":"{name}"}}}}],
            "startTime":1,"endTime":9,"samples":[1,1],"timeDeltas":[1,3]}}}}}}}}"#
        )
    };
    let profile = read_text(&format!("[{},{}]", event(5, "a"), event(6, "b"))).profile;
    assert_eq!(profile.threads.len(), 2);
    // The last sample has the usual distance.
    let expected = [("a".to_owned(), 6_000), ("b".to_owned(), 6_000)];
    assert_eq!(stacks(&profile), expected.into());
}
