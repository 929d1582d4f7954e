//! The rules of the house that no compiler checks. Each rule is a table or a function of text, so
//! it can be tested without a repository; findings are printed as `path:line: what`.

mod arrows;
mod links;
mod manifests;
mod prose;
mod questions;
mod sentences;
mod sources;
mod versions;

use std::path::Path;

use anyhow::Result;

use crate::{metadata, tree};

/// A finding of a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    /// From 1; 0 for the whole file.
    pub line: usize,
    pub what: String,
}

impl Finding {
    pub fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }
}

/// Prints the findings of all rules; true if there are none.
pub fn run(root: &Path) -> Result<bool> {
    let findings = check(root)?;
    for Finding { path, line, what } in &findings {
        match line {
            0 => println!("{path}: {what}"),
            line => println!("{path}:{line}: {what}"),
        }
    }
    match findings.len() {
        0 => println!("tidy: nothing to mend"),
        1 => println!("tidy: 1 thing to mend"),
        many => println!("tidy: {many} things to mend"),
    }
    Ok(findings.is_empty())
}

fn check(root: &Path) -> Result<Vec<Finding>> {
    let metadata = metadata::load(root)?;
    let mut findings = Vec::new();
    arrows::check(&metadata.packages, root, &mut findings);
    let sources = tree::files(root, &[".rs"])?;
    for source in &sources {
        sources::check_header(source, &mut findings);
        sources::check_length(source, &mut findings);
        sources::check_ignored(source, &mut findings);
        prose::check(source, &mut findings);
        versions::check(source, &mut findings);
    }
    versions::check_exemptions(&sources, &mut findings);
    sources::check_exemptions(root, &mut findings);
    for text in tree::files(root, &[".rs", ".toml", ".md", ".sh"])? {
        sources::check_unfinished(&text, &mut findings);
    }
    let documents = tree::files(root, &[".md"])?;
    for document in &documents {
        links::check(document, &|path| root.join(path).exists(), &mut findings);
        if sentences::is_page(&document.path) {
            sentences::check_length(document, &mut findings);
        }
    }
    links::check_headings(&documents, &mut findings);
    arrows::check_table(&documents, &mut findings);
    questions::check(&documents, &sources, &mut findings);
    sentences::check_index(&documents, &mut findings);
    for package in &metadata.packages {
        manifests::check(root, &package.manifest, &mut findings)?;
    }
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    Ok(findings)
}
