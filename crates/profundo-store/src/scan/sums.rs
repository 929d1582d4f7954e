//! Samples added up over the time of a query, by stack and by what the query tells apart.

use std::collections::hash_map::Entry as Place;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet};

use super::matching::{self, Services};
use super::plan::Part;
use crate::ids::Id;
use crate::names::FRESH;
use crate::query::{By, Condition};
use crate::store::{Entry, Store};
use crate::table::{LabelRow, SampleRow, SegmentRow, Table, squares};
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
    pub(super) squares: f64,
    pub(super) first: i64,
    pub(super) last: i64,
}

impl Sum {
    fn add(&mut self, more: Self) {
        self.value = self.value.saturating_add(more.value);
        self.count = self.count.saturating_add(more.count);
        self.squares += more.squares;
        self.first = self.first.min(more.first);
        self.last = self.last.max(more.last);
    }
}

/// Sums, and what their numbers mean.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) texts: Texts,
    /// What the query tells apart. Labels that it does not ask for are empty.
    pub(super) groups: Vec<LabelRow>,
    /// The sums in the order in which they were found.
    pub(super) rows: Vec<(Key, Sum)>,
    pub(super) segments: Vec<SegmentRow>,
    /// What could not be read.
    pub(super) told: Vec<String>,
    /// By part, the stacks that were found in it first.
    pub(super) wanted: Vec<FxHashSet<Id>>,
}

/// The sums of a part.
pub(super) fn read(store: &dyn Store, query: &Query, part: &Part) -> Result<Sums, Error> {
    let mut sums = Sums::default();
    let (mut texts, mut told) = (Texts::default(), Vec::new());
    let needs_labels = query.by != By::Service || !query.conditions.is_empty();
    let labels = match needs_labels {
        true => labels(store, query, part, &mut texts, &mut told)?,
        false => FxHashMap::default(),
    };
    let mut groups = Groups::new(query, labels);
    let mut places: FxHashMap<Key, usize> = FxHashMap::default();
    let (services, kind) = (
        Services::new(query, &mut texts),
        texts.add(query.kind.name()),
    );
    for entry in &part.samples {
        let into = (&mut texts, &mut told);
        matching::rows::<SampleRow>((store, query), entry, into, |group, rows, texts| {
            for row in SampleRow::read(group, rows, texts)? {
                let is_in = (query.from..query.to).contains(&row.ts)
                    && row.kind == kind
                    && services.has(row.service);
                let Some(group) = is_in.then(|| groups.of(&row)).flatten() else {
                    continue;
                };
                let key = Key {
                    stack: row.stack,
                    group,
                    state: row.state,
                    gil: row.gil,
                    span: row.span,
                    step: query.step.map_or(0, |step| row.ts.div_euclid(step)),
                };
                let more = Sum {
                    value: row.value.max(0).cast_unsigned(),
                    count: row.count.max(0).cast_unsigned(),
                    squares: squares(row.value, row.count, row.spread),
                    first: row.ts,
                    last: row.ts,
                };
                match places.entry(key) {
                    Place::Occupied(place) => sums.rows[*place.get()].1.add(more),
                    Place::Vacant(place) => {
                        place.insert(sums.rows.len());
                        sums.rows.push((key, more));
                    }
                }
            }
            Ok(())
        })?;
    }
    sums.groups = groups.groups;
    if !sums.rows.is_empty() {
        sums.segments = segments(store, query, part, &mut texts, &mut told)?;
    }
    (sums.texts, sums.told) = (texts, told);
    Ok(sums)
}

/// What the query tells apart, by series.
struct Groups<'q> {
    query: &'q Query,
    labels: FxHashMap<i64, LabelRow>,
    /// `None` for series that the query does not want.
    of_series: FxHashMap<(Text, i64), Option<u32>>,
    of_row: FxHashMap<LabelRow, u32>,
    groups: Vec<LabelRow>,
}

impl<'q> Groups<'q> {
    fn new(query: &'q Query, labels: FxHashMap<i64, LabelRow>) -> Self {
        Self {
            query,
            labels,
            of_series: FxHashMap::default(),
            of_row: FxHashMap::default(),
            groups: Vec::new(),
        }
    }

    fn of(&mut self, row: &SampleRow) -> Option<u32> {
        let series = match self.query.by == By::Service && self.query.conditions.is_empty() {
            true => 0,
            false => row.series,
        };
        if let Some(&known) = self.of_series.get(&(row.service, series)) {
            return known;
        }
        // The definition of a series may be lost: its samples count where nothing is asked of it.
        let label = self.labels.get(&series);
        let is_wanted = label.is_some() || self.query.conditions.is_empty();
        let group = is_wanted.then(|| {
            let mut label = label.cloned().unwrap_or_default();
            label.service = row.service;
            let label = coarse(label, self.query.by);
            let next = self.groups.len() as u32;
            *self.of_row.entry(label).or_insert_with_key(|label| {
                self.groups.push(label.clone());
                next
            })
        });
        self.of_series.insert((row.service, series), group);
        group
    }
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
fn labels(
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

fn holds(condition: &Condition, row: &LabelRow, texts: &Texts) -> bool {
    let pid;
    let value = match condition.key.as_str() {
        "host" => texts.get(row.host),
        "version" => texts.get(row.version),
        "container" => texts.get(row.container),
        "pod" => texts.get(row.pod),
        "command" => texts.get(row.command),
        "runtime" => texts.get(row.runtime),
        "thread" => texts.get(row.thread),
        "pid" => {
            pid = row.pid.to_string();
            &pid
        }
        key => {
            let key = key.strip_prefix("label.").unwrap_or(key);
            let label = row
                .labels
                .iter()
                .find(|(known, _)| texts.get(*known) == key);
            label.map_or("", |&(_, value)| texts.get(value))
        }
    };
    condition.values.iter().any(|wanted| wanted == value)
}

fn segments(
    store: &dyn Store,
    query: &Query,
    part: &Part,
    texts: &mut Texts,
    told: &mut Vec<String>,
) -> Result<Vec<SegmentRow>, Error> {
    let (services, kind) = (Services::new(query, texts), texts.add(query.kind.name()));
    let mut found = Vec::new();
    for entry in files(store, part, SegmentRow::NAME)? {
        let into = (&mut *texts, &mut *told);
        matching::rows::<SegmentRow>((store, query), &entry, into, |group, rows, texts| {
            let rows = SegmentRow::read(group, rows, texts)?.into_iter();
            found.extend(rows.filter(|row| {
                let overlaps = row.starts < query.to && query.from < row.ends;
                overlaps && row.kind == kind && services.has(row.service)
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
    all
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
