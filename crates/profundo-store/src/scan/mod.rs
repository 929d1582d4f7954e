//! A query's answer. The files of each hour and bucket are read by themselves, on several cores,
//! and put together in their order, so the answer depends on the store alone.
//!
//! Files come and go meanwhile. Segments are listed before joined files, and a joined file says
//! which segments it replaces. So a row is seen once. A file that has gone before it was read
//! makes the query begin anew.

mod definitions;
mod even;
mod matching;
mod plan;
mod present;
mod profile;
mod summing;
mod sums;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use profundo_model::Profile;

use crate::ids::Id;
use crate::store::Store;
use crate::{Error, Query};

pub use plan::Part;
pub(crate) use plan::{REPLACES, replaced_by};
pub use present::{Contents, Present, hours, present, services, values};
pub use summing::{Alike, Amount, Gathering, Here, Readable, Summing, Work};
pub use sums::Sums;

/// The number of times that a query begins anew.
const ATTEMPTS: u32 = 5;

/// The answer to a query, read by this number of threads.
pub fn answer(store: &dyn Store, query: &Query, threads: usize) -> Result<Profile, Error> {
    answer_by(&Here, store, query, threads)
}

/// The answer to a query whose samples are added up elsewhere. It is the same one, byte for byte.
pub fn answer_by(
    summing: &dyn Summing,
    store: &dyn Store,
    query: &Query,
    threads: usize,
) -> Result<Profile, Error> {
    again(|| Totals::read(summing, store, query, threads)?.named(store, threads))
}

/// The sums of a query by stack, without the names of their frames.
pub fn totals<'q>(
    store: &dyn Store,
    query: &'q Query,
    threads: usize,
) -> Result<Totals<'q>, Error> {
    again(|| Totals::read(&Here, store, query, threads))
}

/// Does what begins anew where a file has gone.
fn again<T>(attempt: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    for _ in 0..ATTEMPTS {
        match attempt() {
            Err(Error::Gone { .. }) => {}
            done => return done,
        }
    }
    Err(Error::Unsteady { times: ATTEMPTS })
}

/// The sums of a query by stack and by what it tells apart.
#[derive(Debug)]
pub struct Totals<'q> {
    query: &'q Query,
    parts: Vec<plan::Part>,
    sums: sums::Sums,
}

impl<'q> Totals<'q> {
    fn read(
        summing: &dyn Summing,
        store: &dyn Store,
        query: &'q Query,
        threads: usize,
    ) -> Result<Self, Error> {
        let parts = plan::parts(store, query)?;
        let work = Work {
            store,
            query,
            parts: &parts,
            threads,
        };
        let sums = sums::together(query, summing.sums(&work)?);
        Ok(Self { query, parts, sums })
    }

    /// The id of a stack, its nanoseconds or bytes, and its samples. A stack comes once for each
    /// thread or whatever the query tells apart, in an order that depends on the store alone.
    pub fn rows(&self) -> impl Iterator<Item = (Id, u64, u64)> {
        let rows = self.sums.rows.iter();
        rows.map(|(key, sum)| (key.stack, sum.value, sum.count))
    }

    /// The same as a profile, whose names are read now. [`Error::Gone`] if the store has changed so
    /// that the query must begin anew.
    pub fn named(&self, store: &dyn Store, threads: usize) -> Result<Profile, Error> {
        let Self { query, parts, sums } = self;
        let wanted: Vec<_> = parts.iter().zip(&sums.wanted).collect();
        let definitions = each(threads, &wanted, |(part, wanted)| {
            definitions::read(store, query, part, wanted)
        })?;
        Ok(profile::build(query, sums, definitions))
    }
}

/// The results of `work` for each item, in the order of the items.
fn each<'i, I: Sync, T: Send>(
    threads: usize,
    items: &'i [I],
    work: impl Fn(&'i I) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    if threads <= 1 || items.len() <= 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<T, Error>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            scope.spawn(|| {
                // Relaxed: a number for each, no more.
                while let at = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(item) = items.get(at)
                {
                    let result = work(item);
                    let is_error = result.is_err();
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((at, result));
                    if is_error {
                        next.store(items.len(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|&(at, _)| at);
    done.into_iter().map(|(_, result)| result).collect()
}
