//! What there is in a store: services and versions with their hosts, times and sums. The stacks are
//! not read for it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::matching::{self, Services};
use super::plan::{self, Part};
use super::{again, each, sums};
use crate::names::{FRESH, HOUR, Partition};
use crate::store::Store;
use crate::table::{Kind, SampleRow, Table};
use crate::texts::{Text, Texts};
use crate::{Error, Query};

/// A version of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// The service.
    pub service: String,
    /// Its version; empty where none is known.
    pub version: String,
    /// The hosts that it ran on.
    pub hosts: BTreeSet<String>,
    /// The number of its processes.
    pub processes: usize,
    /// The begin of its first step of time, in milliseconds since 1970.
    pub first: i64,
    /// The begin of its last step of time.
    pub last: i64,
    /// Nanoseconds, or bytes.
    pub value: u64,
    /// The number of samples.
    pub count: u64,
}

/// The contents of a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contents {
    /// The versions of the services, in the order of the services and of their first appearance.
    pub rows: Vec<Present>,
    /// What could not be read.
    pub told: Vec<String>,
}

/// The services and versions that a query finds.
pub fn present(store: &dyn Store, query: &Query, threads: usize) -> Result<Contents, Error> {
    again(|| {
        let parts = plan::parts(store, query)?;
        let read = each(threads, &parts, |part| of_part(store, query, part))?;
        let mut contents = Contents::default();
        let mut all: BTreeMap<(String, String), Sum> = BTreeMap::new();
        for (rows, told) in read {
            contents.told.extend(told);
            for (key, sum) in rows {
                all.entry(key).or_default().add(sum);
            }
        }
        let rows = all.into_iter().map(|((service, version), sum)| Present {
            service,
            version,
            hosts: sum.hosts,
            processes: sum.processes.len(),
            first: sum.first,
            last: sum.last,
            value: sum.value,
            count: sum.count,
        });
        contents.rows = rows.collect();
        (contents.rows).sort_by(|a, b| (&a.service, a.first).cmp(&(&b.service, b.first)));
        Ok(contents)
    })
}

#[derive(Debug)]
struct Sum {
    hosts: BTreeSet<String>,
    /// By host and number.
    processes: BTreeSet<(String, i64)>,
    first: i64,
    last: i64,
    value: u64,
    count: u64,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            hosts: BTreeSet::new(),
            processes: BTreeSet::new(),
            first: i64::MAX,
            last: i64::MIN,
            value: 0,
            count: 0,
        }
    }
}

impl Sum {
    fn add(&mut self, more: Self) {
        self.hosts.extend(more.hosts);
        self.processes.extend(more.processes);
        self.add_samples(more.first..more.last, more.value, more.count);
    }

    fn add_samples(&mut self, time: Range<i64>, value: u64, count: u64) {
        self.first = self.first.min(time.start);
        self.last = self.last.max(time.end);
        self.value = self.value.saturating_add(value);
        self.count = self.count.saturating_add(count);
    }
}

/// By service and version.
type Sums = Vec<((String, String), Sum)>;

fn of_part(store: &dyn Store, query: &Query, part: &Part) -> Result<(Sums, Vec<String>), Error> {
    let (mut texts, mut told) = (Texts::default(), Vec::new());
    let labels = sums::labels(store, query, part, &mut texts, &mut told)?;
    let kind = texts.add(query.kind.name());
    let services = Services::new(query, &mut texts);
    let mut by_series: FxHashMap<(Text, i64), Sum> = FxHashMap::default();
    for entry in &part.samples {
        let into = (&mut texts, &mut told);
        matching::rows::<SampleRow>((store, query), entry, into, |group, rows, texts| {
            let mut text = |name| group.texts(name, rows.clone(), texts);
            let (service, of_kind) = (text("service")?, text("type")?);
            let long = |name| group.longs(name, rows.clone());
            let (ts, series) = (long("ts")?, long("series")?);
            let (value, count) = (long("value")?, long("count")?);
            for at in 0..rows.len() {
                let time = ts.get(at);
                let is_in = (query.from..query.to).contains(&time)
                    && of_kind.get(at) == kind
                    && services.has(service.get(at));
                if is_in {
                    let sum = by_series.entry((service.get(at), series.get(at)));
                    sum.or_default().add_samples(
                        time..time,
                        value.get(at).max(0).cast_unsigned(),
                        count.get(at).max(0).cast_unsigned(),
                    );
                }
            }
            Ok(())
        })?;
    }
    let mut found: BTreeMap<(String, String), Sum> = BTreeMap::new();
    for ((service, series), mut sum) in by_series {
        let label = labels.get(&series);
        if label.is_none() && !query.conditions.is_empty() {
            continue;
        }
        let version = label.map_or("", |label| texts.get(label.version));
        if let Some(label) = label {
            let host = texts.get(label.host).to_owned();
            sum.processes.insert((host.clone(), label.pid));
            sum.hosts.insert(host);
        }
        let key = (texts.get(service).to_owned(), version.to_owned());
        found.entry(key).or_default().add(sum);
    }
    Ok((found.into_iter().collect(), told))
}

/// The services that have anything in the time of a query, whatever else it asks for, with the
/// types that they have.
pub fn services(
    store: &dyn Store,
    query: &Query,
    threads: usize,
) -> Result<BTreeMap<String, BTreeSet<Kind>>, Error> {
    again(|| {
        let mut found: BTreeMap<String, BTreeSet<Kind>> = BTreeMap::new();
        for kind in Kind::ALL {
            let query = Query {
                services: Vec::new(),
                conditions: Vec::new(),
                kind,
                ..query.clone()
            };
            let parts = plan::parts(store, &query)?;
            let read = each(threads, &parts, |part| {
                let (mut texts, mut told) = (Texts::default(), Vec::new());
                let rows = sums::segments(store, &query, part, &mut texts, &mut told)?;
                let names = rows
                    .into_iter()
                    .map(|row| texts.get(row.service).to_owned());
                Ok(names.collect::<BTreeSet<String>>())
            })?;
            for service in read.into_iter().flatten() {
                found.entry(service).or_default().insert(kind);
            }
        }
        Ok(found)
    })
}

/// The values that a key of the query has in its time, for its services, without its conditions.
pub fn values(
    store: &dyn Store,
    query: &Query,
    key: &str,
    threads: usize,
) -> Result<BTreeSet<String>, Error> {
    let query = Query {
        conditions: Vec::new(),
        ..query.clone()
    };
    again(|| {
        let parts = plan::parts(store, &query)?;
        let read = each(threads, &parts, |part| {
            let (mut texts, mut told) = (Texts::default(), Vec::new());
            let rows = sums::labels(store, &query, part, &mut texts, &mut told)?;
            let values = rows
                .values()
                .map(|row| sums::value_of(key, row, &texts).into_owned());
            Ok(values.collect::<BTreeSet<String>>())
        })?;
        Ok(read.into_iter().flatten().collect())
    })
}

/// The time from the first hour to the last one that has files, in milliseconds since 1970. `None`
/// for a store without any.
pub fn hours(store: &dyn Store) -> Result<Option<Range<i64>>, Error> {
    let mut found: Option<Range<i64>> = None;
    for prefix in [FRESH, ""] {
        for entry in store.list(&format!("{prefix}{}/", SampleRow::NAME))? {
            let Some(Partition { hour, .. }) = Partition::of_path(&entry.path) else {
                continue;
            };
            let (start, end) = (hour * HOUR, (hour + 1) * HOUR);
            found = Some(match found {
                None => start..end,
                Some(known) => known.start.min(start)..known.end.max(end),
            });
        }
    }
    Ok(found)
}
