//! Programs that gcc and clang have built with a sanitizer: their reports and exit codes must stay.
//!
//! The source is `e2e/targets/sanitized.c`, which makes the mistake that it is told to.

use super::entry::{Entry, without_numbers};
use super::shape::Shape;

/// What a sanitizer is called, and the mistake that it finds.
const SANITIZERS: &[(&str, &str)] = &[
    ("address", "overflow"),
    ("address", "leak"),
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

/// How the program is started: what stands before it.
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
                // gcc has none.
                continue;
            }
            for (suffix, start) in STARTS {
                let name = format!("sanitizer-{compiler}-{sanitizer}-{mistake}{suffix}");
                let modes = if suffix.is_empty() { MODES } else { &[""] };
                let script = format!("$P {start}$HERE/sanitized {mistake}");
                entries.push(
                    Entry::new(name, script)
                        .needs(&[compiler, "python3"])
                        .prepare(build(compiler, sanitizer))
                        .modes(modes)
                        .even(without_numbers)
                        .shape(Shape::Hot("burn_sanitized", 20.0))
                        .shape(Shape::Without("profundo_agent"))
                        .shape(Shape::Note("sanitizer")),
                );
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
        .even(without_numbers)
        .shape(Shape::Hot("burn_sanitized", 20.0)),
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
                .even(without_numbers)
                .shape(Shape::Hot("burn_sanitized", 20.0)),
        );
    }
    entries
}

fn build(compiler: &str, sanitizer: &str) -> String {
    format!(
        "{compiler} -g -O1 -pthread -fsanitize={sanitizer} $ROOT/e2e/targets/sanitized.c -o sanitized"
    )
}
