//! Documents refer only to existing files, by links and by paths of ours in `code`, and only to
//! existing headings of other documents.

use std::collections::{HashMap, HashSet};

use super::Finding;
use crate::tree::Text;

/// Folders of ours: a path in `code` that starts with one of them is a reference too.
const OURS: &[&str] = &[
    "crates/",
    "docs/",
    "xtask/",
    "testdata/",
    "fuzz/",
    "bench/",
    "examples/",
];

pub fn check(document: &Text, exists: &dyn Fn(&str) -> bool, findings: &mut Vec<Finding>) {
    let folder = document
        .path
        .rsplit_once('/')
        .map_or("", |(folder, _)| folder);
    let mut in_block = false;
    for (index, line) in document.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            let links = links(line).filter_map(|link| local(folder, link));
            let paths = paths(line).flat_map(|path| spelled_out(path, exists));
            for path in links.chain(paths) {
                if !exists(&path) {
                    let what = format!("{path} is not there");
                    findings.push(Finding::new(&document.path, index + 1, what));
                }
            }
        }
    }
}

/// Links to headings of these documents refer to existing ones.
pub fn check_headings(documents: &[Text], findings: &mut Vec<Finding>) {
    let headings: HashMap<&str, HashSet<String>> = documents
        .iter()
        .map(|document| (&*document.path, headings(&document.text)))
        .collect();
    for document in documents {
        let folder = document
            .path
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder);
        for (index, line) in prose(&document.text) {
            for link in links(line) {
                let Some((_, heading)) = link.split_once('#') else {
                    continue;
                };
                let path = local(folder, link).unwrap_or_else(|| document.path.clone());
                let is_there = |there: &HashSet<String>| there.contains(heading);
                if !link.contains("://") && !headings.get(&*path).is_none_or(is_there) {
                    let what = format!("{path} has no heading #{heading}");
                    findings.push(Finding::new(&document.path, index + 1, what));
                }
            }
        }
    }
}

/// The lines outside of code blocks, with their numbers from 0.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_block = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        !in_block && !is_fence
    })
}

/// The anchors of a document's headings.
fn headings(text: &str) -> HashSet<String> {
    let headings = prose(text).filter(|(_, line)| line.starts_with('#'));
    headings
        .map(|(_, line)| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
            title
                .chars()
                .filter(kept)
                .collect::<String>()
                .replace(' ', "-")
        })
        .collect()
}

/// The targets of `[text](target)` and `[name]: `.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let inline = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next());
    let definition = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]: "));
    inline.chain(definition.and_then(|(_, target)| target.split_whitespace().next()))
}

/// A link's path from the root of the repository; nothing for an external link.
fn local(folder: &str, link: &str) -> Option<String> {
    let path = link
        .trim_matches(['<', '>'])
        .split('#')
        .next()
        .unwrap_or_default();
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Paths of ours in `code`, without patterns.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|code| {
        let is_ours = OURS.iter().any(|folder| code.starts_with(folder));
        (is_ours || is_short(code))
            && !code.contains(|c: char| c.is_whitespace() || "*<>…$[]".contains(c))
    })
}

/// True if a path leaves out the folder of all crates and their common prefix, as
/// `wire/src/reader.rs`.
fn is_short(path: &str) -> bool {
    let name = path.split_once("/src").map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

/// The paths from the root that a path in a document stands for: one for each name in braces.
fn spelled_out(path: &str, exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let prefix = format!("crates/profundo-{path}");
    let crate_of = |path: &str| path.split("/src").next().is_some_and(exists);
    let whole = match is_short(path) && crate_of(&prefix) {
        true => prefix,
        false => path.to_owned(),
    };
    let Some((before, rest)) = whole.split_once('{') else {
        return vec![whole.trim_end_matches('/').to_owned()];
    };
    let Some((names, after)) = rest.split_once('}') else {
        return vec![whole];
    };
    let names = names.split(',');
    names
        .flat_map(|name| spelled_out(&format!("{before}{name}{after}"), exists))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(path: &str, text: &str) -> Vec<(usize, String)> {
        let document = Text {
            path: path.into(),
            text: text.into(),
        };
        let there = [
            "docs",
            "docs/a.md",
            "README.md",
            "crates/one/src/lib.rs",
            "crates/profundo-wire",
            "crates/profundo-wire/src/wait.rs",
        ];
        let mut findings = Vec::new();
        check(&document, &|path| there.contains(&path), &mut findings);
        findings
            .into_iter()
            .map(|finding| (finding.line, finding.what))
            .collect()
    }

    #[test]
    fn links_lead_somewhere() {
        let fine = "[a](docs/a.md#part) [b](https://x.y/z) [c](#here) [d](mailto:a@b)\n\
                    [e]: docs/a.md\n![f](./README.md \"title\")\n";
        assert_eq!(missing("README.md", fine), []);
        assert_eq!(missing("docs/a.md", "[up](../README.md) [side](a.md)"), []);
        assert_eq!(
            missing("docs/a.md", "one\n[x](b.md) and [y](../docs/gone.md)"),
            [
                (2, "docs/b.md is not there".into()),
                (2, "docs/gone.md is not there".into())
            ]
        );
        assert_eq!(
            missing("a.md", "[x]: gone.md"),
            [(1, "gone.md is not there".into())]
        );
    }

    #[test]
    fn headings_are_there() {
        let document = |path: &str, text: &str| Text {
            path: path.into(),
            text: text.into(),
        };
        let one = document(
            "docs/one.md",
            "# What's `--wall`, then?\n```sh\n# no heading\n```\n[x](#whats---wall-then)",
        );
        let links = "[a](docs/one.md#whats---wall-then)\n[b](docs/one.md#no-heading) [c](#here)\n\
                     [d](https://x.y/#z) [e](src/lib.rs#L3)";
        let mut findings = Vec::new();
        check_headings(&[one, document("README.md", links)], &mut findings);
        let found: Vec<(usize, &str)> = findings
            .iter()
            .map(|finding| (finding.line, &*finding.what))
            .collect();
        assert_eq!(
            found,
            [
                (2, "docs/one.md has no heading #no-heading"),
                (2, "README.md has no heading #here")
            ]
        );
    }

    #[test]
    fn code_is_no_link_but_its_paths_are() {
        assert_eq!(
            missing("a.md", "```\n[x](gone.md) `docs/gone.md`\n```\n"),
            []
        );
        assert_eq!(
            missing("a.md", "`crates/one/src/lib.rs` `crates/*/x` `gone.md`"),
            []
        );
        assert_eq!(
            missing("a.md", "`wire/src/wait.rs`, `wire/src/{wait,gone}.rs`"),
            [(1, "crates/profundo-wire/src/gone.rs is not there".into())]
        );
        assert_eq!(
            missing("a.md", "see `docs/gone.md`"),
            [(1, "docs/gone.md is not there".into())]
        );
    }
}
