//! Samples added up over the time of a query, by stack and by what the query tells apart.
//!
//! Whole numbers are added, and rows get an order of their own in the end. So the sums are the same
//! whatever the order in which samples were met.

use std::borrow::Cow;
use std::collections::hash_map::Entry as Place;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet};

use super::matching::{self, Services};
use super::plan::Part;
use crate::ids::Id;
use crate::names::FRESH;
use crate::query::{By, Condition};
use crate::store::{Entry, Store};
use crate::table::{LabelRow, SegmentRow, Table};
use crate::texts::{Text, Texts};
use crate::{Error, Query};

/// The samples that become one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) stack: Id,
    /// A place in the list of groups.
    pub(super) group: u32,
    pub(super) state: Text,
    pub(super) gil: Text,
    pub(super) span: Text,
    /// The number of the step of time.
    pub(super) step: i64,
}

impl Hash for Key {
    /// A stack's id is a hash already, and most keys differ by it.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let words = [self.state, self.gil, self.span].map(u64::from);
        let [of_state, gil, span] = words;
        let rest = u64::from(self.group) << 32 ^ span << 16 ^ gil << 8 ^ of_state;
        state.write_u64(self.stack as u64 ^ rest ^ self.step.cast_unsigned().rotate_left(48));
    }
}

/// The sum of samples that are alike.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) value: u64,
    pub(super) count: u64,
    /// In parts of 1: see [`crate::table::whole_squares`].
    pub(super) squares: u128,
    pub(super) first: i64,
    pub(super) last: i64,
}

impl Sum {
    pub(super) fn add(&mut self, more: Self) {
        self.value = self.value.saturating_add(more.value);
        self.count = self.count.saturating_add(more.count);
        self.squares = self.squares.saturating_add(more.squares);
        self.first = self.first.min(more.first);
        self.last = self.last.max(more.last);
    }
}

/// Sums, and what their numbers mean.
#[derive(Debug, Default)]
pub struct Sums {
    pub(super) texts: Texts,
    /// What the query tells apart. Labels that it does not ask for are empty.
    pub(super) groups: Vec<LabelRow>,
    pub(super) rows: Vec<(Key, Sum)>,
    pub(super) segments: Vec<SegmentRow>,
    /// What could not be read.
    pub(super) told: Vec<String>,
    /// By part, the stacks that were found in it first.
    pub(super) wanted: Vec<FxHashSet<Id>>,
}

/// What the query tells apart, by series.
#[derive(Debug)]
pub(super) struct Groups<'q> {
    query: &'q Query,
    pub(super) labels: FxHashMap<i64, LabelRow>,
    /// `None` for series that the query does not want.
    of_series: FxHashMap<(Text, i64), Option<u32>>,
    of_row: FxHashMap<LabelRow, u32>,
    pub(super) groups: Vec<LabelRow>,
}

impl<'q> Groups<'q> {
    pub(super) fn new(query: &'q Query, labels: FxHashMap<i64, LabelRow>) -> Self {
        Self {
            query,
            labels,
            of_series: FxHashMap::default(),
            of_row: FxHashMap::default(),
            groups: Vec::new(),
        }
    }

    pub(super) fn of(&mut self, service: Text, series: i64) -> Option<u32> {
        let series = match needs_labels(self.query) {
            true => series,
            false => 0,
        };
        if let Some(&known) = self.of_series.get(&(service, series)) {
            return known;
        }
        // The definition of a series may be lost: its samples count where nothing is asked of it.
        let label = self.labels.get(&series);
        let is_wanted = label.is_some() || self.query.conditions.is_empty();
        let group = is_wanted.then(|| {
            let mut label = label.cloned().unwrap_or_default();
            label.service = service;
            let label = coarse(label, self.query.by);
            let next = self.groups.len() as u32;
            *self.of_row.entry(label).or_insert_with_key(|label| {
                self.groups.push(label.clone());
                next
            })
        });
        self.of_series.insert((service, series), group);
        group
    }
}

/// Whether the answer depends on the series of a sample, and not on its service alone.
pub(super) fn needs_labels(query: &Query) -> bool {
    query.by != By::Service || !query.conditions.is_empty()
}

/// A series without what the query does not tell apart.
fn coarse(label: LabelRow, by: By) -> LabelRow {
    let nothing = LabelRow::default();
    match by {
        By::Thread => label,
        By::Process => LabelRow {
            series: 0,
            tid: 0,
            thread: 0,
            number: 0,
            ..label
        },
        By::Host => LabelRow {
            service: label.service,
            host: label.host,
            version: label.version,
            container: label.container,
            pod: label.pod,
            labels: label.labels,
            ..nothing
        },
        By::Service => LabelRow {
            service: label.service,
            ..nothing
        },
    }
}

/// The files of another table of a part's hour and bucket: segments before joined ones.
pub(super) fn files(store: &dyn Store, part: &Part, table: &str) -> Result<Vec<Entry>, Error> {
    let mut files = store.list(&part.partition.folder(table, true))?;
    debug_assert!(files.iter().all(|file| file.path.starts_with(FRESH)));
    files.extend(store.list(&part.partition.folder(table, false))?);
    files.retain(|file| file.path.ends_with(".parquet"));
    Ok(files)
}

/// The series of a part that fulfil the conditions.
pub(super) fn labels(
    store: &dyn Store,
    query: &Query,
    part: &Part,
    texts: &mut Texts,
    told: &mut Vec<String>,
) -> Result<FxHashMap<i64, LabelRow>, Error> {
    let services = Services::new(query, texts);
    let mut found = FxHashMap::default();
    for entry in files(store, part, LabelRow::NAME)? {
        let into = (&mut *texts, &mut *told);
        matching::rows::<LabelRow>((store, query), &entry, into, |group, rows, texts| {
            for row in LabelRow::read(group, rows, texts)? {
                let mut conditions = query.conditions.iter();
                if services.has(row.service) && conditions.all(|one| holds(one, &row, texts)) {
                    found.entry(row.series).or_insert(row);
                }
            }
            Ok(())
        })?;
    }
    Ok(found)
}

/// The value of a key of a query in a row.
pub(super) fn value_of<'t>(key: &str, row: &LabelRow, texts: &'t Texts) -> Cow<'t, str> {
    Cow::Borrowed(match key {
        "host" => texts.get(row.host),
        "version" => texts.get(row.version),
        "container" => texts.get(row.container),
        "pod" => texts.get(row.pod),
        "command" => texts.get(row.command),
        "runtime" => texts.get(row.runtime),
        "thread" => texts.get(row.thread),
        "pid" => return Cow::Owned(row.pid.to_string()),
        key => {
            let key = key.strip_prefix("label.").unwrap_or(key);
            let label = row
                .labels
                .iter()
                .find(|(known, _)| texts.get(*known) == key);
            label.map_or("", |&(_, value)| texts.get(value))
        }
    })
}

fn holds(condition: &Condition, row: &LabelRow, texts: &Texts) -> bool {
    let value = value_of(&condition.key, row, texts);
    condition.values.iter().any(|wanted| *wanted == value)
}

/// What the segments of a part say of themselves.
pub(super) fn segments(
    store: &dyn Store,
    query: &Query,
    part: &Part,
    texts: &mut Texts,
    told: &mut Vec<String>,
) -> Result<Vec<SegmentRow>, Error> {
    let (services, types) = (Services::new(query, texts), matching::types(query, texts));
    let mut found = Vec::new();
    for entry in files(store, part, SegmentRow::NAME)? {
        let into = (&mut *texts, &mut *told);
        matching::rows::<SegmentRow>((store, query), &entry, into, |group, rows, texts| {
            let rows = SegmentRow::read(group, rows, texts)?.into_iter();
            found.extend(rows.filter(|row| {
                let overlaps = row.starts < query.to && query.from < row.ends;
                overlaps && types.contains(&row.kind) && services.has(row.service)
            }));
            Ok(())
        })?;
    }
    Ok(found)
}

/// The sums of all parts, in the order of the parts.
pub(super) fn together(query: &Query, parts: Vec<Sums>) -> Sums {
    let is_one = parts.len() == 1;
    let mut all = Sums::default();
    let mut groups: FxHashMap<LabelRow, u32> = FxHashMap::default();
    let most = parts.iter().map(|part| part.rows.len()).sum();
    let mut places: FxHashMap<Key, usize> = FxHashMap::default();
    let mut stacks: FxHashSet<Id> = FxHashSet::default();
    if !is_one {
        places.reserve(most);
    }
    stacks.reserve(most);
    all.rows.reserve(most);
    // A stack of several services is defined in the bucket of each, so one place is enough.
    for part in parts {
        let mut new = FxHashSet::default();
        new.reserve(part.rows.len());
        let mut texts = Carried::default();
        let carried_groups: Vec<u32> = part
            .groups
            .into_iter()
            .map(|row| {
                let row = texts.label(row, &part.texts, &mut all.texts);
                let next = all.groups.len() as u32;
                *groups.entry(row).or_insert_with_key(|row| {
                    all.groups.push(row.clone());
                    next
                })
            })
            .collect();
        for (key, sum) in part.rows {
            if stacks.insert(key.stack) {
                new.insert(key.stack);
            }
            let mut carry = |text| texts.carry(text, &part.texts, &mut all.texts);
            let key = Key {
                group: carried_groups[key.group as usize],
                state: carry(key.state),
                gil: carry(key.gil),
                span: carry(key.span),
                ..key
            };
            // Buckets have different services; hours may have the same sums.
            if is_one {
                all.rows.push((key, sum));
                continue;
            }
            match places.entry(key) {
                Place::Occupied(place) => all.rows[*place.get()].1.add(sum),
                Place::Vacant(place) => {
                    place.insert(all.rows.len());
                    all.rows.push((key, sum));
                }
            }
        }
        for row in part.segments {
            let mut carry = |text| texts.carry(text, &part.texts, &mut all.texts);
            let (service, host, kind) = (carry(row.service), carry(row.host), carry(row.kind));
            all.segments.push(SegmentRow {
                service,
                host,
                kind,
                ..row
            });
        }
        all.told.extend(part.told);
        all.wanted.push(new);
    }
    debug_assert!(query.step.is_some() || all.rows.iter().all(|(key, _)| key.step == 0));
    all.order();
    all
}

impl Sums {
    /// Puts groups and rows into the order of their contents.
    fn order(&mut self) {
        let Self {
            texts,
            groups,
            rows,
            ..
        } = self;
        let text = |text: Text| texts.get(text);
        let key = |row: &LabelRow| {
            let place = [
                row.service,
                row.host,
                row.version,
                row.container,
                row.pod,
                row.command,
                row.runtime,
                row.thread,
            ];
            let labels = row.labels.iter();
            let labels: Vec<_> = labels.map(|&(key, of)| (text(key), text(of))).collect();
            let numbers = (row.pid, row.tid, row.number, row.series);
            (place.map(text), numbers, labels)
        };
        let mut places: Vec<u32> = (0..groups.len() as u32).collect();
        places.sort_by_cached_key(|&at| key(&groups[at as usize]));
        let mut ranks = vec![0_u32; groups.len()];
        for (rank, &at) in (0..).zip(&places) {
            ranks[at as usize] = rank;
        }
        *groups = places
            .iter()
            .map(|&at| groups[at as usize].clone())
            .collect();
        for (key, _) in &mut *rows {
            key.group = ranks[key.group as usize];
        }
        rows.sort_unstable_by(|(one, sum), (other, other_sum)| {
            let first = |key: &Key, sum: &Sum| (sum.first, key.stack, key.group, key.step);
            let rest = |key: &Key| [key.state, key.gil, key.span].map(text);
            first(one, sum)
                .cmp(&first(other, other_sum))
                .then_with(|| rest(one).cmp(&rest(other)))
        });
    }
}

/// The numbers of one part's texts among all texts.
#[derive(Default)]
struct Carried(FxHashMap<Text, Text>);

impl Carried {
    fn carry(&mut self, text: Text, from: &Texts, to: &mut Texts) -> Text {
        match text {
            0 => 0,
            _ => *self.0.entry(text).or_insert_with(|| to.add(from.get(text))),
        }
    }

    fn label(&mut self, row: LabelRow, from: &Texts, to: &mut Texts) -> LabelRow {
        let mut carry = |text| self.carry(text, from, to);
        LabelRow {
            service: carry(row.service),
            host: carry(row.host),
            version: carry(row.version),
            container: carry(row.container),
            pod: carry(row.pod),
            command: carry(row.command),
            runtime: carry(row.runtime),
            thread: carry(row.thread),
            labels: row
                .labels
                .into_iter()
                .map(|(key, value)| (carry(key), carry(value)))
                .collect(),
            ..row
        }
    }
}
