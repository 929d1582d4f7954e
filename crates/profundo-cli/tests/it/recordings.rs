//! The folder of recordings without a name, and the choice of one of them.

use std::fs;
use std::path::PathBuf;

use crate::machine::{Folder, Outcome};

/// Names of the recordings in the folder's own `.profundo`.
fn names(folder: &Folder) -> Vec<String> {
    let recordings = folder.recordings();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    recordings.iter().map(name).collect()
}

fn record(folder: &Folder, words: &[&str]) -> Outcome {
    let mut all = vec!["record"];
    all.extend(words);
    let outcome = folder.run(&all);
    outcome.succeeded();
    outcome
}

#[test]
fn the_newest_recording_is_meant_where_none_is_named() {
    let folder = Folder::new();
    let outcome = folder.run(&["report"]);
    outcome.refused(1, "there are no recordings in");
    assert!(outcome.err.contains("profundo run CMD"), "{outcome:#?}");

    record(&folder, &["sh", "-c", ": first"]);
    record(&folder, &["sh", "-c", ": second"]);
    let names = names(&folder);
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(
        names.iter().all(|name| name.starts_with("sh-2")),
        "{names:?}"
    );
    let ignored = folder.path().join(".profundo/.gitignore");
    assert_eq!(fs::read_to_string(ignored).unwrap(), "*\n!config.toml\n");

    let report = |words: &[&str]| {
        let mut all = vec!["report", "--json"];
        all.extend(words);
        folder.run(&all).succeeded().out.clone()
    };
    assert!(report(&[]).contains(": second"));
    assert!(report(&["@1"]).contains(": second"));
    assert!(report(&["@2"]).contains(": first"));
    assert!(report(&["functions", "@2"]).contains("\"functions\""));
    folder
        .run(&["report", "@3"])
        .refused(1, "there are 2 recordings");

    let below = folder.path().join("below");
    fs::create_dir(&below).unwrap();
    let mut command = folder.profundo(&["flame", "-o", "-"]);
    let outcome = Outcome::of(command.current_dir(&below).output().unwrap());
    assert!(outcome.succeeded().out.contains(": second"), "{outcome:#?}");
}

#[test]
fn the_list_has_the_newest_first() {
    let folder = Folder::new();
    record(&folder, &["sh", "-c", ": first"]);
    record(&folder, &["--memory", "sh", "-c", ": second"]);
    let outcome = folder.run(&["list"]);
    let lines: Vec<&str> = outcome.succeeded().out.lines().collect();
    assert_eq!(lines.len(), 4, "{outcome:#?}");
    assert!(
        lines[2].starts_with("@1 ") && lines[2].ends_with("': second'"),
        "{outcome:#?}"
    );
    assert!(
        lines[3].starts_with("@2 ") && lines[3].ends_with("': first'"),
        "{outcome:#?}"
    );
    let json = folder.run(&["list", "--json"]).succeeded().out.clone();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let newest = &json["recordings"][0];
    assert_eq!(newest["name"], "@1");
    assert_eq!(newest["is_whole"], true);
    assert!(newest["duration_ns"].as_u64() > Some(0), "{newest}");
}

#[test]
fn old_recordings_go_and_named_ones_stay() {
    let folder = Folder::new();
    record(&folder, &["-o", "mine.profundo", "true"]);
    for _ in 0..3 {
        record(&folder, &["true"]);
    }
    let before = names(&folder);
    assert_eq!(before.len(), 4, "{before:?}");
    // What was written just now may still be written.
    let is_old = |name: &&String| name.starts_with("true-");
    for name in before.iter().filter(is_old) {
        let file = folder.path().join(".profundo").join(name);
        let file = fs::File::options().write(true).open(file).unwrap();
        let hour = std::time::Duration::from_secs(3600);
        file.set_modified(std::time::SystemTime::now() - hour)
            .unwrap();
    }
    let outcome = record(&folder, &["--keep", "2", "true"]);
    assert!(
        outcome.err.contains("old recordings are removed"),
        "{outcome:#?}"
    );
    let after = names(&folder);
    assert_eq!(after.len(), 3, "{after:?}");
    assert!(after.contains(&"mine.profundo".to_owned()), "{after:?}");
    let second = record(&folder, &["--keep", "1", "true"]);
    assert!(
        !second.err.contains("old recordings are removed"),
        "{second:#?}"
    );
}

#[test]
fn what_was_not_begun_leaves_no_file() {
    let folder = Folder::new();
    folder
        .run(&["record", "no-such-program"])
        .refused(127, "is in PATH");
    let script = folder.file("broken", "#!/no/such/interpreter\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(script, mode).unwrap();
    let outcome = folder.run(&["record", "./broken"]);
    assert_eq!(outcome.code, Some(127), "{outcome:#?}");
    assert!(folder.recordings().is_empty(), "{:?}", folder.recordings());
}

#[test]
fn a_program_without_a_verb_gets_a_hint() {
    let folder = Folder::new();
    folder.file("app.py", "");
    for word in ["app.py", "true"] {
        let outcome = folder.run(&[word, "x"]);
        outcome.refused(2, &format!("type: profundo run {word} x"));
    }
}

#[test]
fn each_process_of_a_parallel_program_has_its_own_name() {
    let folder = Folder::new();
    let mut command = folder.profundo(&["record", "true"]);
    let outcome = Outcome::of(command.env("OMPI_COMM_WORLD_RANK", "3").output().unwrap());
    outcome.succeeded();
    let names = names(&folder);
    assert!(names[0].ends_with("-rank3.profundo"), "{names:?}");
}

#[test]
fn the_folder_can_be_named() {
    let folder = Folder::new();
    let other = folder.path().join("a/b");
    let mut command = folder.profundo(&["record", "true"]);
    let outcome = Outcome::of(command.env("PROFUNDO_DIR", &other).output().unwrap());
    outcome.succeeded();
    assert!(folder.recordings().is_empty());
    let files = fs::read_dir(&other).unwrap();
    let ours = files.filter(|entry| entry.as_ref().unwrap().path().extension().is_some());
    assert_eq!(ours.count(), 1);
}
