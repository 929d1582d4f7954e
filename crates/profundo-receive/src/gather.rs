//! The segment that is open: its rows in memory, and its bodies in the journal.

use std::io;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use profundo_pushed::{Arrived, Decoded, open};
use profundo_store::{Batch, Identity, Writer};

use crate::journal::Journal;
use crate::{Counts, Error, Limits, Refusal};

/// What takes bodies.
#[derive(Debug)]
pub(crate) struct Gather {
    pub(crate) limits: Limits,
    open: Mutex<Open>,
    /// Told when a segment should be written before its time.
    early: Condvar,
    counts: Mutex<Counts>,
    /// Why nothing is taken now.
    full: Mutex<Option<String>>,
    folder: PathBuf,
    name: String,
}

/// The open segment.
#[derive(Debug)]
struct Open {
    writer: Writer,
    batch: Batch,
    journal: Journal,
    number: u64,
    since: Instant,
    is_ending: bool,
}

/// A segment whose time is over.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) batch: Batch,
    pub(crate) journal: PathBuf,
}

impl Gather {
    /// Takes bodies from now on. `name` tells this writer from all others, and its journals have
    /// numbers from `number` on.
    pub(crate) fn new(
        host: &str,
        name: &str,
        folder: PathBuf,
        number: u64,
        limits: Limits,
    ) -> Result<Self, Error> {
        let mut writer = writer(host, name);
        let batch = writer.batch(number, now());
        let journal = Journal::create(&folder, number, name);
        let journal = journal.map_err(|error| failed("write", &folder, error))?;
        Ok(Self {
            limits,
            open: Mutex::new(Open {
                writer,
                batch,
                journal,
                number,
                since: Instant::now(),
                is_ending: false,
            }),
            early: Condvar::new(),
            counts: Mutex::default(),
            full: Mutex::default(),
            folder,
            name: name.to_owned(),
        })
    }

    /// Takes a body. It is in the journal once this returns.
    pub(crate) fn take(&self, arrived: &Arrived) -> Result<(), Refusal> {
        let taken = self.try_take(arrived);
        let mut counts = self.counts();
        match &taken {
            Ok(samples) => {
                counts.bodies += 1;
                counts.bytes += arrived.body.len() as u64;
                counts.samples += samples;
            }
            Err(refusal) => count(&mut counts, refusal),
        }
        taken.map(drop)
    }

    /// Counts a body that was refused before it was whole.
    pub(crate) fn refused(&self, refusal: &Refusal) {
        count(&mut self.counts(), refusal);
    }

    fn try_take(&self, arrived: &Arrived) -> Result<u64, Refusal> {
        if let Some(why) = self.full() {
            return Err(Refusal::busy(why, 10));
        }
        let pieces = open(arrived, self.limits.unpacked)?;
        let decoded: Result<Vec<Decoded<'_>>, profundo_pushed::Error> = pieces
            .iter()
            .map(|piece| piece.decode(arrived.at))
            .collect();
        let decoded = decoded?;
        for one in decoded.iter().filter(|one| !one.left_out().is_empty()) {
            self.counts().leave_out(one.left_out());
        }
        let mut guard = self.open();
        let open = &mut *guard;
        if open.is_ending {
            return Err(Refusal::busy("the server ends", 5));
        }
        let limits = &self.limits;
        if open.batch.rows() >= limits.rows || open.journal.length() >= limits.journal {
            self.early.notify_all();
            return Err(Refusal::busy("the segment before is not written yet", 2));
        }
        if decoded.iter().all(|one| one.rows() == 0) {
            return Ok(0);
        }
        open.journal.append(arrived).map_err(|error| {
            Refusal::busy(format!("the journal cannot be written: {error}"), 10)
        })?;
        let before = open.batch.samples();
        for one in &decoded {
            one.add(&mut open.writer, &mut open.batch);
        }
        let samples = open.batch.samples() - before;
        if open.batch.rows() >= limits.rows / 2 || open.journal.length() >= limits.journal / 2 {
            self.early.notify_all();
        }
        Ok(samples)
    }

    /// Waits until the open segment is as old as this, or large, or the server ends; then begins
    /// another one. `None` if nothing came, or `patience` is over before.
    pub(crate) fn close(&self, age: Duration, patience: Duration) -> Result<Option<Closed>, Error> {
        let until = Instant::now() + patience;
        let mut guard = self.open();
        loop {
            let limits = &self.limits;
            let is_large = guard.batch.rows() >= limits.rows / 2
                || guard.journal.length() >= limits.journal / 2;
            let age_left = age.saturating_sub(guard.since.elapsed());
            if guard.is_ending || is_large || age_left.is_zero() {
                break;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let waited = self.early.wait_timeout(guard, left.min(age_left));
            (guard, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        let open = &mut *guard;
        open.since = Instant::now();
        if open.batch.rows() == 0 {
            return Ok(None);
        }
        let number = open.number + 1;
        let journal = Journal::create(&self.folder, number, &self.name);
        let journal = journal.map_err(|error| failed("write", &self.folder, error))?;
        let batch = open.writer.batch(number, now());
        open.number = number;
        let journal = std::mem::replace(&mut open.journal, journal);
        Ok(Some(Closed {
            batch: std::mem::replace(&mut open.batch, batch),
            journal: journal.path().to_owned(),
        }))
    }

    /// Takes no more bodies.
    pub(crate) fn end(&self) {
        self.open().is_ending = true;
        self.early.notify_all();
    }

    /// Whether the server ends.
    pub(crate) fn is_ending(&self) -> bool {
        self.open().is_ending
    }

    /// Removes the journal of the open segment, if nothing is in it.
    pub(crate) fn remove_empty(&self) {
        let open = self.open();
        if open.batch.rows() == 0 {
            // An empty journal that stays is read in vain at the next start.
            let _ = std::fs::remove_file(open.journal.path());
        }
    }

    /// Definitions are written again, because a segment with some was lost.
    pub(crate) fn forget(&self) {
        self.open().writer.forget();
    }

    /// Refuses bodies from now on, or takes them again.
    pub(crate) fn set_full(&self, why: Option<String>) {
        *self.full.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Why nothing is taken now.
    pub(crate) fn full(&self) -> Option<String> {
        (self.full.lock().unwrap_or_else(PoisonError::into_inner)).clone()
    }

    pub(crate) fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn count(counts: &mut Counts, refusal: &Refusal) {
    match refusal {
        Refusal::Busy { .. } => counts.busy += 1,
        _ => counts.refused += 1,
    }
}

/// The writer of a server.
pub(crate) fn writer(host: &str, name: &str) -> Writer {
    let identity = Identity {
        host: host.to_owned(),
        ..Identity::default()
    };
    Writer::new(identity, name)
}

/// The rows of a segment whose bodies another server has left.
pub(crate) fn rows_of(
    bodies: &[Arrived],
    writer: &mut Writer,
    number: u64,
    limits: &Limits,
) -> Batch {
    let mut batch = writer.batch(number, now());
    for arrived in bodies {
        // They were decoded once before they came into the journal.
        let pieces = open(arrived, limits.unpacked).unwrap_or_default();
        for piece in &pieces {
            if let Ok(decoded) = piece.decode(arrived.at) {
                decoded.add(writer, &mut batch);
            }
        }
    }
    batch
}

/// The time in milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn failed(verb: &'static str, path: &std::path::Path, source: io::Error) -> Error {
    Error::Journal {
        verb,
        path: path.display().to_string(),
        source,
    }
}
