//! Heap snapshots: the part files, the file that is made of them, and what reads it again.

mod parts;
mod read;

use std::fs;
use std::path::{Path, PathBuf};

/// A folder of one test, gone when the test is.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(test: &str) -> Self {
        let name = format!("profundo-snapshot-{test}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The names of all files in it.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

pub fn numbers(value: &serde_json::Value) -> Vec<u64> {
    let values = value.as_array().unwrap();
    values.iter().map(|value| value.as_u64().unwrap()).collect()
}
