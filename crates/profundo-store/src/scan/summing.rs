//! Who adds up the samples: this process, or other ones that share the work.
//!
//! What comes before is the same for all, the files that a query needs, and so is what comes after,
//! the profile of the sums. The sums are of whole numbers and are put in order later. So the answer
//! is the same, byte for byte, whatever added up the samples.

use std::collections::hash_map::Entry as Place;
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::matching::{self, Services};
use super::plan::Part;
use super::sums::{Groups, Key, Sum, Sums, labels, needs_labels, segments};
use crate::file::Opened;
use crate::ids::Id;
use crate::store::{Entry, Store};
use crate::table::{SampleRow, Table, whole_squares};
use crate::texts::Text;
use crate::{Error, Query};

/// What adds up samples.
pub trait Summing: Sync {
    /// The sums of each part of the work, in their order.
    fn sums(&self, work: &Work<'_>) -> Result<Vec<Sums>, Error>;
}

/// Adds up samples in this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Here;

impl Summing for Here {
    fn sums(&self, work: &Work<'_>) -> Result<Vec<Sums>, Error> {
        super::each(work.threads, work.parts, |part| of_part(work, part))
    }
}

/// The files of a part that are tables of samples, and what is wrong with the others.
pub type Readable<'w> = (Vec<&'w Entry>, Vec<String>);

/// The samples that a query is about, and where they are.
#[derive(Debug, Clone, Copy)]
pub struct Work<'w> {
    pub(super) store: &'w dyn Store,
    pub(super) query: &'w Query,
    pub(super) parts: &'w [Part],
    pub(super) threads: usize,
}

impl<'w> Work<'w> {
    /// The query.
    pub fn query(&self) -> &'w Query {
        self.query
    }

    /// The files of each hour and bucket.
    pub fn parts(&self) -> &'w [Part] {
        self.parts
    }

    /// Whether a sum must have the part and the series of its samples. Otherwise the first part of
    /// them is enough, and the series does not matter.
    pub fn needs_series(&self) -> bool {
        needs_labels(self.query)
    }

    /// The sums of each part, still empty.
    pub fn gatherings(&self) -> Result<Vec<Gathering<'w>>, Error> {
        super::each(self.threads, self.parts, |part| Gathering::new(self, part))
    }

    /// For each part, its files.
    pub fn readable(&self) -> Result<Vec<Readable<'w>>, Error> {
        super::each(self.threads, self.parts, |part: &'w Part| {
            let (mut files, mut told) = (Vec::new(), Vec::new());
            for entry in &part.samples {
                match Opened::new::<SampleRow>(self.store, entry) {
                    Ok(_) => files.push(entry),
                    Err(error) if error.is_of_a_file() => told.push(error.to_string()),
                    Err(error) => return Err(error),
                }
            }
            Ok((files, told))
        })
    }

    /// The sums of gatherings to which all samples were added.
    pub fn finish(&self, gatherings: Vec<Gathering<'w>>) -> Result<Vec<Sums>, Error> {
        let held = gatherings.into_iter().map(|one| Mutex::new(Some(one)));
        let held: Vec<Mutex<Option<Gathering<'w>>>> = held.collect();
        super::each(self.threads, &held, |one| {
            let one = one.lock().unwrap_or_else(PoisonError::into_inner).take();
            one.map_or_else(|| Ok(Sums::default()), Gathering::finish)
        })
    }

    /// [`Error::Gone`] if a file has gone since the work was planned, so that it must begin anew.
    pub fn is_there(&self) -> Result<(), Error> {
        super::each(self.threads, self.parts, |part| part.is_there(self.store))?;
        Ok(())
    }
}

/// Samples that are alike: what tells them from others, as it stands in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Alike {
    /// The service.
    pub service: Text,
    /// The thread.
    pub series: i64,
    /// The stack.
    pub stack: Id,
    /// The activity of the thread.
    pub state: Text,
    /// The state of the interpreter's lock.
    pub gil: Text,
    /// The path of the innermost span.
    pub span: Text,
    /// The number of the step of time; 0 for a query without steps.
    pub step: i64,
}

/// The sum of samples that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// Nanoseconds or bytes.
    pub value: u64,
    /// The number of samples.
    pub count: u64,
    /// The sum of [`whole_squares`].
    pub squares: u128,
    /// The least time.
    pub first: i64,
    /// The greatest one.
    pub last: i64,
}

/// The sums of a part in the making.
#[derive(Debug)]
pub struct Gathering<'w> {
    work: Work<'w>,
    part: &'w Part,
    groups: Groups<'w>,
    places: FxHashMap<Key, usize>,
    has_any: bool,
    sums: Sums,
}

impl<'w> Gathering<'w> {
    fn new(work: &Work<'w>, part: &'w Part) -> Result<Self, Error> {
        let mut sums = Sums::default();
        let Work { store, query, .. } = *work;
        let labels = match needs_labels(query) {
            true => labels(store, query, part, &mut sums.texts, &mut sums.told)?,
            false => FxHashMap::default(),
        };
        Ok(Self {
            work: *work,
            part,
            groups: Groups::new(query, labels),
            places: FxHashMap::default(),
            has_any: false,
            sums,
        })
    }

    /// The number of a text.
    pub fn text(&mut self, text: &str) -> Text {
        self.sums.texts.add(text)
    }

    /// The series that the query's conditions choose. `None` where there are no conditions.
    pub fn chosen(&self) -> Option<impl Iterator<Item = i64>> {
        let has_conditions = !self.work.query.conditions.is_empty();
        has_conditions.then(|| self.groups.labels.keys().copied())
    }

    /// Adds samples of the query's services, type and time.
    pub fn add(&mut self, alike: &Alike, amount: &Amount) {
        let Some(group) = self.groups.of(alike.service, alike.series) else {
            return;
        };
        let key = Key {
            stack: alike.stack,
            group,
            state: alike.state,
            gil: alike.gil,
            span: alike.span,
            step: alike.step,
        };
        let more = Sum {
            value: amount.value,
            count: amount.count,
            squares: amount.squares,
            first: amount.first,
            last: amount.last,
        };
        match self.places.entry(key) {
            Place::Occupied(place) => self.sums.rows[*place.get()].1.add(more),
            Place::Vacant(place) => {
                place.insert(self.sums.rows.len());
                self.sums.rows.push((key, more));
            }
        }
    }

    /// Notes that the part has samples, where those of an earlier part have them in their sums. It
    /// is not asked for where the sums have the series.
    pub fn has_samples(&mut self) {
        self.has_any = true;
    }

    /// Adds what could not be read.
    pub fn tell(&mut self, told: String) {
        self.sums.told.push(told);
    }

    /// The sums, with what the segments of the part say of themselves.
    fn finish(mut self) -> Result<Sums, Error> {
        self.sums.groups = self.groups.groups;
        if self.has_any || !self.sums.rows.is_empty() {
            let Work { store, query, .. } = self.work;
            let into = (&mut self.sums.texts, &mut self.sums.told);
            self.sums.segments = segments(store, query, self.part, into.0, into.1)?;
        }
        Ok(self.sums)
    }
}

/// The sums of a part, read here.
fn of_part<'w>(work: &Work<'w>, part: &'w Part) -> Result<Sums, Error> {
    let Work { store, query, .. } = *work;
    let mut gathering = Gathering::new(work, part)?;
    let texts = &mut gathering.sums.texts;
    let (services, types) = (Services::new(query, texts), matching::types(query, texts));
    // The rows of a file are added while its texts grow.
    let (mut texts, mut told) = (
        std::mem::take(&mut gathering.sums.texts),
        std::mem::take(&mut gathering.sums.told),
    );
    for entry in &part.samples {
        let into = (&mut texts, &mut told);
        matching::rows::<SampleRow>((store, query), entry, into, |group, rows, texts| {
            for row in SampleRow::read(group, rows, texts)? {
                let is_in = (query.from..query.to).contains(&row.ts)
                    && types.contains(&row.kind)
                    && services.has(row.service);
                if !is_in {
                    continue;
                }
                let alike = Alike {
                    service: row.service,
                    series: row.series,
                    stack: row.stack,
                    state: row.state,
                    gil: row.gil,
                    span: row.span,
                    step: query.step.map_or(0, |step| row.ts.div_euclid(step)),
                };
                let amount = Amount {
                    value: row.value.max(0).cast_unsigned(),
                    count: row.count.max(0).cast_unsigned(),
                    squares: whole_squares(row.value, row.count, row.spread),
                    first: row.ts,
                    last: row.ts,
                };
                gathering.add(&alike, &amount);
            }
            Ok(())
        })?;
    }
    (gathering.sums.texts, gathering.sums.told) = (texts, told);
    gathering.finish()
}
