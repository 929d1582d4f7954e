//! Profiles of V8: `.cpuprofile` and `.heapprofile` of two versions of node.

use profundo_model::{SampleKind, State};

use crate::support::{functions, functions_of_samples, oracle, read, read_text, stacks, testdata};

#[test]
fn cpu_profiles_have_the_functions_of_speedscope() {
    for name in ["node20", "node24"] {
        let imported = read(&format!("cpuprofile/{name}.cpuprofile"));
        assert_eq!(imported.reader.name(), "cpuprofile");
        let mut profile = imported.profile;
        assert_eq!(profile.meta.kind, SampleKind::Wall);
        // Speedscope leaves out waits, and gives the last sample no time.
        let is_idle = |state| state == State::WallWaiting;
        let idle = functions(
            &profile,
            (profile.samples.iter())
                .filter(|sample| is_idle(sample.state))
                .map(|sample| (sample.stack, sample.weight.0)),
        );
        assert_eq!(idle.keys().collect::<Vec<_>>(), ["(idle)"]);
        if let Some(row) = profile.samples.last_mut() {
            row.weight.0 = 0;
        }
        profile.samples.retain(|sample| !is_idle(sample.state));
        let mut found = functions_of_samples(&profile);
        found.retain(|_, &mut (own, total)| own + total > 0);
        let mut expected = oracle(&format!("cpuprofile/{name}.functions.txt"));
        expected.retain(|_, &mut (own, total)| own + total > 0);
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn samples_have_the_lines_of_their_functions() {
    let profile = read("cpuprofile/node20.cpuprofile").profile;
    let mut lines = std::collections::BTreeMap::<u32, u64>::new();
    for sample in &profile.samples {
        let location = profile.stacks.get(sample.stack).location;
        let frame = profile.locations.get(location).frames[0];
        if profile.function_name(frame) == "leaf" {
            assert!(profile.file_path(frame).ends_with("/app.js"));
            assert!(profile.file_path(frame).starts_with('/'));
            *lines.entry(profile.frames.get(frame).line).or_default() += 1;
        }
    }
    // The `positionTicks` of the two nodes of `leaf`: 22 and 1, 8.
    assert_eq!(lines, [(4, 1), (5, 30)].into());
}

#[test]
fn heap_profiles_have_the_functions_of_speedscope() {
    for name in ["node20", "node24"] {
        let imported = read(&format!("heapprofile/{name}.heapprofile"));
        assert_eq!(imported.reader.name(), "heapprofile");
        let profile = imported.profile;
        let sites = profile.heap.sites.iter();
        let found = functions(&profile, sites.map(|site| (site.stack, site.live().bytes)));
        let mut expected = oracle(&format!("heapprofile/{name}.functions.txt"));
        expected.remove("(root)");
        assert_eq!(found, expected, "{name}");
    }
}

/// A file of node 20, without the codes that no tick is in.
#[test]
fn logs_have_the_ticks_of_node_itself() {
    let imported = read("v8-log/node20.v8log.json.gz");
    assert_eq!(imported.reader.name(), "v8-log");
    let profile = imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Events);
    assert!(profile.has_times());
    let found = functions_of_samples(&profile);
    let text = std::fs::read_to_string(testdata("v8-log/node20.prof.txt")).unwrap();
    let mut expected = std::collections::BTreeMap::<String, u64>::new();
    for line in text.lines().take_while(|line| !line.contains("[Summary]")) {
        let mut words = line.split_whitespace();
        let Some(Ok(ticks)) = words.next().map(str::parse::<u64>) else {
            continue;
        };
        // Shares of all ticks, and of those outside of libraries.
        let name = line.rsplit("%  ").next().unwrap().trim();
        let name = match name.strip_prefix("JS: ") {
            Some(name) => name
                .trim_start_matches(['*', '~', '^', '+'])
                .split(' ')
                .next()
                .unwrap(),
            None => name.rsplit('/').next().unwrap(),
        };
        *expected.entry(name.to_owned()).or_default() += ticks;
    }
    // `Unaccounted`.
    expected.insert("(unknown)".into(), 33);
    for (name, &(own, _)) in &found {
        assert_eq!(own, expected.remove(name).unwrap_or(0), "{name}");
    }
    assert_eq!(expected, [].into());
    assert_eq!(profile.samples.len(), 116);
    // Callers have their lines.
    let run = (profile.frames.iter()).filter(|frame| profile.strings.get(frame.function) == "run");
    let mut lines: Vec<u32> = run.map(|frame| frame.line).collect();
    lines.sort_unstable();
    assert_eq!(lines, [23, 24]);
}

/// Not a file of the tool itself: the layout of Chrome before 2017.
#[test]
fn an_old_profile_is_a_tree() {
    let text = r#"{"head":{"functionName":"(root)","url":"","lineNumber":0,"callUID":1,
        "hitCount":0,"children":[{"functionName":"f","url":"http://x/a.js","lineNumber":7,
        "hitCount":2,"id":2,"children":[]},{"functionName":"(idle)","url":"","lineNumber":0,
        "hitCount":1,"id":3,"children":[]}],"id":1},"startTime":100.5,"endTime":100.504,
        "samples":[2,3,2],"timestamps":[100501000,100502000,100503000]}"#;
    let profile = read_text(text).profile;
    let expected = [
        ("(idle)".to_owned(), 1_000_000),
        ("f".to_owned(), 2_000_000),
    ];
    assert_eq!(stacks(&profile), expected.into());
    assert_eq!(profile.meta.duration.0, 4_000_000);
    let lines: Vec<u32> = profile.frames.iter().map(|frame| frame.line).collect();
    assert!(lines.contains(&7));
}

#[test]
fn late_samples_and_odd_trees_are_read() {
    // A node that is its own parent, a sample before the one that is written first, no end.
    let text = r#"{"nodes":[{"id":1,"callFrame":{"functionName":"a"},"children":[1,2]},
        {"id":2,"callFrame":{"functionName":"b"},"children":[1]}],
        "startTime":10,"samples":[1,2,9,1],"timeDeltas":[5,-3,1,4]}"#;
    let profile = read_text(text).profile;
    let total: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
    assert_eq!(total, 5_000);
}

#[test]
fn a_deep_tree_takes_no_stack() {
    let depth = 200_000;
    let open = r#"{"callFrame":{"functionName":"f"},"selfSize":1,"id":1,"children":["#;
    let text = format!("{{\"head\":{}{}}}", open.repeat(depth), "]}".repeat(depth));
    let profile = read_text(&text).profile;
    let bytes: u64 = (profile.heap.sites.iter())
        .map(|site| site.allocated.bytes)
        .sum();
    assert_eq!(bytes, depth as u64);
}
