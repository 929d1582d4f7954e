//! Now and later: what is saved, and what is said when it has become slower.

use std::fs;

use crate::machine::Folder;

/// Measures a command that sleeps for so long under a name.
fn measured(folder: &Folder, sleep: &str, more: &[&str]) -> crate::machine::Outcome {
    let mut words = vec!["bench", "-r8", "-N", sleep, "--name", "work"];
    words.extend(more);
    folder.run(&words)
}

#[test]
fn what_has_become_slower_is_code_3() {
    let folder = Folder::new();
    measured(&folder, "sleep 0.03", &["--save", "then.json"]).succeeded();
    let slower = measured(&folder, "sleep 0.2", &["--against", "then.json"]);
    assert_eq!(slower.code, Some(3), "{slower:#?}");
    assert!(slower.out.contains("`work` takes "), "{slower:#?}");
    assert!(
        slower.out.contains("as long as in then.json: too slow."),
        "{slower:#?}"
    );
    assert!(slower.out.contains("not measured in turn"), "{slower:#?}");
    assert!(slower.out.contains("another text than then"), "{slower:#?}");
    // The limit may be far away; and faster is never too slow.
    let much = ["--against", "then.json", "--threshold", "100000"];
    let within = measured(&folder, "sleep 0.2", &much);
    assert!(
        within
            .succeeded()
            .out
            .contains("slower, but within the limit"),
        "{within:#?}"
    );
    measured(&folder, "sleep 0.2", &["--save", "slow.json"]).succeeded();
    let faster = measured(&folder, "sleep 0.01", &["--against", "slow.json"]);
    assert!(
        faster
            .succeeded()
            .out
            .contains(" times faster than in slow.json"),
        "{faster:#?}"
    );
    // JSON says it too, and what `--json` prints can be compared with as well.
    let json = measured(&folder, "sleep 0.2", &["--against", "then.json", "--json"]);
    assert_eq!(json.code, Some(3), "{json:#?}");
    assert!(json.err.contains("too slow"), "{json:#?}");
    let report: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(report["against"]["comparisons"][0]["too_slow"], true);
    folder.file("printed.json", &json.out);
    let same = measured(
        &folder,
        "sleep 0.2",
        &["--against", "printed.json", "--threshold", "300"],
    );
    same.succeeded();
}

#[test]
fn the_same_file_may_be_both() {
    let folder = Folder::new();
    measured(&folder, "sleep 0.2", &["--save", "it.json"]).succeeded();
    let before = fs::read_to_string(folder.path().join("it.json")).unwrap();
    let both = ["--against", "it.json", "--save", "it.json"];
    measured(&folder, "sleep 0.01", &both).succeeded();
    let after = fs::read_to_string(folder.path().join("it.json")).unwrap();
    assert_ne!(before, after);
    let left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["it.json"]);
}

#[test]
fn what_cannot_be_read_or_written_is_said_before_anything_runs() {
    let folder = Folder::new();
    let ask = |more: &[&str]| {
        let outcome = folder.run(&[&["bench", "printf r >> log", "-r2"], more].concat());
        assert!(!folder.path().join("log").exists(), "{outcome:#?}");
        outcome
    };
    ask(&["--against", "none.json"]).refused(1, "cannot read none.json");
    folder.file("odd.json", "{\"profundo\": {\"report\": \"flat\"}}");
    ask(&["--against", "odd.json"]).refused(
        1,
        "odd.json is no measurement that `bench --save` has written",
    );
    ask(&["--save", "no/such/folder.json"]).refused(1, "cannot write no/such/folder.json");
    ask(&["--save", "."]).refused(1, "it is no file");
    let head = r#"{"profundo": {"schema": 1, "report": "bench"}"#;
    folder.file(
        "python.json",
        &format!("{head}, \"subject\": \"python\", \"candidates\": []}}"),
    );
    ask(&["--against", "python.json"]).refused(1, "statements and commands cannot be compared");
    folder.file(
        "other.json",
        &format!("{head}, \"subject\": \"command\", \"candidates\": []}}"),
    );
    ask(&["--against", "other.json"]).refused(1, "no candidate of the same name");
}

#[test]
fn what_was_measured_by_others_is_compared() {
    let folder = Folder::new();
    // As a Rust program writes it.
    let file = |name: &str, seconds: [f64; 6]| {
        let runs = seconds.map(|seconds| format!("{{\"seconds\": {seconds}}}"));
        let text = format!(
            "{{\"profundo\": {{\"schema\": 1, \"report\": \"bench\"}}, \"subject\": \"rust\", \"machine\": {{\"cpus\": 2}}, \
             \"candidates\": [{{\"name\": \"parse(x)\", \"loops\": 100, \"runs\": [{}]}}]}}",
            runs.join(", ")
        );
        folder.file(name, &text);
    };
    file("then.json", [1.0, 1.01, 1.02, 1.0, 1.03, 1.01]);
    file("now.json", [1.5, 1.51, 1.52, 1.5, 1.53, 1.51]);
    let ask = |now: &str, then: &str| {
        let words = ["bench", "--measured", now, "--against", then];
        folder.run(&words)
    };
    let slower = ask("now.json", "then.json");
    assert_eq!(slower.code, Some(3), "{slower:#?}");
    assert!(
        slower.out.starts_with("100 loops, best of 6: 15 msec"),
        "{slower:#?}"
    );
    assert!(
        slower.out.contains("as long as in then.json: too slow."),
        "{slower:#?}"
    );
    let faster = ask("then.json", "now.json");
    assert!(
        faster
            .succeeded()
            .out
            .contains("times faster than in now.json"),
        "{faster:#?}"
    );
    ask("none.json", "then.json").refused(1, "cannot read none.json");
    folder.run(&["bench", "--measured", "now.json"]).succeeded();
    folder
        .run(&["bench", "--measured", "now.json", "true"])
        .refused_with_usage("cannot be used with");
    folder
        .run(&["bench", "true", "-r2", "--against", "then.json"])
        .refused(1, "is of something else");
}
