//! A query's answer. The files of each hour and bucket are read by themselves, on several cores,
//! and put together in their order, so the answer depends on the store alone.
//!
//! Files come and go meanwhile. Segments are listed before joined files, and a joined file says
//! which segments it replaces. So a row is seen once. A file that has gone before it was read
//! makes the query begin anew.

mod definitions;
mod matching;
mod plan;
mod profile;
mod sums;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use profundo_model::Profile;

use crate::store::Store;
use crate::{Error, Query};

pub(crate) use plan::{REPLACES, replaced_by};

/// The number of times that a query begins anew.
const ATTEMPTS: u32 = 5;

/// The answer to a query, read by this number of threads.
pub fn answer(store: &dyn Store, query: &Query, threads: usize) -> Result<Profile, Error> {
    for _ in 0..ATTEMPTS {
        match attempt(store, query, threads) {
            Err(Error::Gone { .. }) => {}
            done => return done,
        }
    }
    Err(Error::Unsteady { times: ATTEMPTS })
}

fn attempt(store: &dyn Store, query: &Query, threads: usize) -> Result<Profile, Error> {
    let parts = plan::parts(store, query)?;
    let read = each(threads, &parts, |part| sums::read(store, query, part))?;
    let sums = sums::together(query, read);
    let wanted: Vec<_> = parts.iter().zip(&sums.wanted).collect();
    let definitions = each(threads, &wanted, |(part, wanted)| {
        definitions::read(store, query, part, wanted)
    })?;
    Ok(profile::build(query, &sums, definitions))
}

/// The results of `work` for each item, in the order of the items.
fn each<I: Sync, T: Send>(
    threads: usize,
    items: &[I],
    work: impl Fn(&I) -> Result<T, Error> + Sync,
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
