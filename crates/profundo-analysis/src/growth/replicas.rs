//! The parts of a version that are as good as runs of their own: what differs between them is
//! chance.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use profundo_model::{ProcessId, Profile, StringId};

use crate::Selection;

/// More parts than this are put together, the smaller ones first: each is read by itself.
const MOST: usize = 12;

/// What the replicas are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replicas {
    /// Hosts: at least two of each version.
    Hosts,
    /// Processes: at least two of each version.
    Processes,
    /// A version as a whole: nothing is known of its spread.
    None,
}

/// The host and the number of a process.
type Key = (StringId, u32);

impl Replicas {
    /// What these versions have several of.
    pub(super) fn of(profile: &Profile, versions: [&str; 2]) -> Self {
        let has_several = |by: &Self| {
            let mut counts = versions.iter().map(|version| {
                let ids = (0..profile.processes.len()).map(ProcessId::from_index);
                let ids = ids.filter(|id| is_of(profile, *id, version));
                let mut keys: Vec<Key> = ids.map(|id| by.key(profile, id)).collect();
                keys.sort_unstable();
                keys.dedup();
                keys.len()
            });
            counts.all(|count| count > 1)
        };
        let all = [Self::Hosts, Self::Processes];
        all.into_iter().find(has_several).unwrap_or(Self::None)
    }

    fn key(self, profile: &Profile, id: ProcessId) -> Key {
        let host = profile.strings.find("host");
        let host = host
            .and_then(|key| profile.label_of(id, key))
            .unwrap_or_default();
        match self {
            Self::Hosts => (host, 0),
            Self::Processes => (host, profile.processes[id.index()].pid),
            Self::None => Key::default(),
        }
    }

    /// The rows of samples of each replica of a version.
    pub(super) fn rows(
        self,
        profile: &Profile,
        selection: &Selection,
        version: &str,
    ) -> Vec<Vec<u32>> {
        let ids = (0..profile.processes.len()).map(ProcessId::from_index);
        let keys: Vec<Option<Key>> = ids
            .map(|id| is_of(profile, id, version).then(|| self.key(profile, id)))
            .collect();
        let mut by_key: BTreeMap<Key, (u64, Vec<u32>)> = BTreeMap::new();
        selection.each(profile, |row, sample| {
            let process = profile.threads.get(sample.thread).process;
            if let Some(key) = keys[process.index()] {
                let (weight, rows) = by_key.entry(key).or_default();
                *weight += sample.weight.0;
                rows.push(row);
            }
        });
        let mut parts: Vec<(u64, Vec<u32>)> = by_key.into_values().collect();
        parts.sort_by_key(|(weight, _)| Reverse(*weight));
        // The lightest one takes the next, so that all are nearly alike.
        let mut groups: Vec<(u64, Vec<u32>)> = Vec::new();
        for (weight, rows) in parts {
            if groups.len() < MOST {
                groups.push((weight, rows));
            } else if let Some(least) = groups.iter_mut().min_by_key(|(weight, _)| *weight) {
                least.0 += weight;
                least.1.extend(rows);
            }
        }
        let rows = groups.into_iter().map(|(_, mut rows)| {
            rows.sort_unstable();
            rows
        });
        rows.collect()
    }
}

/// Whether a process is of a version.
fn is_of(profile: &Profile, id: ProcessId, version: &str) -> bool {
    let key = profile.strings.find("version");
    let value = key.and_then(|key| profile.label_of(id, key));
    value.map_or("", |value| profile.strings.get(value)) == version
}
