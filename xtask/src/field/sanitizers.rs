//! Programs that gcc and clang have built with a sanitizer: their reports and exit codes must stay.
//!
//! The source is `e2e/targets/sanitized.c`, which makes the requested mistake.

use super::entry::{Entry, without_numbers};
use super::shape::Shape;

/// The names of sanitizers, and the mistakes that they find.
const SANITIZERS: &[(&str, &str)] = &[
    ("address", "overflow"),
    ("address", "leak"),
    ("address", "thread-overflow"),
    ("leak", "leak"),
    ("thread", "race"),
    ("undefined", "undefined"),
    ("memory", "uninitialised"),
];

const MODES: &[&str] = &[
    "",
    "--memory",
    "--memory=exact",
    "--wall",
    "--engine cpu-timer",
];

/// The modes for programs that are sampled from outside, because no agent can be loaded.
const OUTSIDE_MODES: &[&str] = &["", "--memory", "--memory=exact", "--wall"];

/// The ways to start the program: words before its command line.
const STARTS: &[(&str, &str)] = &[
    ("", ""),
    ("-by-sh", "sh -c 'exec \"$@\"' - "),
    ("-by-env", "env A=1 "),
    (
        "-by-python",
        "python3 -c 'import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))' ",
    ),
];

pub fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for compiler in ["gcc", "clang"] {
        for &(sanitizer, mistake) in SANITIZERS {
            if (compiler, sanitizer) == ("gcc", "memory") {
                // gcc has no such sanitizer.
                continue;
            }
            for (suffix, start) in STARTS {
                let name = format!("sanitizer-{compiler}-{sanitizer}-{mistake}{suffix}");
                let modes = match (suffix.is_empty(), compiler) {
                    (false, _) => &[""],
                    (true, "clang") => OUTSIDE_MODES,
                    (true, _) => MODES,
                };
                let script = format!("$P {start}$HERE/sanitized {mistake}");
                let entry = Entry::new(name, script)
                    .needs(&[compiler, "python3"])
                    .prepare(build(compiler, sanitizer))
                    .modes(modes)
                    .even(comparable)
                    .shape(Shape::Hot("burn_sanitized", 5.0));
                // UBSan replaces nothing, so its programs are ordinary.
                entries.push(match sanitizer {
                    "undefined" => entry,
                    _ => entry.shape(Shape::Note("sanitizer")),
                });
            }
        }
    }
    entries.push(
        Entry::new(
            "sanitizer-preloaded-by-user",
            "LD_PRELOAD=$(gcc -print-file-name=libasan.so) $P $HERE/sanitized overflow",
        )
        .needs(&["gcc"])
        .prepare(build("gcc", "address"))
        .modes(MODES)
        .even(comparable)
        .shape(Shape::Hot("burn_sanitized", 5.0)),
    );
    for (name, outer, inner) in [
        ("sanitizer-child-of-plain", "plain", "sanitized overflow"),
        ("sanitizer-with-plain-child", "sanitized", "plain none"),
    ] {
        let prepare = format!(
            "{}\ngcc -g -O1 -pthread $ROOT/e2e/targets/sanitized.c -o plain",
            build("gcc", "address")
        );
        entries.push(
            Entry::new(name, format!("$P $HERE/{outer} none $HERE/{inner}"))
                .needs(&["gcc"])
                .prepare(prepare)
                .modes(MODES)
                .even(comparable)
                .shape(Shape::Hot("burn_sanitized", 5.0)),
        );
    }
    entries
}

/// A report without what varies between runs: numbers, and the frames that a sanitizer guesses
/// beyond the end of a stack.
fn comparable(report: &str) -> String {
    let lines = report
        .lines()
        .filter(|line| !line.contains("(<unknown module>)"));
    without_numbers(&lines.collect::<Vec<_>>().join("\n"))
}

fn build(compiler: &str, sanitizer: &str) -> String {
    format!(
        "{compiler} -g -O1 -pthread -fsanitize={sanitizer} $ROOT/e2e/targets/sanitized.c -o sanitized"
    )
}
