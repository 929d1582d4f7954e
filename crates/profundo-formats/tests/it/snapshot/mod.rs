//! Heap snapshots: the part files, the file made from them, and its reader.

mod parts;
mod read;

use std::fs;
use std::path::Path;

pub fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

pub fn numbers(value: &serde_json::Value) -> Vec<u64> {
    let values = value.as_array().unwrap();
    values.iter().map(|value| value.as_u64().unwrap()).collect()
}
