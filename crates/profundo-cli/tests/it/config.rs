//! Settings in files: what they change, what decides, and what is refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use profundo_formats::write_file;
use profundo_testing::python;

use crate::doctor::about;
use crate::machine::{Folder, Outcome};
use crate::options::profile;

/// A project with a recording in it.
fn project(settings: &str) -> Folder {
    let folder = Folder::new();
    let source: String = (1..=60).map(|line| format!("line_{line}()\n")).collect();
    let app = folder.file("app.py", &source);
    write_file(folder.path().join("made.profundo"), &profile(&app)).unwrap();
    write(&folder, ".profundo/config.toml", settings);
    folder
}

fn write(folder: &Folder, name: &str, text: &str) {
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The command, with settings of the test's own.
fn profundo(folder: &Folder, words: &[&str]) -> Command {
    let mut command = folder.profundo(words);
    command.env("XDG_CONFIG_HOME", folder.path().join("own"));
    command.env_remove("PROFUNDO_NO_CONFIG");
    command
}

fn says(folder: &Folder, words: &[&str]) -> Outcome {
    Outcome::of(profundo(folder, words).output().unwrap())
}

fn report(folder: &Folder, options: &[&str]) -> Outcome {
    says(folder, &[&["report", "made.profundo"], options].concat())
}

/// The number of functions in `report functions`.
fn rows(folder: &Folder, options: &[&str]) -> usize {
    let outcome = report(folder, &[&["functions", "--no-quality"], options].concat());
    let out = &outcome.succeeded().out;
    ["main", "parse", "render", "loads"]
        .into_iter()
        .filter(|name| out.lines().any(|line| line.contains(&format!("{name} "))))
        .count()
}

#[test]
fn an_option_can_have_a_default() {
    let folder = project("[report]\nlimit = 1\n");
    assert_eq!(rows(&folder, &[]), 1);
    // What is typed decides.
    assert_eq!(rows(&folder, &["--limit", "3"]), 3);
    assert_eq!(rows(&folder, &["--no-config"]), 4);
    let mut command = profundo(&folder, &["report", "made.profundo", "functions"]);
    let off = Outcome::of(command.env("PROFUNDO_NO_CONFIG", "1").output().unwrap());
    let on = report(&folder, &["functions", "--no-config"]);
    assert_eq!(off.out, on.out);
    // A report that has no such option goes on as ever.
    let tree = report(&folder, &["tree"]);
    assert_eq!(tree.succeeded().err, "");
    assert_eq!(tree.out, report(&folder, &["tree", "--no-config"]).out);
    // From anywhere in the project.
    fs::create_dir(folder.path().join("deep")).unwrap();
    let mut command = profundo(&folder, &["report", "../made.profundo", "functions"]);
    let deep = command.current_dir(folder.path().join("deep")).output();
    let here = report(&folder, &["functions"]);
    assert_eq!(Outcome::of(deep.unwrap()).out, here.out);
}

#[test]
fn the_nearer_to_the_command_line_decides() {
    let folder = project("");
    let limits = [
        ("own/profundo/config.toml", "limit = 1\n"),
        ("Cargo.toml", "[workspace.metadata.profundo]\nlimit = 2\n"),
        ("pyproject.toml", "[tool.profundo.report]\nlimit = 3\n"),
        (".profundo/config.toml", "limit = 4\n"),
    ];
    for (at, (name, text)) in limits.into_iter().enumerate() {
        write(&folder, name, text);
        assert_eq!(rows(&folder, &[]), at + 1, "{name}");
    }
}

#[test]
fn own_code_is_a_setting() {
    let folder = project("[mine]\ninclude = [\"/usr/lib/python3.12/json\"]\n");
    let lines = |options: &[&str]| {
        let outcome = report(&folder, &[&["lines", "--no-quality"], options].concat());
        outcome.succeeded().out.clone()
    };
    assert!(lines(&[]).contains("decoder.py"));
    assert!(!lines(&["--no-config"]).contains("decoder.py"));
    assert!(!lines(&["--mine", "!/usr/lib/**"]).contains("decoder.py"));
    write(
        &folder,
        ".profundo/config.toml",
        "[mine]\nexclude = [\"app.py\"]\n[export]\nto = \"collapsed\"\nonly-mine = true\n",
    );
    // A setting can be what has to be said.
    let outcome = says(&folder, &["export", "made.profundo", "-o", "-"]);
    assert!(!outcome.succeeded().out.contains("app.py"), "{outcome:#?}");
    let outcome = says(
        &folder,
        &["export", "made.profundo", "-o", "-", "--no-config"],
    );
    outcome.refused_with_usage("--to");
    let outcome = says(&folder, &["doctor"]);
    let settings = about(&outcome, "settings");
    assert!(settings.contains("export --to collapsed"), "{outcome:#?}");
    assert!(
        outcome
            .out
            .contains("app.py (a rule of .profundo/config.toml)"),
        "{outcome:#?}"
    );
}

#[test]
fn a_project_names_no_place_to_write_to() {
    let folder = project("[report]\nreport-to = \"stolen\"\n");
    let outcome = report(&folder, &[]);
    outcome.refused(2, "line 2: a project cannot set `report-to`");
    assert!(!Path::new(&folder.path().join("stolen")).exists());
    report(&folder, &["--no-config"]).succeeded();
    // `doctor` reports it, and other commands go on.
    let outcome = says(&folder, &["doctor"]);
    let settings = about(&outcome, "settings");
    assert!(settings.contains("cannot set `report-to`"), "{outcome:#?}");
    // The user may.
    write(&folder, ".profundo/config.toml", "");
    write(
        &folder,
        "own/profundo/config.toml",
        "[report]\nreport-to = \"mine.txt\"\n",
    );
    assert_eq!(report(&folder, &[]).succeeded().out, "");
    assert!(folder.path().join("mine.txt").exists());
}

#[test]
fn a_slip_is_reported_with_its_place() {
    for (settings, part) in [
        (
            "[report]\nlimti = 1\n",
            "line 2: `limti` is no option of `report` that can be set; is it `limit`?",
        ),
        (
            "[report]\nlimit = \"many\"\n",
            "line 2: invalid value 'many' for '--limit <COUNT>'",
        ),
        ("limit = \n", "line 1: it is no TOML"),
    ] {
        let folder = project(settings);
        report(&folder, &[]).refused(2, part);
        let outcome = says(&folder, &["doctor", "--width", "300"]);
        assert!(outcome.out.contains(part), "{outcome:#?}");
    }
}

#[test]
fn a_setting_does_not_hinder_a_report_on_counted_lines() {
    let folder = project("[report]\ncontext = 1\nsort = \"time\"\n");
    let Some(python) = python() else {
        return;
    };
    let words = ["trace", "--lines", "-o", "a.profundo", "--"];
    let program = [python.to_str().unwrap(), "-c", "print(5)"];
    says(&folder, &[&words[..], &program].concat()).succeeded();
    says(&folder, &["report", "a.profundo", "lines"]).succeeded();
    let typed = says(
        &folder,
        &["report", "a.profundo", "lines", "--context", "1"],
    );
    typed.refused(2, "`--context` is about samples");
}

#[test]
fn what_all_users_may_write_is_passed_over() {
    let folder = project("[report]\nlimit = 1\n");
    let path = folder.path().join(".profundo/config.toml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(rows(&folder, &[]), 4);
    let outcome = says(&folder, &["doctor"]);
    let settings = about(&outcome, "settings");
    assert!(
        settings.contains("everybody may write to it"),
        "{outcome:#?}"
    );
}
