//! The lines of a function that run: the number and the time of their runs.
//!
//! A traced function has a row of numbers for each of its lines. A line lasts until the next one of
//! the same call begins, or the call ends: its callees are in its time. In a recursive call, other
//! lines have their own time; the same line has the time of its outermost run alone, which contains
//! that of the inner ones.

use core::sync::atomic::Ordering;

use super::pile::Pile;
use super::tree::{Described, Memory, Part, Tree};
use crate::shared::{LINES, LineRow, grow};

/// A call of a function whose lines are traced.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Run {
    /// The function's key.
    pub key: u64,
    /// When the running line began.
    since: u64,
    /// The first line, its row, and the number of lines.
    first: u32,
    row: u32,
    count: u32,
    /// The row of the running line, plus one; 0: none is running.
    current: u32,
    held: Held,
}

/// The way in which a line runs.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    /// True if the line's time counts: it does not run further down on the same stack.
    counts: bool,
    /// True if the line's row has noted this run.
    is_noted: bool,
}

/// The tracing of a function's lines, as far as known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineTracing {
    /// The function was not asked for yet.
    Unknown,
    /// The lines are not traced.
    No,
    /// The lines are traced.
    Yes,
}

impl<M: Memory> Tree<M> {
    /// The tracing of a function's lines.
    #[inline]
    pub fn line_tracing(&self, key: u64) -> LineTracing {
        match self.known(key) {
            None => LineTracing::Unknown,
            Some(function) => match function.lines[2].load(Ordering::Relaxed) {
                0 => LineTracing::No,
                _ => LineTracing::Yes,
            },
        }
    }

    /// Sets whether the lines of a function are traced: the given ones, from the first to the last,
    /// or none.
    pub fn set_traced_lines(
        &mut self,
        key: u64,
        lines: Option<(u32, u32)>,
        describe: impl FnOnce(&mut dyn FnMut(Described<'_>)),
    ) {
        /// The limit of traced lines. Longer functions are generated, and have no lines of
        /// interest.
        const LONGEST: u32 = 1 << 16;
        let Some(function) = self.function(key, describe) else {
            return self.count(|header| &header.unlooked);
        };
        let Some((first, last)) = lines else { return };
        let file = self.file();
        let Some(row) = file.functions.get(function as usize) else {
            return;
        };
        let count = last.saturating_sub(first).min(LONGEST) + 1;
        let start = file.header.lines.load(Ordering::Relaxed);
        let end = start as usize + count as usize;
        if end > LINES || !self.has_room(Part::Lines, end * size_of::<LineRow>()) {
            return self.count(|header| &header.unlooked);
        }
        file.header.lines.store(end as u32, Ordering::Relaxed);
        let [first_place, start_place, count_place] = &row.lines;
        first_place.store(first, Ordering::Relaxed);
        start_place.store(start, Ordering::Relaxed);
        count_place.store(count, Ordering::Release);
    }

    /// A call of a function with traced lines begins, or resumes.
    #[inline]
    pub fn begin_lines(&mut self, runs: &mut Pile<Run>, key: u64) {
        let Some(function) = self.known(key) else {
            return;
        };
        let [first, row, count] = function
            .lines
            .each_ref()
            .map(|word| word.load(Ordering::Relaxed));
        let run = Run {
            key,
            since: 0,
            first,
            row,
            count,
            current: 0,
            held: Held::default(),
        };
        runs.push(run, self.memory());
    }

    /// A line begins. `clock` is read twice: when the line before has ended, and when all is done.
    #[inline]
    pub fn line(&self, runs: &mut Pile<Run>, key: u64, line: u32, clock: impl Fn() -> u64) {
        let thread = thread_of(runs);
        let Some(run) = runs.top_mut() else { return };
        if run.key != key {
            return;
        }
        let lines = &self.file().lines;
        if let Some(last) = lines.get((run.current as usize).wrapping_sub(1)) {
            if run.held.counts {
                grow(&last.time, clock().wrapping_sub(run.since));
            }
            last.release(run.held, thread);
        }
        let offset = line.wrapping_sub(run.first);
        if offset >= run.count {
            run.current = 0;
            return;
        }
        if let Some(row) = lines.get((run.row + offset) as usize) {
            grow(&row.hits, 1);
            run.held = row.hold(thread);
        }
        run.current = run.row + offset + 1;
        run.since = clock();
    }

    /// As [`Self::line`], without times.
    #[inline]
    pub fn hit(&self, runs: &mut Pile<Run>, key: u64, line: u32) {
        let Some(run) = runs.top_mut() else { return };
        let offset = line.wrapping_sub(run.first);
        if run.key == key
            && offset < run.count
            && let Some(row) = self.file().lines.get((run.row + offset) as usize)
        {
            grow(&row.hits, 1);
        }
    }

    /// A line runs, in any call.
    pub fn ran(&self, line: (u64, u32)) {
        if let Some(row) = self.line_row(line) {
            row.hits.store(1, Ordering::Relaxed);
        }
    }

    /// A line has code, whether it runs or not. Only for counting without times: the mark takes
    /// their place.
    pub fn has_code(&self, line: (u64, u32)) {
        if let Some(row) = self.line_row(line) {
            row.time.store(1, Ordering::Relaxed);
        }
    }

    fn line_row(&self, (key, line): (u64, u32)) -> Option<&LineRow> {
        let function = self.known(key)?;
        let [first, row, count] = function
            .lines
            .each_ref()
            .map(|word| word.load(Ordering::Relaxed));
        let offset = line.wrapping_sub(first);
        let row = (offset < count).then_some(row + offset)?;
        self.file().lines.get(row as usize)
    }

    /// The call ends, or pauses.
    #[inline]
    pub fn end_lines(&self, runs: &mut Pile<Run>, key: u64, now: u64) {
        /// Calls above it have not ended as far as known.
        const NEAR: usize = 64;
        if runs.is_beyond() {
            return runs.pop();
        }
        let mut near = runs.all().iter().rev().take(NEAR);
        let Some(above) = near.position(|run| run.key == key) else {
            return;
        };
        let thread = thread_of(runs);
        for _ in 0..=above {
            if let Some(run) = runs.top() {
                self.line_ends(run, now);
                self.release(run, thread);
            }
            runs.pop();
        }
    }

    fn line_ends(&self, run: &Run, now: u64) {
        if let Some(last) = self.current(run).filter(|_| run.held.counts) {
            grow(&last.time, now.wrapping_sub(run.since));
        }
    }

    /// In the child of a fork: running lines begin now.
    pub fn restart_lines(&self, runs: &mut Pile<Run>, now: u64) {
        let thread = thread_of(runs);
        for run in runs.all_mut() {
            run.since = now;
            if let Some(row) = self.current(run) {
                run.held = row.hold(thread);
            }
        }
    }

    /// Their thread has gone: none of its lines is running.
    pub fn drop_lines(&self, runs: &mut Pile<Run>) {
        let thread = thread_of(runs);
        runs.all().iter().for_each(|run| self.release(run, thread));
        runs.empty();
    }

    fn release(&self, run: &Run, thread: u32) {
        if let Some(row) = self.current(run) {
            row.release(run.held, thread);
        }
    }

    /// The row of the line that a call is at.
    fn current(&self, run: &Run) -> Option<&LineRow> {
        self.file()
            .lines
            .get((run.current as usize).wrapping_sub(1))
    }

    /// All running lines have lasted until now.
    pub fn settle_lines(&self, runs: &mut Pile<Run>, now: u64) {
        for run in runs.all_mut() {
            self.line_ends(run, now);
            run.since = now;
        }
    }
}

/// A number for a thread, from the place of its pile: piles lie in one table, which is smaller than
/// the range of such a number.
fn thread_of(runs: &Pile<Run>) -> u32 {
    core::ptr::from_ref(runs) as usize as u32
}

impl LineRow {
    /// A line begins to run. The interpreter's lock is held.
    #[inline]
    fn hold(&self, thread: u32) -> Held {
        let held = self.held.load(Ordering::Relaxed);
        let is_free = held as u32 == 0;
        let is_own = (held >> 32) as u32 == thread;
        // Of several threads, one is noted; the others count as if the line ran once.
        if is_free {
            let first = u64::from(thread) << 32 | 1;
            self.held.store(first, Ordering::Relaxed);
        } else if is_own {
            self.held.store(held + 1, Ordering::Relaxed);
        }
        Held {
            counts: is_free || !is_own,
            is_noted: is_free || is_own,
        }
    }

    /// A line ends.
    #[inline]
    fn release(&self, how: Held, thread: u32) {
        let held = self.held.load(Ordering::Relaxed);
        if how.is_noted && (held >> 32) as u32 == thread && held as u32 > 0 {
            self.held.store(held - 1, Ordering::Relaxed);
        }
    }
}
