//! The text of source lines is the one that ran, whatever became of the files.

use std::fs;
use std::process::Command;
use std::time::Duration;

use profundo_testing::{python, skip};

use crate::machine::{Folder, SPIN_PY};
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
    folder.run(&all).succeeded();
}

fn shown(folder: &Folder, options: &[&str]) -> String {
    let mut all = vec!["report", "x.profundo", "lines", "--file", "app.py"];
    all.extend(options);
    folder.run(&all).out
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
    let summary = folder.run(&["report", "x.profundo"]).out;
    assert!(summary.contains(CHANGED), "{summary}");
    let words = ["report", "x.profundo", "lines", "--json"];
    let json: serde_json::Value = serde_json::from_str(&folder.run(&words).out).unwrap();
    let files = json["files"].as_array().unwrap();
    let file = files.iter().find(|file| {
        file["file"]
            .as_str()
            .is_some_and(|path| path.ends_with("app.py"))
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
        let outcome = folder.run(&["peek", &running.pid()]);
        outcome.out.contains("hot")
    };
    let began = std::time::Instant::now();
    while !is_up() {
        assert!(began.elapsed().as_secs() < 60);
    }
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("# old", "# new")).unwrap();
    let words = ["attach", "-d", "1", "-o", "x.profundo", &running.pid()];
    let outcome = folder.run(&words);
    if outcome.code != Some(0) && outcome.err.contains("permi") {
        return skip("attaching is not permitted");
    }
    outcome.succeeded();
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

#[test]
fn source_lines_are_kept_unless_they_are_not_wanted() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let python = python.to_str().unwrap();
    for (options, kept) in [(&[][..], true), (&["--no-source"], false)] {
        let script = folder.file("spin.py", SPIN_PY);
        // A file that changed just as the recording began is doubtful: there is nothing to wait for
        // but time.
        std::thread::sleep(Duration::from_millis(20));
        let words: Vec<&str> = ["record", "-o", "x.profundo"]
            .iter()
            .chain(options)
            .chain(&[python, "spin.py"])
            .copied()
            .collect();
        folder.run(&words).succeeded();
        fs::remove_file(script).unwrap();
        let lines = folder.run(&["report", "x.profundo", "lines"]).out;
        assert_eq!(lines.contains("total += i * i"), kept, "{lines}");
    }
}

#[test]
fn the_program_of_an_option_has_its_text() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let python = python.to_str().unwrap();
    let program = "def hot():
    total = 0
    for i in range(3000000):
        total += i * i
hot()
";
    // The text that `exec` runs has the same file and the same functions, and is another one.
    let other = "\n".repeat(10) + program;
    let text = format!("{program}{}exec({other:?})\n", "x = 1\n".repeat(20));
    let words = ["record", "-o", "x.profundo", python, "-u", "-c", &text];
    folder.run(&words).succeeded();
    let lines = folder.run(&["report", "x.profundo", "--json"]).out;
    let lines: serde_json::Value = serde_json::from_str(&lines).unwrap();
    let lines = lines["lines"].as_array().unwrap();
    let hot = |line: &&serde_json::Value| line["file"] == "<string>" && line["function"] == "hot";
    let (mut given, mut other) = (0, 0);
    for line in lines.iter().filter(hot) {
        let number = line["line"].as_u64().unwrap() as usize;
        // `hot` of the option ends on line 4, that of `exec` begins on line 11.
        if number > 4 {
            other += 1;
            assert!(line["text"].is_null(), "{line}");
        } else {
            given += 1;
            assert_eq!(
                line["text"].as_str(),
                text.lines().nth(number - 1),
                "{line}"
            );
        }
    }
    assert!(given > 0 && other > 0, "{lines:#?}");
}

#[test]
fn a_module_in_a_zip_file_has_its_text() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let python = python.to_str().unwrap();
    folder.file("spinning.py", SPIN_PY);
    folder.file(
        "pack.py",
        "import sys, zipfile
with open('app.pyz', 'wb') as out:
    out.write(b'#!/usr/bin/env python3\\n')
with zipfile.ZipFile('app.pyz', 'a', int(sys.argv[1])) as archive:
    archive.writestr('__main__.py', 'import package.spinning')
    archive.writestr('package/__init__.py', '')
    archive.write('spinning.py', 'package/spinning.py')
",
    );
    for method in ["0", "8"] {
        let packed = Command::new(python)
            .args(["pack.py", method])
            .current_dir(folder.path())
            .status();
        assert!(packed.unwrap().success());
        // A file that changed just as the recording began is doubtful: there is nothing to wait for
        // but time.
        std::thread::sleep(Duration::from_millis(20));
        let words = ["record", "-o", "x.profundo", python, "app.pyz"];
        folder.run(&words).succeeded();
        let lines = folder.run(&["report", "x.profundo", "lines"]).out;
        assert!(lines.contains("total += i * i"), "{lines}");
        let _ = fs::remove_file(folder.path().join("x.profundo"));
    }
}

/// Runs texts as IPython and its kernel run cells: each is a file that only `linecache` knows.
const CELLS_PY: &str = r#"
import linecache, time
In = ['']
def run(text, name):
    In.append(text)
    lines = [line + '\n' for line in text.splitlines()]
    linecache.cache[name] = (len(text), None, lines, name)
    exec(compile(text, name, 'exec'), globals())
run('x = 1', '/tmp/ipykernel_7/1.py')
run("""def hot(until):
    while time.process_time() < until:
        total = 0
        for i in range(2000):
            total += i * i  # ἕν, in the kernel's cell
""", '/tmp/ipykernel_7/22.py')
In.append('3')
run("""def warm(until):
    while time.process_time() < until:
        total = 0
        for i in range(2000):
            total += i * i  # in the cell of IPython
""", '<ipython-input-4-0123456789ab>')
run('hot(0.4); warm(0.8)', '/tmp/ipykernel_7/5.py')
# A name that is in no cache has no text.
exec(compile("""def bare(until):
    while time.process_time() < until:
        total = 0
        for i in range(2000):
            total += i * i
""", '/tmp/ipykernel_7/66.py', 'exec'))
bare(1.0)
"#;

#[test]
fn cells_of_a_notebook_have_their_text_and_their_number() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    folder.file("cells.py", CELLS_PY);
    let python = python.to_str().unwrap();
    let words = ["record", "-o", "x.profundo", python, "cells.py"];
    folder.run(&words).succeeded();
    let lines = folder.run(&["report", "x.profundo", "--json"]).out;
    let document: serde_json::Value = serde_json::from_str(&lines).unwrap();
    // Rows have the file that the code names, and the document says which cell that is.
    let cells = document["recording"]["cells"].as_array().unwrap();
    let hot = serde_json::json!({"file": "/tmp/ipykernel_7/22.py", "name": "In [2]"});
    assert!(cells.contains(&hot), "{cells:?}");
    let is_bare = |cell: &serde_json::Value| cell["file"] == "/tmp/ipykernel_7/66.py";
    assert!(!cells.iter().any(is_bare), "{cells:?}");
    let lines = document["lines"].as_array().unwrap();
    let text_of = |function: &str| {
        let mut rows = lines
            .iter()
            .filter(|line| line["function"] == function && line["line"] == 5);
        let row = rows.next().unwrap_or_else(|| panic!("{lines:#?}"));
        row["text"].as_str().map(|text| text.trim().to_owned())
    };
    let hot = "total += i * i  # ἕν, in the kernel's cell";
    assert_eq!(text_of("hot").as_deref(), Some(hot));
    let warm = "total += i * i  # in the cell of IPython";
    assert_eq!(text_of("warm").as_deref(), Some(warm));
    assert_eq!(text_of("bare"), None);
    let shown = folder.run(&["report", "x.profundo", "lines"]).out;
    for place in ["In [2]  ", "In [4]  ", "66.py  "] {
        assert!(shown.contains(place), "{place} in {shown}");
    }
    // The line is cut to the width of the page.
    let begins = "total += i * i  # ἕν";
    assert!(
        shown.contains(begins) && !shown.contains("22.py"),
        "{shown}"
    );
    // Without source nothing of it is kept.
    let words = [
        "record",
        "--no-source",
        "-o",
        "y.profundo",
        python,
        "cells.py",
    ];
    folder.run(&words).succeeded();
    let shown = folder.run(&["report", "y.profundo", "lines"]).out;
    assert!(
        shown.contains("In [2]  ") && !shown.contains(begins),
        "{shown}"
    );
}
