//! The results of a suite as a tab-separated file, a line for each test. A run that goes on reads
//! it again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::verdict::Verdict;

/// A test and its outcomes. A test that was tried again has the outcomes of those tries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub test: String,
    pub without: String,
    pub with: String,
    pub verdict: Verdict,
}

/// The results of a suite.
#[derive(Debug, PartialEq, Eq)]
pub struct Results {
    requirement: String,
    rows: BTreeMap<String, Row>,
}

/// The head of the file. What comes after it is the requirement.
const HEAD: &str = "# test, without, with, verdict: ";

impl Results {
    pub fn new(requirement: String) -> Self {
        Self {
            requirement,
            rows: BTreeMap::new(),
        }
    }

    /// Adds a test, or takes a later verdict on it.
    pub fn add(&mut self, row: Row) {
        self.rows.insert(row.test.clone(), row);
    }

    pub fn count(&self, verdict: Verdict) -> usize {
        let rows = self.rows.values();
        rows.filter(|row| row.verdict == verdict).count()
    }

    /// Numbers of tests by their verdict.
    pub fn summary(&self) -> String {
        let counts = Verdict::ALL.into_iter().map(|it| (it, self.count(it)));
        let words: Vec<String> = counts
            .filter(|(_, count)| *count > 0)
            .map(|(verdict, count)| format!("{count} {verdict}"))
            .collect();
        format!("{}: {}", self.requirement, words.join(", "))
    }

    /// Tests that are not the same, each with what is known of it.
    pub fn worth_a_line(&self) -> impl Iterator<Item = (&str, String)> {
        let rows = self.rows.values();
        let rows = rows.filter(|row| row.verdict != Verdict::Same);
        rows.map(|row| {
            let (without, with, verdict) = (&row.without, &row.with, row.verdict);
            let told = format!("{verdict}: without {without}; with {with}");
            (&*row.test, told)
        })
    }

    pub fn write(&self, path: &Path) -> Result<()> {
        let mut text = format!("{HEAD}{}\n", self.requirement);
        for row in self.rows.values() {
            let fields = [&row.test, &row.without, &row.with, row.verdict.word()];
            let fields = fields.map(|field: &str| field.replace(['\t', '\n'], " "));
            text += &(fields.join("\t") + "\n");
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Reads a file that [`write`](Self::write) made; nothing if there is none.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(path)?;
        let mut lines = text.lines();
        let head = lines.next().and_then(|line| line.strip_prefix(HEAD));
        let head = head.with_context(|| format!("{} is no result", path.display()))?;
        let mut results = Self::new(head.to_owned());
        for line in lines {
            let fields: Vec<&str> = line.split('\t').collect();
            let &[test, without, with, word] = &fields[..] else {
                continue;
            };
            if let Some(verdict) = Verdict::of_word(word) {
                results.add(Row {
                    test: test.to_owned(),
                    without: without.to_owned(),
                    with: with.to_owned(),
                    verdict,
                });
            }
        }
        Ok(Some(results))
    }
}

#[cfg(test)]
mod tests {
    use profundo_testing::Folder;

    use super::*;

    #[test]
    fn results_are_read_again() {
        let folder = Folder::new("suites");
        let path = folder.path().join("run/greenlet.tsv");
        assert_eq!(Results::read(&path).unwrap(), None);
        let mut results = Results::new("greenlet==3".to_owned());
        for (test, verdict) in [
            ("a", Verdict::Same),
            ("b", Verdict::Same),
            ("b", Verdict::Ours),
        ] {
            results.add(Row {
                test: test.to_owned(),
                without: "passed".to_owned(),
                with: "failed".to_owned(),
                verdict,
            });
        }
        results.write(&path).unwrap();
        assert_eq!(Results::read(&path).unwrap().as_ref(), Some(&results));
        assert_eq!(results.summary(), "greenlet==3: 1 same, 1 DIFFERS");
        let lines: Vec<(&str, String)> = results.worth_a_line().collect();
        let told = "DIFFERS: without passed; with failed".to_owned();
        assert_eq!(lines, [("b", told)]);
    }
}
