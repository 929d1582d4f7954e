//! Which of our crates may depend on which. An arrow that is not in the table fails the check;
//! adding one is a decision with its own commit.

use std::path::Path;

use super::Finding;
use crate::metadata::Package;
use crate::tree;

/// Every crate of the workspace, with those of ours that it may depend on.
const ARROWS: &[(&str, &[&str])] = &[
    ("profundo-wire", &[]),
    ("profundo-unwind", &[]),
    ("profundo-cpython", &[]),
    ("profundo-model", &[]),
    ("profundo-jit", &[]),
    (
        "profundo-probe",
        &["profundo-wire", "profundo-unwind", "profundo-cpython"],
    ),
    ("profundo-scan", &["profundo-probe"]),
    (
        "profundo-capture",
        &[
            "profundo-wire",
            "profundo-probe",
            "profundo-unwind",
            "profundo-scan",
        ],
    ),
    (
        "profundo-remote",
        &[
            "profundo-wire",
            "profundo-probe",
            "profundo-unwind",
            "profundo-cpython",
            "profundo-jit",
            "profundo-scan",
        ],
    ),
    (
        "profundo-agent",
        &[
            "profundo-wire",
            "profundo-probe",
            "profundo-unwind",
            "profundo-cpython",
        ],
    ),
    (
        "profundo-ingest",
        &[
            "profundo-wire",
            "profundo-model",
            "profundo-cpython",
            "profundo-scan",
        ],
    ),
    ("profundo-symbols", &["profundo-model"]),
    ("profundo-analysis", &["profundo-model"]),
    ("profundo-report", &["profundo-model", "profundo-analysis"]),
    ("profundo-formats", &["profundo-model", "profundo-analysis"]),
    (
        "profundo",
        &[
            "profundo-scan",
            "profundo-capture",
            "profundo-ingest",
            "profundo-symbols",
            "profundo-model",
            "profundo-analysis",
            "profundo-report",
            "profundo-formats",
        ],
    ),
    (
        "profundo-cli",
        &[
            "profundo-agent",
            "profundo-wire",
            "profundo-cpython",
            "profundo-remote",
            "profundo-scan",
            "profundo-ingest",
            "profundo-symbols",
            "profundo-model",
            "profundo-analysis",
            "profundo-report",
            "profundo-formats",
        ],
    ),
    (
        "profundo-bench",
        &[
            "profundo",
            "profundo-probe",
            "profundo-capture",
            "profundo-symbols",
            "profundo-analysis",
            "profundo-formats",
        ],
    ),
    ("profundo-e2e", &["profundo"]),
    ("xtask", &[]),
];

/// Crates that may use nothing of others but what is named: the first three run in a signal
/// handler, the last is what everything stands on.
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
        let Some(allowed) = row(ARROWS, name) else {
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
    for (name, _) in ARROWS.iter().chain(ALONE) {
        if !is_ours(name) {
            findings.push(Finding::new(table, 0, format!("there is no crate {name}")));
        }
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
            .map(|(name, _)| Package {
                name: (*name).to_owned(),
                manifest: format!("/root/{name}/Cargo.toml").into(),
                dependencies: Vec::new(),
                examples: Vec::new(),
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
    fn a_crate_that_is_not_in_the_table_is_found() {
        let package = Package {
            name: "profundo-extra".into(),
            manifest: "/root/extra/Cargo.toml".into(),
            dependencies: vec![],
            examples: vec![],
        };
        let mut findings = Vec::new();
        check(&[package], Path::new("/root"), &mut findings);
        assert!(findings[0].what.contains("not in the table"));
        // Nor may the table name crates that are gone.
        assert!(findings[1].what.starts_with("there is no crate"));
    }
}
