//! What programs have of the machine's memory, ten times a second. All of it together takes no more than
//! a hundredth of a CPU, however many there are: where looking at all takes longer, it is done less often.

mod process_memory;
mod proportional;
mod series;

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use profundo_wire::recording::Gauge;

use crate::sys;
use proportional::{Asking, Pages};
use series::Series;

pub(crate) use process_memory::Eye;
pub(crate) use proportional::shared_bytes;

/// Nanoseconds between two looks at a program.
const EVERY: u64 = 100_000_000;
/// The same, behind the first one: many programs live for a moment only.
const AT_FIRST: u64 = 25_000_000;
/// Looking may take one part in so many of a CPU.
const PART: u64 = 100;
/// Of more programs than this the files are opened anew at each look.
const MOST_OPEN: usize = 128;

/// Whom we look at.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    watched: BTreeMap<u32, Watched>,
    /// All up to this key are watched, or have ended.
    newest: u32,
    asking: Asking,
    /// Whether mappings are looked at one by one: somebody may know what is in blocks.
    each_mapping: bool,
    /// No look is due before, in monotonic nanoseconds.
    not_before: u64,
}

#[derive(Debug)]
struct Watched {
    pid: u32,
    eye: Eye,
    series: Series,
    /// When it is due, and how long after that again.
    due: u64,
    step: u64,
    /// What was seen last, and what of that was not told.
    last: Option<Gauge>,
    untold: Option<Gauge>,
    /// What is known of its pages, until that is told.
    pages: Option<Pages>,
    /// When that was asked for last, and how much there was then; `None` if it is of no use.
    asked: Option<(u64, u64)>,
}

/// What an agent has said at the end of its process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastWord {
    /// The most bytes that it had, where they are its own.
    pub(crate) peak: Option<u64>,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
}

/// What others know of a process at the moment of a look.
type Add<'a> = &'a dyn Fn(&mut Gauge);

/// Why something of a process could not be looked at.
#[derive(Debug)]
pub(crate) struct Unseen {
    pub(crate) file: &'static str,
    pub(crate) error: io::Error,
}

impl Gauges {
    /// `with_blocks`: of some programs it may be known what they have in blocks.
    pub(crate) fn new(with_blocks: bool) -> Self {
        Self {
            each_mapping: with_blocks,
            ..Self::default()
        }
    }

    /// Up to which key all are watched, or have ended.
    pub(crate) fn newest(&self) -> u32 {
        self.newest
    }

    /// All up to this key are watched, or have ended.
    pub(crate) fn has_all_up_to(&mut self, key: u32) {
        self.newest = self.newest.max(key);
    }

    /// Looks at a program, and from now on. What is seen is told with the next look at anybody.
    pub(crate) fn begin(&mut self, key: u32, pid: u32, now: u64) {
        if self.watched.contains_key(&key) {
            return;
        }
        let mut watched = Watched {
            pid,
            eye: Eye::new(pid),
            series: Series::default(),
            due: now,
            step: AT_FIRST,
            last: None,
            untold: None,
            pages: None,
            asked: Some((0, 0)),
        };
        let may_keep = self.watched.len() < MOST_OPEN;
        // Why it cannot be looked at, if so, is said at the next look.
        if watched.look(key, may_keep, &|_| ()).is_ok() {
            watched.put_off(now);
        }
        self.watched.insert(key, watched);
    }

    /// How long it is until somebody is due.
    pub(crate) fn until_look(&self, now: u64) -> Duration {
        let dues = self.watched.values().map(|watched| watched.due);
        match dues.min() {
            Some(due) => Duration::from_nanos(due.max(self.not_before).saturating_sub(now)),
            None => Duration::MAX,
        }
    }

    /// Looks at those that are due.
    pub(crate) fn look(
        &mut self,
        now: u64,
        add: Add<'_>,
        tell: &mut dyn FnMut(Gauge),
    ) -> Option<Unseen> {
        self.look_at(now, |watched| watched.due <= now, add, tell)
    }

    /// Looks at all once more: the recording is over.
    pub(crate) fn look_last(
        &mut self,
        now: u64,
        add: Add<'_>,
        tell: &mut dyn FnMut(Gauge),
    ) -> Option<Unseen> {
        self.not_before = 0;
        self.look_at(now, |_| true, add, tell)
    }

    /// Tells what was held back.
    pub(crate) fn finish(&mut self, tell: &mut dyn FnMut(Gauge)) {
        for watched in self.watched.values_mut() {
            watched.series.end(&mut *tell);
        }
    }

    fn look_at(
        &mut self,
        now: u64,
        is_due: impl Fn(&Watched) -> bool,
        add: Add<'_>,
        tell: &mut dyn FnMut(Gauge),
    ) -> Option<Unseen> {
        for watched in self.watched.values_mut() {
            watched.tell(&mut *tell);
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
            match watched.look(key, may_keep, add) {
                Ok(()) => watched.tell(&mut *tell),
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

    /// Has the one asked for that has waited longest.
    fn ask(&mut self, now: u64) {
        if !self.asking.is_free(now) {
            return;
        }
        let those = self.watched.iter_mut();
        let those = those.filter(|(_, watched)| watched.wants_to_be_asked_for(now));
        if let Some((&key, watched)) = those.min_by_key(|(_, watched)| watched.asked) {
            let resident = watched.last.map_or(0, |last| last.resident);
            watched.asked = Some((now, resident));
            self.asking.ask((key, watched.pid, self.each_mapping));
        }
    }

    /// A program has become another one.
    pub(crate) fn replaced(&mut self, key: u32, tell: &mut dyn FnMut(Gauge)) {
        if let Some(mut watched) = self.watched.remove(&key) {
            watched.tell(&mut *tell);
            watched.series.end(tell);
        }
    }

    /// A program has ended. What it had then nobody has seen, but its agent may have had the last word on how
    /// much it was at most; and how many page faults it had the kernel knows until it is asked how it ended.
    pub(crate) fn ended(
        &mut self,
        key: u32,
        clock: u64,
        word: Option<LastWord>,
        tell: &mut dyn FnMut(Gauge),
    ) {
        let Some(mut watched) = self.watched.remove(&key) else {
            return;
        };
        watched.tell(&mut *tell);
        let said = |word: LastWord| (word.minor_faults, word.major_faults);
        let faults = watched.eye.last_faults().or(word.map(said));
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
            watched.series.pass(end, &mut *tell);
        }
        watched.series.end(tell);
    }
}

impl Watched {
    /// Looks again later.
    fn put_off(&mut self, now: u64) {
        // All at the same moments: being woken costs more than a look.
        self.due = (now / self.step + 1) * self.step;
        self.step = (self.step * 2).min(EVERY);
    }

    /// Whether what it shares may have changed: others may come and go, but mostly it has changed itself.
    fn wants_to_be_asked_for(&self, now: u64) -> bool {
        const SELDOM: u64 = 500_000_000;
        match (self.asked, self.last) {
            (Some((asked, resident)), Some(last)) => {
                last.resident != resident || now >= asked + SELDOM
            }
            _ => false,
        }
    }

    /// Tells what was seen.
    fn tell(&mut self, tell: &mut dyn FnMut(Gauge)) {
        if let Some(gauge) = self.untold.take() {
            self.series.pass(gauge, tell);
        }
    }

    /// Looks; what is seen is to be told.
    fn look(&mut self, process: u32, may_keep: bool, add: Add<'_>) -> io::Result<()> {
        let seen = match self.eye.look(may_keep) {
            Ok(Some(seen)) => seen,
            Err(error) if is_refusal(&error) => return Err(error),
            // It is gone.
            Ok(None) | Err(_) => return Ok(()),
        };
        // The kernel writes it down when something is given back, by a count that may lag by some pages.
        let pages = self.pages.take();
        let peak = self.last.map_or(0, |last| last.peak_resident);
        let mut gauge = Gauge {
            process,
            clock: profundo_probe::clock::now(),
            resident: seen.resident,
            peak_resident: seen.peak_resident.max(seen.resident).max(peak),
            // What is shared changes little in the moment since.
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
        self.untold = Some(gauge);
        Ok(())
    }
}

/// Whether a process is there and may not be looked at.
fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}
