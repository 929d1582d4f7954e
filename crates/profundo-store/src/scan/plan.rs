//! The files that a query needs, by hour and bucket.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use crate::file::Opened;
use crate::ids::bucket;
use crate::names::{FRESH, HOUR, Partition, hour_folder, number_of, time_of};
use crate::store::{Entry, Store};
use crate::table::{SampleRow, Table};
use crate::{Error, Query};

/// The key in a joined file's metadata: the numbers of the segments that it replaces.
pub(crate) const REPLACES: &str = "profundo.replaces";
/// Up to this number of hours, the folder of each is listed, and of each day otherwise.
const FEW: i64 = 48;

/// The samples of an hour and bucket.
#[derive(Debug)]
pub struct Part {
    /// The hour and bucket.
    pub partition: Partition,
    /// Their files, joined ones first.
    pub samples: Vec<Entry>,
}

impl Part {
    /// [`Error::Gone`] if a file has gone since the part was listed.
    pub(super) fn is_there(&self, store: &dyn Store) -> Result<(), Error> {
        let mut there = BTreeSet::new();
        for is_fresh in [true, false] {
            let listed = store.list(&self.partition.folder(SampleRow::NAME, is_fresh))?;
            there.extend(listed.into_iter().map(|entry| entry.path));
        }
        let gone = (self.samples.iter()).find(|entry| !there.contains(&entry.path));
        match gone {
            Some(gone) => Err(Error::Gone {
                path: gone.path.clone(),
            }),
            None => Ok(()),
        }
    }
}

/// The parts of a store that may have rows of the query.
pub(super) fn parts(store: &dyn Store, query: &Query) -> Result<Vec<Part>, Error> {
    let (first, last) = (query.from.div_euclid(HOUR), (query.to - 1).div_euclid(HOUR));
    let buckets: BTreeSet<u8> = query
        .services
        .iter()
        .map(|service| bucket(service))
        .collect();
    // A service's bucket is looked into directly, others are found by listing.
    let mut folders = BTreeSet::new();
    for hour in first..=last {
        let hour_folder = hour_folder(hour);
        if last - first >= FEW {
            let (date, _) = hour_folder.split_once('/').unwrap_or_default();
            folders.insert(format!("{date}/"));
        } else if buckets.is_empty() {
            folders.insert(hour_folder);
        } else {
            folders.extend(
                buckets
                    .iter()
                    .map(|bucket| format!("{hour_folder}bucket={bucket:02}/")),
            );
        }
    }
    let is_wanted = |partition: Partition| {
        (first..=last).contains(&partition.hour)
            && (buckets.is_empty() || buckets.contains(&partition.bucket))
    };
    // Segments before joined files: see the module's page.
    let mut fresh = BTreeMap::new();
    let mut joined = BTreeMap::new();
    for (of, prefix) in [(&mut fresh, FRESH), (&mut joined, "")] {
        for folder in &folders {
            let entries = store.list(&format!("{prefix}{}/{folder}", SampleRow::NAME))?;
            for entry in entries
                .into_iter()
                .filter(|entry| entry.path.ends_with(".parquet"))
            {
                let partition = Partition::of_path(&entry.path).filter(|&of| is_wanted(of));
                if let Some(partition) = partition {
                    of.entry(partition).or_insert_with(Vec::new).push(entry);
                }
            }
        }
    }
    let partitions: BTreeSet<Partition> = fresh.keys().chain(joined.keys()).copied().collect();
    let mut parts = Vec::new();
    for partition in partitions {
        let mut samples = joined.remove(&partition).unwrap_or_default();
        if let Some(fresh) = fresh.remove(&partition) {
            let replaced = replaced_by::<SampleRow>(store, &samples)?;
            let is_in = |entry: &Entry| {
                let time = time_of(&entry.path);
                let overlaps =
                    time.is_none_or(|time| time.start < query.to && query.from < time.end);
                let number = number_of(&entry.path);
                overlaps && number.is_none_or(|number| !replaced.contains(number))
            };
            samples.extend(fresh.into_iter().filter(is_in));
        }
        parts.push(Part { partition, samples });
    }
    Ok(parts)
}

/// The numbers of the segments that joined files replace. A joined file that cannot be read
/// replaces none, as its rows cannot be read either.
pub(crate) fn replaced_by<T: Table>(
    store: &dyn Store,
    joined: &[Entry],
) -> Result<FxHashSet<String>, Error> {
    let mut all = FxHashSet::default();
    for entry in joined {
        let opened = match Opened::new::<T>(store, entry) {
            Err(error) if error.is_of_a_file() => continue,
            opened => opened?,
        };
        let numbers = opened.fact(REPLACES).unwrap_or_default();
        all.extend(numbers.split(' ').map(str::to_owned));
    }
    Ok(all)
}
