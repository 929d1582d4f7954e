//! Whose code it is: what `--mine` says, in reports and in the recording.

use profundo_formats::{read_file, write_file};
use profundo_testing::python;

use crate::machine::{Folder, SPIN_PY};
use crate::options::profile;

/// A folder of a library, in which 60 of 110 ms are spent.
const LIBRARY: &str = "/usr/lib/python3.12/json";

/// A folder with `app.py` and a recording of it.
fn made() -> Folder {
    let folder = Folder::new();
    let source: String = (1..=60).map(|line| format!("line_{line}()\n")).collect();
    let app = folder.file("app.py", &source);
    write_file(folder.path().join("made.profundo"), &profile(&app)).unwrap();
    folder
}

/// The output of `report lines`, without its quality.
fn lines(folder: &Folder, options: &[&str]) -> String {
    let mut words = vec!["report", "made.profundo", "lines", "--no-quality"];
    words.extend(options);
    folder.run(&words).succeeded().out.clone()
}

#[test]
fn a_library_can_be_ones_own() {
    let folder = made();
    let plain = lines(&folder, &[]);
    assert!(!plain.contains("decoder.py"), "{plain}");
    let mine = lines(&folder, &["--mine", LIBRARY]);
    assert!(mine.contains("decoder.py"), "{mine}");
    // What leads into a folder of libraries says so.
    assert_eq!(lines(&folder, &["--mine=/usr/**"]), plain);
    assert_eq!(lines(&folder, &["--mine=**/json"]), mine);
    // What fits nothing is a slip.
    let slip = folder.run(&["report", "made.profundo", "lines", "--mine", "json"]);
    assert!(slip.err.contains("`--mine json` fits no file"), "{slip:#?}");
    // The last one decides.
    let not_mine = ["--mine", LIBRARY, "--mine", "!**/decoder.py"];
    assert_eq!(lines(&folder, &not_mine), plain);
}

#[test]
fn a_file_of_the_project_can_be_a_librarys() {
    let folder = made();
    let collapsed = |options: &[&str]| {
        let mut words = vec!["export", "made.profundo", "--to", "collapsed", "-o", "-"];
        words.push("--only-mine");
        words.extend(options);
        folder.run(&words).succeeded().out.clone()
    };
    assert!(collapsed(&[]).contains("render (app.py) 35") || collapsed(&[]).contains("app.py"));
    // From the current folder.
    assert!(!collapsed(&["--mine", "!app.py"]).contains("app.py"));
    assert!(!collapsed(&["--mine=!./*.py"]).contains("app.py"));
    assert!(collapsed(&["--mine", "!src"]).contains("app.py"));
    folder
        .run(&["report", "made.profundo", "--mine", ""])
        .refused_with_usage("a pattern is a path");
}

#[test]
fn a_recording_keeps_what_was_said() {
    let folder = Folder::new();
    let Some(python) = python() else {
        return;
    };
    folder.file("spin.py", SPIN_PY);
    let python = python.to_str().unwrap();
    let options = ["record", "-o", "a.profundo", "--mine", "!spin.py", "--mine"];
    let words = ["**/json", "--", python, "spin.py", "0.2"];
    let outcome = folder.run(&[&options[..], &words].concat());
    outcome.succeeded();
    let (profile, _) = read_file(folder.path().join("a.profundo")).unwrap();
    let here = folder.path().canonicalize().unwrap();
    let expected = [format!("!{}/./spin.py", here.display()), "**/json".into()];
    assert_eq!(profile.meta.mine, expected);
    let report = |options: &[&str]| {
        let words = ["report", "a.profundo", "functions", "--only-mine"];
        let outcome = folder.run(&[&words[..], options].concat());
        outcome.out.contains("hot")
    };
    assert!(!report(&[]));
    // What is said later decides.
    assert!(report(&["--mine", "spin.py"]));
}

#[test]
fn lines_of_ones_own_code_are_counted() {
    let folder = Folder::new();
    let Some(python) = python() else {
        return;
    };
    folder.file("app.py", "import sys\nsys.path.insert(0, 'v/site-packages')\nimport ours\nfor _ in range(3):\n    ours.work()\n");
    std::fs::create_dir_all(folder.path().join("v/site-packages")).unwrap();
    folder.file("v/site-packages/ours.py", "def work():\n    return 5\n");
    let counted = |options: &[&str]| {
        let words = ["trace", "--lines", "-o", "a.profundo", "--force"];
        let program = ["--", python.to_str().unwrap(), "app.py"];
        let outcome = folder.run(&[&words[..], options, &program].concat());
        outcome.succeeded();
        let (profile, _) = read_file(folder.path().join("a.profundo")).unwrap();
        let lines = profile.traced.lines.iter();
        let files = lines.map(|line| profile.frames.get(line.frame).file);
        let files = files.map(|file| profile.strings.get(profile.files.get(file).path));
        let names = files.map(|path| path.rsplit('/').next().unwrap_or(path).to_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names.dedup();
        names
    };
    assert_eq!(counted(&[]), ["app.py"]);
    let both = ["app.py", "ours.py"];
    assert_eq!(counted(&["--mine", "v/site-packages/ours.py"]), both);
    assert_eq!(counted(&["--mine", "."]), ["app.py"]);
    let other = ["--mine", "!app.py", "--mine", "**/site-packages/*.py"];
    assert_eq!(counted(&other), ["ours.py"]);
}
