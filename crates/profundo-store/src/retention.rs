//! Bounds on a store: the oldest hours go first, and each goes as a whole, so that no sample loses
//! the definitions that it refers to.

use std::collections::BTreeMap;

use crate::Error;
use crate::names::{FRESH, HOUR, Partition};
use crate::store::{Entry, Store};
use crate::table::{SampleRow, TABLES, Table};

/// The most that a store keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// The most bytes of all files.
    pub bytes: Option<u64>,
    /// The greatest age of the end of an hour, in milliseconds.
    pub age: Option<i64>,
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removed {
    /// Whole hours.
    pub hours: u64,
    /// Files, those of the hours included.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Removes the oldest hours until the store is within its limits. `now` is in milliseconds since
/// 1970. Of the newest hour, whose definitions its writers rely on, only samples are removed.
pub fn retain(store: &dyn Store, limits: &Limits, now: i64) -> Result<Removed, Error> {
    let mut hours: BTreeMap<i64, Vec<Entry>> = BTreeMap::new();
    let mut bytes = 0;
    for table in TABLES {
        for prefix in [FRESH, ""] {
            for entry in store.list(&format!("{prefix}{table}/"))? {
                if let Some(partition) = Partition::of_path(&entry.path) {
                    bytes += entry.size;
                    hours.entry(partition.hour).or_default().push(entry);
                }
            }
        }
    }
    let mut removed = Removed::default();
    let oldest = limits.age.map_or(i64::MIN, |age| now.saturating_sub(age));
    let most = limits.bytes.unwrap_or(u64::MAX);
    let newest = hours.keys().next_back().copied();
    for (hour, mut entries) in hours {
        let is_old = (hour + 1).saturating_mul(HOUR) <= oldest;
        if !is_old && bytes <= most {
            break;
        }
        // Samples first: what is left after a kill refers to nothing.
        entries.sort_by_key(|entry| !is_samples(entry));
        let is_whole = is_old || Some(hour) != newest;
        for entry in entries {
            if !is_whole && (bytes <= most || !is_samples(&entry)) {
                break;
            }
            store.delete(&entry.path)?;
            bytes -= entry.size;
            removed.files += 1;
            removed.bytes += entry.size;
        }
        removed.hours += u64::from(is_whole);
    }
    Ok(removed)
}

fn is_samples(entry: &Entry) -> bool {
    let path = entry.path.strip_prefix(FRESH).unwrap_or(&entry.path);
    path.split('/').next() == Some(SampleRow::NAME)
}
