//! Joins the segments of an hour into larger files, sorted by service and time.
//!
//! A joined file of samples carries the numbers of the segments that it replaces, so both appear
//! and disappear for readers at one instant: when the file gets its name, which only one of several
//! joiners can give it. The segments are removed later, by [`sweep`]. Joined files never change:
//! segments that arrive late become another one.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

use rustc_hash::FxHashSet;

use crate::Error;
use crate::file::{Opened, encode};
use crate::ids::Contents;
use crate::names::{FRESH, HOUR, Partition, number_of};
use crate::order;
use crate::scan::{REPLACES, replaced_by};
use crate::store::{Entry, Store};
use crate::table::{FrameRow, LabelRow, SampleRow, SegmentRow, StackRow, TABLES, Table};
use crate::texts::Texts;

/// What is joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joining {
    /// The time, in milliseconds since 1970.
    pub now: i64,
    /// The time from the end of an hour until it is joined, in milliseconds.
    pub settled: i64,
    /// The most bytes of segments for one joined file, which bounds the memory that is needed.
    pub batch: u64,
}

impl Joining {
    /// Hours that ended ten minutes ago, in files of at most 64 MiB.
    pub fn at(now: i64) -> Self {
        Self {
            now,
            settled: 600_000,
            batch: 64 << 20,
        }
    }
}

/// The result of joining.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Joined {
    /// The segment files that were joined.
    pub segments: u64,
    /// Their rows.
    pub rows: u64,
    /// The joined files of samples.
    pub files: u64,
    /// Segment files that cannot be read, and were left where they are.
    pub unreadable: u64,
}

/// Joins the segments of hours that are over.
pub fn join(store: &dyn Store, joining: &Joining) -> Result<Joined, Error> {
    let mut joined = Joined::default();
    let fresh = store.list(&format!("{FRESH}{}/", SampleRow::NAME))?;
    let partitions: BTreeSet<Partition> = fresh.iter().filter_map(partition_of).collect();
    for partition in partitions {
        let ended = (partition.hour + 1).saturating_mul(HOUR);
        if ended.saturating_add(joining.settled) > joining.now {
            continue;
        }
        let of_partition = fresh
            .iter()
            .filter(|entry| partition_of(entry) == Some(partition));
        match join_partition(
            store,
            joining,
            partition,
            of_partition.collect(),
            &mut joined,
        ) {
            // Another process is at it.
            Err(Error::Gone { .. }) => {}
            done => done?,
        }
    }
    Ok(joined)
}

fn partition_of(entry: &Entry) -> Option<Partition> {
    number_of(&entry.path)?;
    Partition::of_path(&entry.path)
}

fn join_partition(
    store: &dyn Store,
    joining: &Joining,
    partition: Partition,
    fresh: Vec<&Entry>,
    joined: &mut Joined,
) -> Result<(), Error> {
    let existing = store.list(&partition.folder(SampleRow::NAME, false))?;
    let mut replaced = replaced_by::<SampleRow>(store, &existing)?;
    let mut last = existing
        .iter()
        .filter_map(|entry| turn_of(&entry.path))
        .max()
        .unwrap_or(0);
    let is_new = |entry: &&Entry, replaced: &FxHashSet<String>| {
        number_of(&entry.path).is_some_and(|number| !replaced.contains(number))
    };
    loop {
        let mut size = 0;
        let new = fresh
            .iter()
            .copied()
            .filter(|entry| is_new(entry, &replaced));
        let batch: Vec<&Entry> = new
            .take_while(|entry| {
                let is_first = size == 0;
                size += entry.size;
                is_first || size <= joining.batch
            })
            .collect();
        if batch.is_empty() {
            return Ok(());
        }
        last += 1;
        let mut texts = Texts::default();
        let (rows, numbers) = read_all::<SampleRow>(store, &batch, &mut texts, joined)?;
        // What cannot be read is not looked at again in this run.
        replaced.extend(
            batch
                .iter()
                .filter_map(|entry| number_of(&entry.path))
                .map(str::to_owned),
        );
        if numbers.is_empty() {
            last -= 1;
            continue;
        }
        join_definitions(store, partition, last, joined)?;
        let mut rows = rows;
        order::samples(&mut rows, &texts);
        let facts = [(REPLACES, numbers.join(" "))];
        let bytes = encode(&rows, &texts, &facts)?;
        let folder = partition.folder(SampleRow::NAME, false);
        if !store.put_new(&format!("{folder}joined-{last:04}.parquet"), &bytes)? {
            // Another joiner was faster. Its file is as good.
            return Ok(());
        }
        joined.segments += numbers.len() as u64;
        joined.rows += rows.len() as u64;
        joined.files += 1;
    }
}

/// The turn of a joined file: `joined-0003.parquet` is the third of its partition.
fn turn_of(path: &str) -> Option<u32> {
    let (_, name) = path.rsplit_once('/')?;
    name.strip_prefix("joined-")?
        .strip_suffix(".parquet")?
        .parse()
        .ok()
}

/// The rows of files, and the numbers of those that could be read.
fn read_all<T: Table>(
    store: &dyn Store,
    entries: &[&Entry],
    texts: &mut Texts,
    joined: &mut Joined,
) -> Result<(Vec<T>, Vec<String>), Error> {
    let (mut rows, mut numbers) = (Vec::new(), Vec::new());
    for entry in entries {
        let read = Opened::new::<T>(store, entry).and_then(|opened| opened.rows::<T>(texts));
        match read {
            Ok(read) => {
                rows.extend(read);
                numbers.extend(number_of(&entry.path).map(str::to_owned));
            }
            Err(error) if error.is_of_a_file() => joined.unreadable += 1,
            Err(error) => return Err(error),
        }
    }
    Ok((rows, numbers))
}

/// Joins all definitions of a partition. They are sets: it does no harm if one is there twice.
fn join_definitions(
    store: &dyn Store,
    partition: Partition,
    turn: u32,
    joined: &mut Joined,
) -> Result<(), Error> {
    let mut put = Definitions {
        store,
        partition,
        turn,
        joined,
    };
    put.join(|row: &FrameRow| (row.service, row.frame), order::frames)?;
    put.join(|row: &StackRow| (row.service, row.stack), order::stacks)?;
    put.join(|row: &LabelRow| (row.service, row.series), order::labels)?;
    put.join(
        |row: &SegmentRow| (row.service, row.segment, row.kind),
        order::segments,
    )
}

struct Definitions<'a> {
    store: &'a dyn Store,
    partition: Partition,
    turn: u32,
    joined: &'a mut Joined,
}

impl Definitions<'_> {
    fn join<T: Table, K: Hash + Eq>(
        &mut self,
        key: impl Fn(&T) -> K,
        sort: impl Fn(&mut [T], &Texts),
    ) -> Result<(), Error> {
        let fresh = self.store.list(&self.partition.folder(T::NAME, true))?;
        let folder = self.partition.folder(T::NAME, false);
        let replaced = replaced_by::<T>(self.store, &self.store.list(&folder)?)?;
        let new = fresh.iter().filter(|entry| {
            number_of(&entry.path).is_some_and(|number| !replaced.contains(number))
        });
        let mut texts = Texts::default();
        let (mut rows, numbers) = read_all::<T>(
            self.store,
            &new.collect::<Vec<_>>(),
            &mut texts,
            self.joined,
        )?;
        if numbers.is_empty() {
            return Ok(());
        }
        let mut known = FxHashSet::default();
        rows.retain(|row| known.insert(key(row)));
        sort(&mut rows, &texts);
        let numbers = numbers.join(" ");
        // Another joiner may have found others, and its file must stay.
        let mark = Contents::default().text(&numbers).id();
        let bytes = encode(&rows, &texts, &[(REPLACES, numbers)])?;
        self.store.put(
            &format!("{folder}joined-{:04}-{mark:016x}.parquet", self.turn),
            &bytes,
        )
    }
}

/// Removes segments that joined files have replaced. Readers that list files by themselves may
/// still read these: some minutes between [`join`] and [`sweep`] let them finish. Returns the
/// number of removed files.
pub fn sweep(store: &dyn Store) -> Result<u64, Error> {
    let mut removed = 0;
    // Samples first: a definition stays as long as what refers to it.
    for table in TABLES.into_iter().rev() {
        let mut parts: BTreeMap<Partition, Vec<Entry>> = BTreeMap::new();
        for entry in store.list(&format!("{FRESH}{table}/"))? {
            if let Some(partition) = partition_of(&entry) {
                parts.entry(partition).or_default().push(entry);
            }
        }
        for (partition, entries) in parts {
            let joined = store.list(&partition.folder(table, false))?;
            let replaced = match table {
                SampleRow::NAME => replaced_by::<SampleRow>(store, &joined)?,
                FrameRow::NAME => replaced_by::<FrameRow>(store, &joined)?,
                StackRow::NAME => replaced_by::<StackRow>(store, &joined)?,
                LabelRow::NAME => replaced_by::<LabelRow>(store, &joined)?,
                _ => replaced_by::<SegmentRow>(store, &joined)?,
            };
            for entry in entries {
                if number_of(&entry.path).is_some_and(|number| replaced.contains(number)) {
                    store.delete(&entry.path)?;
                    removed += 1;
                }
            }
        }
    }
    Ok(removed)
}
