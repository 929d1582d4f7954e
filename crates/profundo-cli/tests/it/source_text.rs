//! The text of source lines is the one that ran, whatever became of the files.

use std::fs;

use crate::machine::{Folder, python, skip};
use crate::refused::{Running, with_own_mounts};

/// A hot line, then what the program does, then time again. The file is too long to be kept whole.
fn program(what: &str) -> String {
    let filler: String = (0..60).map(|row| format!("# filler {row}\n")).collect();
    format!(
        "import sys, time\n\
         def hot(until):\n\
         \x20   while time.process_time() < until:\n\
         \x20       total = sum(range(300))  # old\n\
         \n\
         def far_away():\n\
         \x20   return 'far away'\n\
         {filler}\
         hot(0.5)\n\
         {what}\n\
         hot(1.0)\n"
    )
}

fn record(folder: &Folder, words: &[&str]) {
    let mut all = vec!["record", "-o", "x.profundo"];
    all.extend(words);
    folder.said(&all).succeeded();
}

fn shown(folder: &Folder, options: &[&str]) -> String {
    let mut all = vec!["report", "x.profundo", "lines", "--file", "app.py"];
    all.extend(options);
    folder.said(&all).out
}

const CHANGED: &str = "has changed since it ran";

#[test]
fn a_file_that_was_touched_has_its_text_and_one_that_was_edited_does_not() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let path = folder.file("app.py", &program("pass"));
    record(&folder, &[python.to_str().unwrap(), "app.py"]);
    let text = fs::read(&path).unwrap();
    // Far from the hot lines, so that the recording does not have it.
    let wide = ["--context", "9"];
    assert!(shown(&folder, &wide).contains("'far away'"));
    fs::write(&path, &text).unwrap();
    let touched = shown(&folder, &wide);
    assert!(touched.contains("'far away'"), "{touched}");
    assert!(!touched.contains("changed"), "{touched}");
    // Of the same length.
    let edited = String::from_utf8(text).unwrap().replace("far", "FAR");
    fs::write(&path, edited).unwrap();
    let edited = shown(&folder, &wide);
    assert!(edited.contains("# old"), "{edited}");
    assert!(edited.contains(CHANGED), "{edited}");
    assert!(!edited.contains("away'"), "{edited}");
    let summary = folder.said(&["report", "x.profundo"]).out;
    assert!(summary.contains(CHANGED), "{summary}");
    let words = ["report", "x.profundo", "lines", "--json"];
    let json: serde_json::Value = serde_json::from_str(&folder.said(&words).out).unwrap();
    let files = json["files"].as_array().unwrap();
    let file = files.iter().find(|file| {
        file["file"]
            .as_str()
            .is_some_and(|it| it.ends_with("app.py"))
    });
    assert_eq!(file.unwrap()["source"], "changed");
}

#[test]
fn a_file_that_is_edited_while_it_runs_has_the_text_that_ran() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let edit = "text = open(__file__).read()\n\
                open(__file__, 'w').write(text.replace('# ' 'old', '# new'))";
    folder.file("app.py", &program(edit));
    record(&folder, &[python.to_str().unwrap(), "app.py"]);
    let shown = shown(&folder, &[]);
    assert!(shown.contains("# old"), "{shown}");
    assert!(!shown.contains("# new"), "{shown}");
    assert!(shown.contains(CHANGED), "{shown}");
}

#[test]
fn a_file_that_was_edited_before_attach_has_no_text() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let path = folder.file("app.py", &program("hot(60)").replace("0.5", "60"));
    let running = Running::of(&python, &[&path]);
    let is_up = || {
        let said = folder.said(&["peek", &running.pid()]);
        said.out.contains("hot")
    };
    let began = std::time::Instant::now();
    while !is_up() {
        assert!(began.elapsed().as_secs() < 60);
    }
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("# old", "# new")).unwrap();
    let words = ["attach", "-d", "1", "-o", "x.profundo", &running.pid()];
    let said = folder.said(&words);
    if said.code != Some(0) && said.err.contains("permi") {
        return skip("attaching is not permitted");
    }
    said.succeeded();
    let shown = shown(&folder, &[]);
    assert!(!shown.contains("# new"), "{shown}");
    assert!(shown.contains("written while the program ran"), "{shown}");
}

#[test]
fn a_file_that_another_program_wrote_before_has_its_text() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    folder.file("template", &program("pass"));
    let script = format!("cat template > app.py; {} app.py; exit 0", python.display());
    record(&folder, &["sh", "-c", &script]);
    let shown = shown(&folder, &[]);
    assert!(shown.contains("# old"), "{shown}");
}

#[test]
fn a_program_with_mounts_of_its_own_has_the_text_of_its_own_files() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    if with_own_mounts(&folder, "true").is_none() {
        return;
    }
    let text = program("pass");
    let path = folder.file("app.py", &text.replace("# old", "# new"));
    folder.file("inner.py", &text);
    let mount = format!(
        "mount --bind inner.py app.py; {} {}",
        python.display(),
        path.display()
    );
    let unshare = [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-ec",
        &mount,
    ];
    record(&folder, &unshare);
    let shown = shown(&folder, &[]);
    assert!(shown.contains("# old"), "{shown}");
    assert!(!shown.contains("# new"), "{shown}");
}

#[test]
fn without_source_nothing_of_it_is_kept() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let path = folder.file("app.py", &program("pass"));
    record(
        &folder,
        &["--no-source", python.to_str().unwrap(), "app.py"],
    );
    let recording = folder.path().join("x.profundo");
    let (profile, _) = profundo_formats::read_file(&recording).unwrap();
    assert!(profile.sources.is_empty() && profile.source_files.is_empty());
    // The text is the disk's, as long as the file has not been written again.
    assert!(shown(&folder, &[]).contains("# old"));
    fs::write(&path, program("pass")).unwrap();
    let touched = shown(&folder, &[]);
    assert!(!touched.contains("# old"), "{touched}");
}
