//! The list of modules that are done, so that a run of hours can go on where it was ended.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The list, a line for each module: its title, a tab, and its outcome.
#[derive(Debug, Default)]
pub struct Progress {
    path: Option<PathBuf>,
    done: BTreeMap<String, String>,
}

/// The outcome of a module without a difference.
pub const SAME: &str = "same";

/// The beginning of the outcome of a module without an answer.
pub const SKIPPED: &str = "skipped: ";

impl Progress {
    /// Reads the list in a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join("modules.tsv");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        let done = lines.map(|(title, outcome)| (title.to_owned(), outcome.to_owned()));
        Ok(Self {
            done: done.collect(),
            path: Some(path),
        })
    }

    /// The outcome of a module that is done.
    pub fn outcome(&self, title: &str) -> Option<&str> {
        self.done.get(title).map(String::as_str)
    }

    /// Notes the outcome of a module.
    pub fn note(&mut self, title: &str, outcome: &str) -> Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        let outcome = outcome.replace(['\n', '\t'], " ");
        writeln!(file, "{title}\t{outcome}")
            .with_context(|| format!("cannot write {}", path.display()))?;
        self.done.insert(title.to_owned(), outcome);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use profundo_testing::Folder;

    use super::*;

    #[test]
    fn a_run_goes_on_where_it_was_ended() {
        let folder = Folder::new("progress");
        let mut progress = Progress::read(folder.path()).unwrap();
        progress.note("3.8.18 test_os", SAME).unwrap();
        progress.note("3.8.18 test_io", "two\nlines").unwrap();
        let again = Progress::read(folder.path()).unwrap();
        assert_eq!(again.outcome("3.8.18 test_os"), Some(SAME));
        assert_eq!(again.outcome("3.8.18 test_io"), Some("two lines"));
        assert_eq!(again.outcome("3.8.18 test_re"), None);
        // Without a folder, nothing is kept.
        Progress::default().note("test_os", SAME).unwrap();
    }
}
