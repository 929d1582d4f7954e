//! The memory of programs, read ten times a second. All readings together take no more than a
//! hundredth of a CPU: if there are too many programs for that, they are read less often.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use profundo_linux::memory::{Asking, MemoryReader, Pages, Question};
use profundo_linux::sys;
use profundo_wire::recording::Gauge;

use super::series::Series;

/// Nanoseconds between two readings of a program.
const EVERY: u64 = 100_000_000;
/// Nanoseconds between the first two readings: many programs are short-lived.
const AT_FIRST: u64 = 25_000_000;
/// Reading may take one part in so many of a CPU.
const PART: u64 = 100;
/// The number of programs up to which files stay open between readings.
const MOST_OPEN: usize = 128;

/// The programs that are read.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    watched: BTreeMap<u32, Watched>,
    /// All programs up to this key are watched, or have ended.
    newest: u32,
    asking: Asking,
    /// Whether mappings are read one by one, because live blocks may be known.
    each_mapping: bool,
    /// The earliest next reading, in monotonic nanoseconds.
    not_before: u64,
}

#[derive(Debug)]
struct Watched {
    pid: u32,
    reader: MemoryReader,
    series: Series,
    /// The time of its next reading, and the interval after that.
    due: u64,
    step: u64,
    /// The last reading, and the same if it was not emitted yet.
    last: Option<Gauge>,
    unemitted: Option<Gauge>,
    /// The counts of its pages, until they are emitted.
    pages: Option<Pages>,
    /// The time of the last request for pages, and the resident bytes then; `None` if requests are
    /// of no use.
    asked: Option<(u64, u64)>,
}

/// The agent's figures at the end of its process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastWord {
    /// The peak in bytes, if it is the program's own.
    pub(crate) peak: Option<u64>,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
}

/// Adds figures from elsewhere to a reading.
type Add<'a> = &'a dyn Fn(&mut Gauge);

/// The reason why a file of a process could not be read.
#[derive(Debug)]
pub(crate) struct Unseen {
    pub(crate) file: &'static str,
    pub(crate) error: io::Error,
}

impl Gauges {
    /// `with_blocks`: live blocks of some programs may be known.
    pub(crate) fn new(with_blocks: bool) -> Self {
        Self {
            each_mapping: with_blocks,
            ..Self::default()
        }
    }

    /// The key up to which all programs are watched, or have ended.
    pub(crate) fn newest(&self) -> u32 {
        self.newest
    }

    /// Notes that all programs up to this key are watched, or have ended.
    pub(crate) fn has_all_up_to(&mut self, key: u32) {
        self.newest = self.newest.max(key);
    }

    /// Reads a program now, and from now on. The reading is emitted with the next one of any
    /// program.
    pub(crate) fn begin(&mut self, key: u32, pid: u32, now: u64) {
        if self.watched.contains_key(&key) {
            return;
        }
        let mut watched = Watched {
            pid,
            reader: MemoryReader::new(pid),
            series: Series::default(),
            due: now,
            step: AT_FIRST,
            last: None,
            unemitted: None,
            pages: None,
            asked: Some((0, 0)),
        };
        let may_keep = self.watched.len() < MOST_OPEN;
        // If it cannot be read, the next reading reports why.
        if watched.read(key, may_keep, &|_| ()).is_ok() {
            watched.put_off(now);
        }
        self.watched.insert(key, watched);
    }

    /// The time until a program is due.
    pub(crate) fn until_due(&self, now: u64) -> Duration {
        let dues = self.watched.values().map(|watched| watched.due);
        match dues.min() {
            Some(due) => Duration::from_nanos(due.max(self.not_before).saturating_sub(now)),
            None => Duration::MAX,
        }
    }

    /// Reads the programs that are due.
    pub(crate) fn read_due(
        &mut self,
        now: u64,
        add: Add<'_>,
        emit: &mut dyn FnMut(Gauge),
    ) -> Option<Unseen> {
        self.read_each(now, |watched| watched.due <= now, add, emit)
    }

    /// Reads all programs a last time.
    pub(crate) fn read_last(
        &mut self,
        now: u64,
        add: Add<'_>,
        emit: &mut dyn FnMut(Gauge),
    ) -> Option<Unseen> {
        self.not_before = 0;
        self.read_each(now, |_| true, add, emit)
    }

    /// Emits what was held back.
    pub(crate) fn finish(&mut self, emit: &mut dyn FnMut(Gauge)) {
        for watched in self.watched.values_mut() {
            watched.series.end(&mut *emit);
        }
    }

    fn read_each(
        &mut self,
        now: u64,
        is_due: impl Fn(&Watched) -> bool,
        add: Add<'_>,
        emit: &mut dyn FnMut(Gauge),
    ) -> Option<Unseen> {
        for watched in self.watched.values_mut() {
            watched.emit(&mut *emit);
        }
        if now < self.not_before || !self.watched.values().any(&is_due) {
            return None;
        }
        let began = sys::nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID);
        let mut unseen = self.take_answer(now);
        let may_keep = self.watched.len() <= MOST_OPEN;
        for (&key, watched) in &mut self.watched {
            if !is_due(watched) {
                continue;
            }
            watched.put_off(now);
            match watched.read(key, may_keep, add) {
                Ok(()) => watched.emit(&mut *emit),
                Err(error) => {
                    unseen = unseen.or(Some(Unseen {
                        file: "status",
                        error,
                    }))
                }
            }
        }
        self.ask(now);
        let took = sys::nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID).saturating_sub(began);
        self.not_before = now + took * PART;
        unseen
    }

    fn take_answer(&mut self, now: u64) -> Option<Unseen> {
        let answer = self.asking.answer(now)?;
        let watched = self.watched.get_mut(&answer.key)?;
        match answer.pages {
            Ok(pages) => {
                watched.pages = pages;
                None
            }
            Err(error) => {
                watched.asked = None;
                let file = match self.each_mapping {
                    true => "smaps",
                    false => "smaps_rollup",
                };
                is_refusal(&error).then_some(Unseen { file, error })
            }
        }
    }

    /// Requests the pages of the program that has waited longest.
    fn ask(&mut self, now: u64) {
        if !self.asking.is_free(now) {
            return;
        }
        let those = self.watched.iter_mut();
        let those = those.filter(|(_, watched)| watched.wants_to_be_asked_for(now));
        if let Some((&key, watched)) = those.min_by_key(|(_, watched)| watched.asked) {
            let resident = watched.last.map_or(0, |last| last.resident);
            watched.asked = Some((now, resident));
            self.asking.ask(Question {
                key,
                pid: watched.pid,
                each_mapping: self.each_mapping,
            });
        }
    }

    /// Ends a program whose process executed another.
    pub(crate) fn replaced(&mut self, key: u32, emit: &mut dyn FnMut(Gauge)) {
        if let Some(mut watched) = self.watched.remove(&key) {
            watched.emit(&mut *emit);
            watched.series.end(emit);
        }
    }

    /// Ends a program. Its memory at the end was not read, but its agent may have reported its
    /// peak. The kernel still has its page faults until it is reaped.
    pub(crate) fn ended(
        &mut self,
        key: u32,
        clock: u64,
        word: Option<LastWord>,
        emit: &mut dyn FnMut(Gauge),
    ) {
        let Some(mut watched) = self.watched.remove(&key) else {
            return;
        };
        watched.emit(&mut *emit);
        let said = |word: LastWord| (word.minor_faults, word.major_faults);
        let faults = watched.reader.last_faults().or(word.map(said));
        if let (Some(last), Some((minor_faults, major_faults))) = (watched.last, faults) {
            let peak = word.and_then(|word| word.peak).unwrap_or(0);
            let end = Gauge {
                clock,
                minor_faults: minor_faults.max(last.minor_faults),
                major_faults: major_faults.max(last.major_faults),
                peak_resident: peak.max(last.peak_resident),
                proportional: None,
                elsewhere: None,
                ..last
            };
            watched.series.pass(end, &mut *emit);
        }
        watched.series.end(emit);
    }
}

impl Watched {
    /// Schedules the next reading.
    fn put_off(&mut self, now: u64) {
        // All at the same times: waking up costs more than a reading.
        self.due = (now / self.step + 1) * self.step;
        self.step = (self.step * 2).min(EVERY);
    }

    /// Whether its shared pages may have changed. Other processes may change them, but mostly the
    /// program has done it itself.
    fn wants_to_be_asked_for(&self, now: u64) -> bool {
        const SELDOM: u64 = 500_000_000;
        match (self.asked, self.last) {
            (Some((asked, resident)), Some(last)) => {
                last.resident != resident || now >= asked + SELDOM
            }
            _ => false,
        }
    }

    /// Emits the last reading.
    fn emit(&mut self, emit: &mut dyn FnMut(Gauge)) {
        if let Some(gauge) = self.unemitted.take() {
            self.series.pass(gauge, emit);
        }
    }

    /// Reads the program; the reading is to be emitted.
    fn read(&mut self, process: u32, may_keep: bool, add: Add<'_>) -> io::Result<()> {
        let seen = match self.reader.read_sizes(may_keep) {
            Ok(Some(seen)) => seen,
            Err(error) if is_refusal(&error) => return Err(error),
            // The process has ended.
            Ok(None) | Err(_) => return Ok(()),
        };
        // The kernel updates the peak when memory is freed, by a count that may lag by some pages.
        let pages = self.pages.take();
        let peak = self.last.map_or(0, |last| last.peak_resident);
        let mut gauge = Gauge {
            process,
            clock: profundo_probe::clock::now(),
            resident: seen.resident,
            peak_resident: seen.peak_resident.max(seen.resident).max(peak),
            // The shared part changes little in the moment since.
            proportional: pages.map(|pages| seen.resident.saturating_sub(pages.shared)),
            elsewhere: pages.and_then(|pages| pages.elsewhere),
            anonymous: seen.anonymous,
            swapped: seen.swapped,
            minor_faults: seen.minor_faults,
            major_faults: seen.major_faults,
            ..Gauge::default()
        };
        add(&mut gauge);
        self.last = Some(gauge);
        self.unemitted = Some(gauge);
        Ok(())
    }
}

/// Whether a process exists but may not be read.
fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}
