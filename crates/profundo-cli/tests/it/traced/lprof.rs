//! `python -m line_profiler`, of the oldest and the newest version that runs here.

use std::process::Command;

use profundo_testing::skip;

use super::tools::{printed, python_with};
use super::{exported, saved};

#[test]
fn line_profiler_prints_the_table_that_we_print() {
    let (folder, _) = saved();
    let file = exported(&folder, "lprof");
    let ours = folder.run(&["report", "app.profundo", "lines"]);
    ours.succeeded();
    // What has no source is said in other words.
    let cut = |text: &str| {
        let functions = text
            .split("Total time: ")
            .filter(|function| !function.contains("gone.py"));
        functions.collect::<Vec<_>>().join("Total time: ")
    };
    for version in ["4.0.3", "5.1.0"] {
        let package = format!("line_profiler=={version}");
        let python = match python_with(&format!("lprof-{version}"), &[&package]) {
            Ok(python) => python,
            Err(why) => {
                skip(&why);
                continue;
            }
        };
        let mut command = Command::new(&python);
        command
            .env("PYTHONIOENCODING", "utf-8")
            .env_remove("LINE_PROFILER_RC");
        let theirs = printed(command.args(["-m", "line_profiler"]).arg(&file));
        assert!(
            theirs.contains("Could not find file /nowhere/gone.py"),
            "{theirs}"
        );
        assert_eq!(cut(&ours.out), cut(&theirs), "{version}");
    }
    assert_eq!(ours.out.matches("Total time: ").count(), 4, "{}", ours.out);
}

/// The format of version 3, which is still written: a class by name, and two members.
#[test]
fn the_file_is_one_that_any_version_loads() {
    let (folder, _) = saved();
    let file = exported(&folder, "lprof");
    let Some(python) = profundo_testing::python() else {
        return;
    };
    let script = "import pickle, sys, types\n\
        class LineStats: pass\n\
        whole, part = types.ModuleType('line_profiler'), types.ModuleType('line_profiler._line_profiler')\n\
        part.LineStats = LineStats\n\
        sys.modules.update({'line_profiler': whole, 'line_profiler._line_profiler': part})\n\
        it = pickle.load(open(sys.argv[1], 'rb'))\n\
        assert type(it) is LineStats and it.unit == 1e-9 and set(vars(it)) == {'unit', 'timings'}\n\
        by = {name: rows for (_, _, name), rows in it.timings.items()}\n\
        assert by['method'] == [(16, 3, 50), (17, 12345678901, 49)], by\n\
        assert by['gone'] == [(5, 2, 77)], by\n\
        assert ('/nowhere/gone.py', 3, 'gone') in it.timings\n";
    printed(Command::new(python).args(["-c", script]).arg(&file));
}
