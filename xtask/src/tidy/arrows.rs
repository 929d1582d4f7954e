//! The allowed dependencies between our crates. An arrow that is not in the table fails the check;
//! adding one is a decision with its own commit.

use std::path::Path;

use super::Finding;
use crate::metadata::Package;
use crate::tree::{self, Text};

/// A crate of the workspace.
struct Row {
    name: &'static str,
    /// The crate's one idea.
    idea: &'static str,
    /// Our crates that it may depend on.
    may_use: &'static [&'static str],
}

/// Every crate of the workspace. ARCHITECTURE.md has the same table, which is compared with this
/// one.
const ARROWS: &[Row] = &[
    Row {
        name: "profundo-wire",
        idea: "the record words, and a recording as plain data",
        may_use: &[],
    },
    Row {
        name: "profundo-unwind",
        idea: "`.eh_frame` compiled to rows; a pure walk over registers, rows and a memory reader",
        may_use: &[],
    },
    Row {
        name: "profundo-cpython",
        idea: "CPython's versions and layouts; its frames, code objects and line tables, read from its memory",
        may_use: &[],
    },
    Row {
        name: "profundo-model",
        idea: "the profile as tables with typed ids; a heap as objects and references",
        may_use: &[],
    },
    Row {
        name: "profundo-jit",
        idea: "what JITs publish about their code: perf maps, jitdump, the GDB interface",
        may_use: &[],
    },
    Row {
        name: "profundo-probe",
        idea: "everything that runs in a signal handler or inside an allocator",
        may_use: &["profundo-wire", "profundo-unwind", "profundo-cpython"],
    },
    Row {
        name: "profundo-scan",
        idea: "memory that is searched for pointers: blocks by address, mappings, another process's memory",
        may_use: &["profundo-probe"],
    },
    Row {
        name: "profundo-linux",
        idea: "the kernel's interfaces: perf events, `/proc`, clocks, shared memory, energy",
        may_use: &[
            "profundo-wire",
            "profundo-probe",
            "profundo-unwind",
            "profundo-scan",
        ],
    },
    Row {
        name: "profundo-capture",
        idea: "a session of the library: engines, threads, modules, buffer, tasks, spans",
        may_use: &[
            "profundo-wire",
            "profundo-probe",
            "profundo-unwind",
            "profundo-scan",
            "profundo-linux",
        ],
    },
    Row {
        name: "profundo-session",
        idea: "the directory that the recorder shares with programs: rings, counts, what is left of it",
        may_use: &[
            "profundo-wire",
            "profundo-probe",
            "profundo-scan",
            "profundo-linux",
        ],
    },
    Row {
        name: "profundo-process",
        idea: "another process, read from outside: its modules, threads, stacks, interpreter",
        may_use: &[
            "profundo-wire",
            "profundo-probe",
            "profundo-unwind",
            "profundo-cpython",
            "profundo-jit",
            "profundo-scan",
            "profundo-linux",
            "profundo-session",
        ],
    },
    Row {
        name: "profundo-permits",
        idea: "what the machine permits, and the sentences for what it does not",
        may_use: &[
            "profundo-cpython",
            "profundo-linux",
            "profundo-session",
            "profundo-process",
        ],
    },
    Row {
        name: "profundo-inject",
        idea: "code run inside a process that runs already, or in a copy of it",
        may_use: &[
            "profundo-wire",
            "profundo-probe",
            "profundo-unwind",
            "profundo-cpython",
            "profundo-scan",
            "profundo-linux",
            "profundo-session",
            "profundo-process",
            "profundo-permits",
        ],
    },
    Row {
        name: "profundo-usage",
        idea: "what a program takes of the machine: CPU time, memory, page faults, bytes",
        may_use: &["profundo-linux", "profundo-permits"],
    },
    Row {
        name: "profundo-recorder",
        idea: "the recorder beside the programs: processes, engines, and a part for each feature",
        may_use: &[
            "profundo-wire",
            "profundo-probe",
            "profundo-unwind",
            "profundo-cpython",
            "profundo-jit",
            "profundo-scan",
            "profundo-linux",
            "profundo-session",
            "profundo-process",
            "profundo-permits",
            "profundo-inject",
        ],
    },
    Row {
        name: "profundo-agent",
        idea: "what is loaded into a program: start, fork, exec, threads, signals, allocations, calls",
        may_use: &[
            "profundo-wire",
            "profundo-probe",
            "profundo-unwind",
            "profundo-cpython",
        ],
    },
    Row {
        name: "profundo-ingest",
        idea: "recording to profile; native and Python stacks merged into one",
        may_use: &[
            "profundo-wire",
            "profundo-model",
            "profundo-cpython",
            "profundo-scan",
        ],
    },
    Row {
        name: "profundo-symbols",
        idea: "address to function, file, line and inlined frames; compilers' coverage counters",
        may_use: &["profundo-cpython", "profundo-model"],
    },
    Row {
        name: "profundo-debuginfod",
        idea: "debug information from the servers of distributions, by build id",
        may_use: &["profundo-symbols"],
    },
    Row {
        name: "profundo-disassembly",
        idea: "machine code to instructions, with the targets of jumps and calls",
        may_use: &[],
    },
    Row {
        name: "profundo-analysis",
        idea: "pure questions: trees, shares, callers, groups, intervals, dominators, benchmarks",
        may_use: &["profundo-model"],
    },
    Row {
        name: "profundo-report",
        idea: "text and JSON",
        may_use: &["profundo-model", "profundo-analysis"],
    },
    Row {
        name: "profundo-formats",
        idea: "the saved `.profundo` file; exports for other tools; heap snapshots",
        may_use: &["profundo-model", "profundo-analysis"],
    },
    Row {
        name: "profundo-import",
        idea: "the profiles of other tools, read into a profile",
        may_use: &["profundo-unwind", "profundo-model", "profundo-jit"],
    },
    Row {
        name: "profundo-tables",
        idea: "the tables of a report as CSV, JSON lines and Parquet",
        may_use: &[],
    },
    Row {
        name: "profundo-store",
        idea: "the profiles of a fleet as Parquet: segments written whole or not at all, scanned by service and time",
        may_use: &["profundo-model", "profundo-analysis"],
    },
    Row {
        name: "profundo-symbol-store",
        idea: "the symbols of programs beside the profiles of a fleet, by build id",
        may_use: &["profundo-model", "profundo-symbols", "profundo-store"],
    },
    Row {
        name: "profundo-push",
        idea: "profiles sent to collectors, to Pyroscope, and to stores",
        may_use: &[
            "profundo-model",
            "profundo-formats",
            "profundo-import",
            "profundo-store",
        ],
    },
    Row {
        name: "profundo-pushed",
        idea: "the profiles that other profilers push, decoded into rows of a store",
        may_use: &["profundo-model", "profundo-import", "profundo-store"],
    },
    Row {
        name: "profundo-receive",
        idea: "a server that takes the profiles of other profilers into a store",
        may_use: &["profundo-store", "profundo-pushed"],
    },
    Row {
        name: "profundo",
        idea: "the library's face: macros, settings, data, tasks, peek, the recording allocator",
        may_use: &[
            "profundo-scan",
            "profundo-capture",
            "profundo-ingest",
            "profundo-symbols",
            "profundo-model",
            "profundo-analysis",
            "profundo-report",
            "profundo-formats",
        ],
    },
    Row {
        name: "profundo-console",
        idea: "what commands share at the terminal: options, sentences on stderr, progress, where output goes",
        may_use: &["profundo-formats", "profundo-report"],
    },
    Row {
        name: "profundo-launch",
        idea: "starts a program so that it cannot tell the difference, passes signals on, ends as it ended",
        may_use: &["profundo-wire", "profundo-recorder", "profundo-console"],
    },
    Row {
        name: "profundo-save",
        idea: "from the recorder's events to the saved file: the profile grows, and gets names, source text, counters",
        may_use: &[
            "profundo-wire",
            "profundo-linux",
            "profundo-process",
            "profundo-recorder",
            "profundo-ingest",
            "profundo-model",
            "profundo-symbols",
            "profundo-analysis",
            "profundo-formats",
            "profundo-console",
        ],
    },
    Row {
        name: "profundo-top",
        idea: "`profundo top`: where a program spends its time, while it runs, on a page of the terminal",
        may_use: &[
            "profundo-wire",
            "profundo-session",
            "profundo-process",
            "profundo-recorder",
            "profundo-ingest",
            "profundo-model",
            "profundo-symbols",
            "profundo-analysis",
            "profundo-report",
            "profundo-save",
            "profundo-launch",
            "profundo-console",
        ],
    },
    Row {
        name: "profundo-watch",
        idea: "`profundo watch`: profiles without an end, segment by segment into a store",
        may_use: &[
            "profundo-wire",
            "profundo-linux",
            "profundo-process",
            "profundo-recorder",
            "profundo-model",
            "profundo-analysis",
            "profundo-save",
            "profundo-store",
            "profundo-push",
            "profundo-launch",
            "profundo-console",
        ],
    },
    Row {
        name: "profundo-view",
        idea: "the page of a recording: its server, its answers, and the same page as one file",
        may_use: &[
            "profundo-model",
            "profundo-analysis",
            "profundo-report",
            "profundo-formats",
        ],
    },
    Row {
        name: "profundo-bench-command",
        idea: "`profundo bench`: runs statements and commands in turn, and compares their times",
        may_use: &[
            "profundo-usage",
            "profundo-analysis",
            "profundo-report",
            "profundo-launch",
            "profundo-console",
        ],
    },
    Row {
        name: "profundo-cli",
        idea: "the command: it puts the parts together, and carries the agent as bytes",
        may_use: &[
            "profundo-linux",
            "profundo-session",
            "profundo-process",
            "profundo-permits",
            "profundo-inject",
            "profundo-usage",
            "profundo-recorder",
            "profundo-agent",
            "profundo-wire",
            "profundo-cpython",
            "profundo-scan",
            "profundo-ingest",
            "profundo-symbols",
            "profundo-debuginfod",
            "profundo-disassembly",
            "profundo-model",
            "profundo-analysis",
            "profundo-report",
            "profundo-formats",
            "profundo-import",
            "profundo-tables",
            "profundo-store",
            "profundo-symbol-store",
            "profundo-push",
            "profundo-receive",
            "profundo-console",
            "profundo-launch",
            "profundo-save",
            "profundo-top",
            "profundo-watch",
            "profundo-view",
            "profundo-bench-command",
        ],
    },
    Row {
        name: "profundo-bench",
        idea: "paired comparisons on fixed programs",
        may_use: &[
            "profundo",
            "profundo-probe",
            "profundo-capture",
            "profundo-symbols",
            "profundo-analysis",
            "profundo-formats",
        ],
    },
    Row {
        name: "profundo-e2e",
        idea: "programs that are hard on a profiler, and tests that run them",
        may_use: &["profundo"],
    },
    Row {
        name: "profundo-testing",
        idea: "what tests share: skipping, folders, compilers, Pythons, waiting; for all, as a dev-dependency",
        may_use: &[],
    },
    Row {
        name: "profundo-fuzzing",
        idea: "every reader of foreign bytes, as a function that takes any: for `fuzz/` and tests",
        may_use: &[
            "profundo-wire",
            "profundo-unwind",
            "profundo-cpython",
            "profundo-jit",
            "profundo-scan",
            "profundo-symbols",
            "profundo-analysis",
            "profundo-import",
            "profundo-formats",
            "profundo-store",
            "profundo-pushed",
        ],
    },
    Row {
        name: "xtask",
        idea: "the developers' tasks",
        may_use: &[],
    },
];

/// Crates whose foreign dependencies are restricted to these: the first three run in a signal
/// handler, the last is the base of all.
const ALONE: &[(&str, &[&str])] = &[
    ("profundo-wire", &[]),
    ("profundo-cpython", &["libc"]),
    ("profundo-probe", &["libc"]),
    ("profundo-model", &["rustc-hash"]),
];

pub fn check(packages: &[Package], root: &Path, findings: &mut Vec<Finding>) {
    let is_ours = |name: &str| packages.iter().any(|package| package.name == name);
    for package in packages {
        let Package {
            name,
            manifest,
            dependencies,
            ..
        } = package;
        let mut found =
            |what| findings.push(Finding::new(&tree::relative(root, manifest), 0, what));
        let Some(allowed) = ARROWS
            .iter()
            .find(|row| row.name == *name)
            .map(|row| row.may_use)
        else {
            found(format!(
                "{name} is not in the table of arrows in xtask/src/tidy/arrows.rs"
            ));
            continue;
        };
        for dependency in dependencies {
            if is_ours(dependency) {
                if !allowed.contains(&dependency.as_str()) {
                    found(format!("{name} must not depend on {dependency}"));
                }
            } else if let Some(allowed) = row(ALONE, name)
                && !allowed.contains(&dependency.as_str())
            {
                found(format!(
                    "{name} must not depend on {dependency}, which is not ours"
                ));
            }
        }
    }
    let table = "xtask/src/tidy/arrows.rs";
    let alone = ALONE.iter().map(|(name, _)| *name);
    for name in ARROWS.iter().map(|row| row.name).chain(alone) {
        if !is_ours(name) {
            findings.push(Finding::new(table, 0, format!("there is no crate {name}")));
        }
    }
}

/// The table of crates in a page's format.
pub fn table() -> String {
    let short = |name: &&str| name.trim_start_matches("profundo-").to_owned();
    let mut text = String::from("| crate | idea | may use (ours) |\n|---|---|---|\n");
    for Row {
        name,
        idea,
        may_use,
    } in ARROWS
    {
        let uses: Vec<String> = may_use.iter().map(short).collect();
        let uses = match uses.is_empty() {
            true => "–".to_owned(),
            false => uses.join(", "),
        };
        text += &format!("| `{name}` | {idea} | {uses} |\n");
    }
    text
}

/// ARCHITECTURE.md contains this table, word for word.
pub fn check_table(documents: &[Text], findings: &mut Vec<Finding>) {
    const PAGE: &str = "ARCHITECTURE.md";
    let Some(page) = documents.iter().find(|page| page.path == PAGE) else {
        return;
    };
    let table = table();
    if !page.text.contains(&table) {
        let first = table
            .lines()
            .find(|line| !page.text.lines().any(|other| other == *line));
        let lacks = first.unwrap_or("the rows in their order");
        findings.push(Finding::new(
            PAGE,
            0,
            format!(
                "the table of crates is not that of xtask/src/tidy/arrows.rs; it lacks: {lacks}"
            ),
        ));
    }
}

fn row<'a>(table: &'a [(&str, &[&str])], name: &str) -> Option<&'a [&'a str]> {
    table
        .iter()
        .find(|(row, _)| *row == name)
        .map(|(_, allowed)| *allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole workspace, where `changed` depends on `dependencies`.
    fn found(changed: &str, dependencies: &[&str]) -> Vec<String> {
        let mut packages: Vec<Package> = ARROWS
            .iter()
            .map(|Row { name, .. }| Package {
                name: (*name).to_owned(),
                manifest: format!("/root/{name}/Cargo.toml").into(),
                dependencies: Vec::new(),
                examples: Vec::new(),
                is_published: true,
            })
            .collect();
        let package = packages
            .iter_mut()
            .find(|package| package.name == changed)
            .unwrap();
        package.dependencies = dependencies.iter().map(|&name| name.to_owned()).collect();
        let mut findings = Vec::new();
        check(&packages, Path::new("/root"), &mut findings);
        findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn arrows_run_one_way() {
        assert!(found("profundo-report", &["profundo-model", "thiserror"]).is_empty());
        assert_eq!(
            found("profundo-report", &["profundo-capture"]),
            ["profundo-report must not depend on profundo-capture"]
        );
        assert_eq!(
            found("profundo-probe", &["libc", "profundo-wire", "thiserror"]),
            ["profundo-probe must not depend on thiserror, which is not ours"]
        );
    }

    #[test]
    fn the_page_has_the_table() {
        let found = |text: String| {
            let page = Text {
                path: "ARCHITECTURE.md".into(),
                text,
            };
            let mut findings = Vec::new();
            check_table(&[page], &mut findings);
            findings.len()
        };
        assert_eq!(found(format!("# Parts\n\n{}\n", table())), 0);
        assert_eq!(found(table().replace("wire", "wires")), 1);
    }

    #[test]
    fn a_crate_that_is_not_in_the_table_is_found() {
        let package = Package {
            name: "profundo-extra".into(),
            manifest: "/root/extra/Cargo.toml".into(),
            dependencies: vec![],
            examples: vec![],
            is_published: true,
        };
        let mut findings = Vec::new();
        check(&[package], Path::new("/root"), &mut findings);
        assert!(findings[0].what.contains("not in the table"));
        // The table must not name crates that are gone either.
        assert!(findings[1].what.starts_with("there is no crate"));
    }
}
