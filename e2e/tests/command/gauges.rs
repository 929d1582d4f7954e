//! The resident memory of programs over time, compared with known figures.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use profundo_testing::profundo;
use serde_json::Value;

use crate::program::{KilledOnDrop, Program, number};
use crate::targets::{c, pythons_for, scratch, source};

const MIB: f64 = (1 << 20) as f64;

/// The report's rows on memory, one for each process.
fn memory(file: &Path) -> Vec<Value> {
    let mut command = Command::new(profundo());
    let command = command.arg("report").arg(file).args(["memory", "--json"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["memory"].as_array().unwrap().clone()
}

fn mib(process: &Value, key: &str) -> f64 {
    process[key].as_f64().unwrap_or(f64::NAN) / MIB
}

/// Asserts that a size in MiB is the known one, and what any interpreter has besides.
#[track_caller]
fn assert_near(found: f64, known: f64, process: &Value) {
    let looks = process["looks"].as_array().map_or(0, Vec::len);
    assert!(
        found >= known && found < known + 40.0,
        "{found} MiB, not {known}: {looks} looks, {:#}",
        process["looks"][looks.saturating_sub(1)]
    );
}

#[test]
fn peaks_ends_and_shared_memory_are_those_of_the_program() {
    for python in pythons_for("grows.py") {
        let file = scratch().join(format!("grows-{}.profundo", number()));
        let program = Program::new(&python.path)
            .with(&[source("grows.py")])
            .options(&["--memory"]);
        let output = program.command(Some(&file)).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let found = memory(&file);
        let [parent, child] = &found[..] else {
            panic!("{found:#?}")
        };
        assert_near(mib(parent, "peak_bytes"), 64.0 + 128.0, parent);
        // The allocator of a free-threaded Python keeps what was freed.
        if python.has_lock() {
            assert_near(mib(parent, "end_bytes"), 64.0, parent);
        }
        assert!(mib(parent, "start_bytes") < 40.0, "{parent:#}");
        let at = parent["peak_at_seconds"].as_f64().unwrap();
        let looks = parent["looks"].as_array().unwrap();
        let times: Vec<f64> = looks
            .iter()
            .map(|look| look["at_seconds"].as_f64().unwrap())
            .collect();
        assert!(times.is_sorted());
        // The program grows for its first 0.8 seconds.
        assert!(at > 0.8 && at < times[times.len() - 1], "{at}: {times:?}");
        // The shared pages count by half in the child's proportional size.
        if python.has_lock() {
            assert_near(mib(child, "peak_bytes"), 64.0 + 32.0, child);
        }
        let share = mib(child, "most_proportional_bytes");
        let shared = mib(child, "peak_bytes") - share;
        assert!(shared > 16.0 && share > 32.0, "{share} MiB: {child:#}");
        let pages = parent["minor_faults"].as_u64().unwrap();
        assert!(pages > 0, "{parent:#}");
        let text = Command::new(profundo())
            .arg("report")
            .arg(&file)
            .args(["memory", "--width", "100"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&text.stdout).into_owned();
        assert!(
            text.starts_with("In memory  ") && text.contains("█"),
            "{text}"
        );
        fs::remove_file(file).unwrap();
    }
}

/// No look sees the peak, because it lasts for a moment before the program ends.
#[test]
fn a_late_peak_is_one_figure_everywhere() {
    let Some(target) = c("late_peak.c", &["-O1", "-fno-builtin"]) else {
        return;
    };
    let file = scratch().join(format!("late-{}.profundo", number()));
    let program = Program::new(&target).options(&["--memory"]);
    let output = program.command(Some(&file)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let found = memory(&file);
    let peak = found[0]["peak_bytes"].as_f64().unwrap();
    assert_near(peak / MIB, 80.0, &found[0]);
    let shown = format!("{:.1} MB", peak / 1e6);
    for report in [&[][..], &["memory"]] {
        let mut command = Command::new(profundo());
        let output = command.arg("report").arg(&file).args(report).output();
        let text = String::from_utf8_lossy(&output.unwrap().stdout).into_owned();
        assert!(
            text.contains(&shown),
            "{shown} is not in {report:?}: {text}"
        );
    }
    let mut command = Command::new(profundo());
    let output = command.args(["time", "--json", "--"]).arg(&target).output();
    // The program's own output goes to stdout.
    let time: Value = serde_json::from_slice(&output.unwrap().stderr).unwrap();
    let timed = time["runs"][0]["peak_resident_bytes"].as_f64().unwrap();
    // The difference is the memory of the agent, which `time` does not load.
    assert!(
        (0.0..8.0 * MIB).contains(&(peak - timed)),
        "{peak} and {timed}"
    );
    fs::remove_file(file).unwrap();
}

#[test]
fn growth_has_its_rate() {
    let Some(target) = c("grows.c", &[]) else {
        return;
    };
    let file = scratch().join(format!("grows-{}.profundo", number()));
    let program = Program::new(&target).with(&["60"]).options(&["--memory"]);
    let output = program.command(Some(&file)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let found = memory(&file);
    let growth = &found[0]["growth"];
    let rate = |end: &str| growth[format!("bytes_per_second{end}")].as_f64().unwrap();
    // On a busy machine the program sleeps for longer, so it grows more slowly.
    assert!(rate("_low") > 0.0 && rate("") > MIB, "{growth:#}");
    assert!(rate("_low") < 10.6 * MIB, "{growth:#}");
    fs::remove_file(file).unwrap();
}

/// The last known figure of this name among the looks at a process.
fn last(process: &Value, key: &str) -> f64 {
    let looks = process["looks"].as_array().unwrap();
    let known = looks.iter().rev().find_map(|look| look[key].as_f64());
    known.unwrap_or_else(|| panic!("{key} is not known: {:#}", looks[looks.len() - 1]))
}

#[test]
fn memory_in_use_and_kept_is_that_of_the_allocator() {
    let Some(target) = c("half_free.c", &["-fno-builtin"]) else {
        return;
    };
    for (option, tolerance) in [("--memory=exact", 0.05), ("--memory", 0.25)] {
        let file = scratch().join(format!("half-{}.profundo", number()));
        let program = Program::new(&target).options(&[option]);
        let output = program.command(Some(&file)).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let known: Vec<f64> = printed
            .lines()
            .next()
            .unwrap()
            .split(' ')
            .map(|number| number.parse().unwrap())
            .collect();
        let found = memory(&file);
        let process = &found[0];
        let near = |found: f64, expected: f64, what: &str| {
            let off = (found / expected - 1.0).abs();
            assert!(
                off < tolerance,
                "{option}: {what} is {found}, not {expected}: {process:#}"
            );
        };
        let most = process["most_in_use_bytes"].as_f64().unwrap();
        near(most, known[0], "the most in use");
        near(last(process, "in_use_bytes"), known[1], "in use at last");
        near(last(process, "slack_bytes"), known[2], "what is kept");
        assert_eq!(last(process, "mapped_bytes"), 0.0);
        let is_exact = process["most_in_use_bytes_low"].is_null();
        assert_eq!(is_exact, option == "--memory=exact", "{process:#}");
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn arenas_are_those_of_the_interpreter() {
    for python in pythons_for("arenas.py") {
        // A build that can run without the lock has another allocator, and no arenas.
        if python.answers("__import__('sysconfig').get_config_var('Py_GIL_DISABLED')") {
            continue;
        }
        let file = scratch().join(format!("arenas-{}.profundo", number()));
        let bare = Command::new(&python.path).arg(source("arenas.py")).output();
        let printed = String::from_utf8_lossy(&bare.unwrap().stdout).into_owned();
        let known: f64 = printed.trim().parse().unwrap();
        let program = Program::new(&python.path)
            .with(&[source("arenas.py")])
            .options(&["--memory"]);
        let output = program.command(Some(&file)).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let found = memory(&file);
        let counted = found[0]["most_arena_bytes"].as_f64().unwrap();
        // One arena more or less depends on addresses. Since 3.11 frames are made in small ones.
        let one = if known % MIB == 0.0 { MIB } else { MIB / 4.0 };
        assert!(
            (counted - known).abs() <= 1.1 * one,
            "{counted} of {known}: {:#}",
            found[0]
        );
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn memory_from_before_a_fork_is_not_called_kept() {
    for python in pythons_for("grows.py") {
        let file = scratch().join(format!("grows-{}.profundo", number()));
        let program = Program::new(&python.path)
            .with(&[source("grows.py")])
            .options(&["--memory=exact"]);
        let output = program.command(Some(&file)).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let found = memory(&file);
        let forked: Vec<bool> = found
            .iter()
            .map(|process| process["is_forked"].as_bool().unwrap())
            .collect();
        assert_eq!(forked, [false, true], "{found:#?}");
        assert!(found[1]["most_slack_bytes"].is_null(), "{:#}", found[1]);
        assert!(
            found[1]["most_in_use_bytes"].as_f64() > Some(0.0),
            "{:#}",
            found[1]
        );
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn memory_of_a_running_process_is_recorded() {
    let Some(target) = c("grows.c", &[]) else {
        return;
    };
    let mut target = Command::new(target);
    let target = target.arg("1000").stdout(Stdio::piped()).spawn();
    let mut target = KilledOnDrop(target.unwrap());
    let mut begun = String::new();
    let output = target.0.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut begun).unwrap();
    let file = scratch().join(format!("grows-{}.profundo", number()));
    let mut command = Command::new(profundo());
    let command = command
        .args(["attach", "-d", "1.5", "--memory=outside", "-o"])
        .arg(&file)
        .arg(target.0.id().to_string());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    assert!(said.contains("RSS over "), "{said}");
    assert!(said.contains("allocations are not recorded"), "{said}");
    let found = memory(&file);
    let (start, end) = (mib(&found[0], "start_bytes"), mib(&found[0], "end_bytes"));
    assert!(end > start + 1.0, "{found:#?}");
    fs::remove_file(file).unwrap();
}
