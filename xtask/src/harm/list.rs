//! The list of outcomes on disk: a line for each case, `NAME<tab>OUTCOME`. Cases that stand there
//! are not run again.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result};

/// The outcomes of all cases so far.
#[derive(Debug)]
pub struct List {
    file: Mutex<File>,
    outcomes: Mutex<HashMap<String, String>>,
}

impl List {
    /// Opens a list, or begins one.
    pub fn open(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let before = fs::read_to_string(path).unwrap_or_default();
        let lines = before.lines().filter_map(|line| line.split_once('\t'));
        let outcomes = lines.map(|(name, outcome)| (name.to_owned(), outcome.to_owned()));
        let outcomes = outcomes.collect();
        let file = OpenOptions::new().append(true).create(true).open(path);
        Ok(Self {
            file: Mutex::new(file.with_context(|| path.display().to_string())?),
            outcomes: Mutex::new(outcomes),
        })
    }

    /// True if a case has been run.
    pub fn has(&self, name: &str) -> bool {
        let outcomes = self.outcomes.lock();
        outcomes.is_ok_and(|outcomes| outcomes.contains_key(name))
    }

    /// Adds an outcome.
    pub fn add(&self, name: &str, outcome: &str) -> Result<()> {
        let outcome = outcome.replace(['\n', '\t'], " ");
        if let Ok(mut file) = self.file.lock() {
            writeln!(file, "{name}\t{outcome}")?;
        }
        if let Ok(mut outcomes) = self.outcomes.lock() {
            outcomes.insert(name.to_owned(), outcome);
        }
        Ok(())
    }

    /// All outcomes, by case.
    pub fn all(&self) -> BTreeMap<String, String> {
        let outcomes = self.outcomes.lock();
        outcomes.map_or_else(
            |_| BTreeMap::new(),
            |outcomes| outcomes.clone().into_iter().collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_testing::Folder;

    #[test]
    fn what_was_run_is_known_the_next_time() {
        let folder = Folder::new("harm-list");
        let path = folder.join("deep/list");
        let list = List::open(&path).unwrap();
        list.add("one", "ok").unwrap();
        list.add("two", "in\ntwo lines").unwrap();
        let again = List::open(&path).unwrap();
        assert!(again.has("one") && !again.has("three"));
        assert_eq!(again.all()["two"], "in two lines");
    }
}
