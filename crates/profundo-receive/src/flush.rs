//! The thread that writes segments and sends them, and the line of each minute.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use profundo_store::{Segment, Spool, Store};

use crate::gather::{Closed, Gather, failed, rows_of, writer};
use crate::{Counts, Error, Limits, journal};

/// The time between two lines.
const MINUTE: Duration = Duration::from_secs(60);
/// The times between attempts to reach a store that is away.
const SOONEST: Duration = Duration::from_secs(5);
const LATEST: Duration = Duration::from_secs(60);

/// Where a line of the server goes.
pub(crate) type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// What writes segments.
pub(crate) struct Flush {
    pub(crate) gather: Arc<Gather>,
    pub(crate) store: Box<dyn Store>,
    pub(crate) spool: Spool,
    pub(crate) age: Duration,
    pub(crate) say: Say,
}

impl Flush {
    /// Writes segments until the server ends and the last one is in the spool. Returns the number
    /// of segments that still wait for the store.
    pub(crate) fn run(mut self) -> Result<u64, Error> {
        let mut told = Counts::default();
        let mut line = Instant::now();
        let (mut next, mut pause) = (Instant::now(), SOONEST);
        let mut is_away = false;
        loop {
            let is_ending = self.gather.is_ending();
            match self.gather.close(self.age, Duration::from_secs(1)) {
                Ok(Some(closed)) => self.keep(closed),
                Ok(None) => {}
                Err(error) => {
                    // Where no journal can be made, nothing more is taken, and what is there stays.
                    self.gather.set_full(Some(chain(&error)));
                    std::thread::sleep(Duration::from_millis(500));
                }
            }
            if self.spool.waiting() > 0 && (Instant::now() >= next || is_ending) {
                let sent = self.spool.send(&*self.store)?;
                self.gather.counts().sent += sent.segments;
                match sent.because {
                    Some(error) => {
                        if !is_away {
                            let error = Error::from(error);
                            (self.say)(&format!("the store is away: {}", chain(&error)));
                        }
                        is_away = true;
                        next = Instant::now() + pause;
                        pause = (pause * 2).min(LATEST);
                    }
                    None => {
                        if is_away {
                            (self.say)("the store is back");
                        }
                        (is_away, pause, next) = (false, SOONEST, Instant::now());
                    }
                }
            }
            let bound = self.gather.limits.spool;
            let is_full = self.spool.bytes() >= bound;
            self.gather.set_full(is_full.then(|| {
                format!(
                    "the segments that wait for the store take {} MB",
                    bound >> 20
                )
            }));
            if line.elapsed() >= MINUTE {
                line = Instant::now();
                self.tell(&mut told);
            }
            // What came between the two calls at the top is in the segment of the next round.
            if is_ending {
                break;
            }
        }
        self.tell(&mut told);
        self.gather.remove_empty();
        Ok(self.spool.waiting())
    }

    fn tell(&self, told: &mut Counts) {
        let counts = self.gather.counts().clone();
        if let Some(line) = counts.since(told) {
            let waiting = match self.spool.waiting() {
                0 => String::new(),
                1 => "; 1 segment waits for the store".to_owned(),
                many => format!("; {many} segments wait for the store"),
            };
            (self.say)(&format!("{line}{waiting}"));
        }
        *told = counts;
    }

    /// Puts a segment into the spool. Its journal is removed then.
    fn keep(&mut self, closed: Closed) {
        let Closed { batch, journal } = closed;
        match batch.segment() {
            Ok(segment) => {
                if self.push(&segment) {
                    // One that stays is written again at the next start, under the same names.
                    let _ = fs::remove_file(&journal);
                    self.gather.counts().segments += 1;
                }
            }
            Err(error) => {
                // The bodies stay in their journal.
                self.gather.forget();
                let journal = journal.display();
                (self.say)(&format!(
                    "a segment cannot be made, its bodies are kept in {journal}: {error}"
                ));
            }
        }
    }

    /// Puts a segment into the spool, however long that takes: nothing is taken meanwhile. False if
    /// the server ends before that.
    fn push(&mut self, segment: &Segment) -> bool {
        let before = self.spool.dropped();
        let mut is_told = false;
        while let Err(error) = self.spool.push(segment) {
            let error = Error::from(error);
            if !is_told {
                (self.say)(&format!("a segment waits: {}", chain(&error)));
            }
            is_told = true;
            self.gather.set_full(Some(chain(&error)));
            std::thread::sleep(Duration::from_secs(1));
            if self.gather.is_ending() {
                return false;
            }
        }
        let dropped = self.spool.dropped();
        if dropped != before {
            self.gather.forget();
            let samples = dropped.samples - before.samples;
            (self.say)(&format!("the disk is full: {samples} samples are dropped"));
        }
        true
    }
}

/// Makes segments of the journals that another server has left. Returns the number of bodies, and
/// the number of the next journal.
pub(crate) fn recover(
    folder: &std::path::Path,
    host: &str,
    spool: &mut Spool,
    limits: &Limits,
) -> Result<(u64, u64), Error> {
    let left = journal::left(folder).map_err(|error| failed("read", folder, error))?;
    let (mut bodies, mut next) = (0, 1);
    for (path, number) in left {
        let left = journal::read(path.clone(), number);
        let left = left.map_err(|error| failed("read", &path, error))?;
        // The same name and number as before: if its segment is in the store already, it becomes
        // the same files again.
        let mut writer = writer(host, &left.name);
        let segment = rows_of(&left.bodies, &mut writer, left.number, limits).segment()?;
        spool.push(&segment)?;
        bodies += left.bodies.len() as u64;
        fs::remove_file(&left.path).map_err(|error| failed("remove", &path, error))?;
        next = next.max(number + 1);
    }
    Ok((bodies, next))
}

/// An error and its reasons, in one line.
pub(crate) fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(error) = next {
        text += &format!(": {error}");
        next = error.source();
    }
    text
}
