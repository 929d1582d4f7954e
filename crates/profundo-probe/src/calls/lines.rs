//! Which lines of a function are run, how often, and for how long.
//!
//! A function that is looked at has a row of numbers for each of its lines. A line lasts until the next one of the same call
//! begins, or the call ends: what it calls is in its time. In a call of the same function within, other lines have their own; the same
//! line has the time of its outermost call alone, in which that of those within is.

use core::sync::atomic::Ordering;

use super::pile::Pile;
use super::tree::{Described, Memory, Part, Tree};
use crate::shared::{LINES, LineRow, grow};

/// A call of a function whose lines are looked at.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Run {
    /// What the function is known by.
    pub key: u64,
    /// When the line began that is being run.
    since: u64,
    /// The first of its lines, the row of that, and how many there are.
    first: u32,
    row: u32,
    count: u32,
    /// The row of the line that is being run, plus one; 0: none is.
    current: u32,
    held: Held,
}

/// How a line is being run.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    /// Whether its time counts: it is not run further down on the same stack.
    counts: bool,
    /// Whether its row knows of it.
    is_noted: bool,
}

/// What is known of a function's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looked {
    /// It was not asked for yet.
    New,
    /// Nobody looks at them.
    No,
    /// They are looked at.
    Yes,
}

impl<M: Memory> Tree<M> {
    /// What is known of the lines of a function.
    #[inline]
    pub fn looked(&self, key: u64) -> Looked {
        match self.known(key) {
            None => Looked::New,
            Some(function) => match function.lines[2].load(Ordering::Relaxed) {
                0 => Looked::No,
                _ => Looked::Yes,
            },
        }
    }

    /// From now on it is known whether the lines of a function are looked at: these lines, of which the first and the last are
    /// given, or none.
    pub fn look_at(
        &mut self,
        key: u64,
        lines: Option<(u32, u32)>,
        describe: impl FnOnce(&mut dyn FnMut(Described<'_>)),
    ) {
        /// Nobody writes longer functions by hand, and what others write has no lines to look at.
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

    /// A call begins, or goes on, of a function whose lines are looked at.
    #[inline]
    pub fn begin_lines(&mut self, runs: &mut Pile<Run>, key: u64) {
        let Some(function) = self.known(key) else {
            return;
        };
        let [first, row, count] = function
            .lines
            .each_ref()
            .map(|it| it.load(Ordering::Relaxed));
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
    pub fn line(&self, runs: &mut Pile<Run>, (key, line): (u64, u32), clock: impl Fn() -> u64) {
        let who = who(runs);
        let Some(run) = runs.top_mut() else { return };
        if run.key != key {
            return;
        }
        let lines = &self.file().lines;
        if let Some(last) = lines.get((run.current as usize).wrapping_sub(1)) {
            if run.held.counts {
                grow(&last.time, clock().wrapping_sub(run.since));
            }
            last.release(run.held, who);
        }
        let offset = line.wrapping_sub(run.first);
        if offset >= run.count {
            run.current = 0;
            return;
        }
        if let Some(row) = lines.get((run.row + offset) as usize) {
            grow(&row.hits, 1);
            run.held = row.hold(who);
        }
        run.current = run.row + offset + 1;
        run.since = clock();
    }

    /// As [`Self::line`], where nobody wants to know for how long.
    #[inline]
    pub fn hit(&self, runs: &mut Pile<Run>, (key, line): (u64, u32)) {
        let Some(run) = runs.top_mut() else { return };
        let offset = line.wrapping_sub(run.first);
        if run.key == key
            && offset < run.count
            && let Some(row) = self.file().lines.get((run.row + offset) as usize)
        {
            grow(&row.hits, 1);
        }
    }

    /// A line is run, of whichever call.
    pub fn ran(&self, line: (u64, u32)) {
        if let Some(row) = self.line_row(line) {
            row.hits.store(1, Ordering::Relaxed);
        }
    }

    /// A line has code, whether that is run or not. Only for who wants no times: it is where they would be.
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
            .map(|it| it.load(Ordering::Relaxed));
        let offset = line.wrapping_sub(first);
        let row = (offset < count).then_some(row + offset)?;
        self.file().lines.get(row as usize)
    }

    /// The call ends, or pauses.
    #[inline]
    pub fn end_lines(&self, runs: &mut Pile<Run>, key: u64, now: u64) {
        /// Others that have not ended as far as we know lie above it.
        const NEAR: usize = 64;
        if runs.is_beyond() {
            return runs.pop();
        }
        let near = runs.all().iter().rev().take(NEAR);
        let Some(above) = near.map(|it| it.key).position(|it| it == key) else {
            return;
        };
        let who = who(runs);
        for _ in 0..=above {
            if let Some(run) = runs.top() {
                self.line_ends(run, now);
                self.release(run, who);
            }
            runs.pop();
        }
    }

    fn line_ends(&self, run: &Run, now: u64) {
        if let Some(last) = self.current(run).filter(|_| run.held.counts) {
            grow(&last.time, now.wrapping_sub(run.since));
        }
    }

    /// In the child of a fork: what was being run there began now.
    pub fn restart_lines(&self, runs: &mut Pile<Run>, now: u64) {
        let who = who(runs);
        for run in runs.all_mut() {
            run.since = now;
            if let Some(row) = self.current(run) {
                run.held = row.hold(who);
            }
        }
    }

    /// Their thread has gone: nothing of it is being run.
    pub fn drop_lines(&self, runs: &mut Pile<Run>) {
        let who = who(runs);
        runs.all().iter().for_each(|run| self.release(run, who));
        runs.empty();
    }

    fn release(&self, run: &Run, who: u32) {
        if let Some(row) = self.current(run) {
            row.release(run.held, who);
        }
    }

    /// The row of the line that a call is at.
    fn current(&self, run: &Run) -> Option<&LineRow> {
        self.file()
            .lines
            .get((run.current as usize).wrapping_sub(1))
    }

    /// All lines that are being run have lasted until now.
    pub fn settle_lines(&self, runs: &mut Pile<Run>, now: u64) {
        for run in runs.all_mut() {
            self.line_ends(run, now);
            run.since = now;
        }
    }
}

/// What tells threads apart by their piles: these lie in one table, which is smaller than what such a number can tell.
fn who(runs: &Pile<Run>) -> u32 {
    core::ptr::from_ref(runs) as usize as u32
}

impl LineRow {
    /// Begins to be run. The interpreter's lock is held.
    #[inline]
    fn hold(&self, who: u32) -> Held {
        let held = self.held.load(Ordering::Relaxed);
        let is_free = held as u32 == 0;
        let is_own = (held >> 32) as u32 == who;
        // Of several threads, one is noted; the others count as if they were in it once.
        if is_free {
            let first = u64::from(who) << 32 | 1;
            self.held.store(first, Ordering::Relaxed);
        } else if is_own {
            self.held.store(held + 1, Ordering::Relaxed);
        }
        Held {
            counts: is_free || !is_own,
            is_noted: is_free || is_own,
        }
    }

    /// Is run no more.
    #[inline]
    fn release(&self, how: Held, who: u32) {
        let held = self.held.load(Ordering::Relaxed);
        if how.is_noted && (held >> 32) as u32 == who && held as u32 > 0 {
            self.held.store(held - 1, Ordering::Relaxed);
        }
    }
}
