//! Spans and marks of Python programs: stretches of work and instants that the program names.
//!
//! The package `profundo` opens our [`door`] and gets functions for them. A span is an object of
//! ours ([`object`]) and the value of a context variable, which samples read
//! (`profundo_probe::python::SPANS`). So a span belongs to the task that has entered it, in every
//! event loop.
//!
//! This file has the tables behind: names and paths by number ([`names`]), open spans, and sums of
//! ended ones ([`sums`]). Records go to the command through the ring, as they arise. All of it
//! happens with the interpreter's lock held, but for the end of the process and for the child of a
//! fork, which may begin in a signal handler. So the tables have a flag besides, and whoever finds
//! it set goes without.

mod api;
mod door;
mod names;
mod object;
mod sums;
mod text;
mod thread;

use core::hint;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use profundo_probe::others::Place;
use profundo_probe::{clock, sys};
use profundo_wire::{
    Mark, OTHER_PATH, SPAN_WORDS, Span, SpanLoss, SpanOwner, SpanPath, SpanSum, mark_words,
    span_limit, span_path_words, span_sum_words,
};

use self::names::Names;
use self::sums::{Row, Sums};
use crate::files;
use crate::home::{self, Home};

/// The limit of open spans that are known here. Others are not entered.
const MOST_OPEN: usize = 1 << 14;
/// The cycles after which sums are written: a second or so.
const SOMETIMES: u64 = 1 << 31;
/// Spans may have records of their own as long as there are not more than [`PORTION`] of them in
/// this many cycles, some milliseconds: the ring is for samples.
const MOMENT: u64 = 1 << 24;
const PORTION: u32 = 1024;

/// All that is known of spans. All zero is nothing.
#[repr(C)]
struct Tables {
    names: Names,
    open: [Open; MOST_OPEN],
    /// The number of places in `open` that were ever used in this recording.
    used: usize,
    /// The first free one of them, plus one.
    free: u32,
    sums: Sums,
    /// When sums were written last.
    written_at: u64,
    /// The number of spans that had records of their own, and of marks.
    kept: u32,
    marks: u32,
    /// The end of the present moment, and the records that are left in it.
    moment: u64,
    left: u32,
    last_number: u64,
    lost_marks: u64,
    loss: SpanLoss,
    place: Option<Place>,
}

/// An open span.
#[derive(Clone, Copy)]
#[repr(C)]
struct Open {
    span: Span,
    state: u32,
    /// The next free place, plus one.
    next: u32,
}

mod state {
    pub const FREE: u32 = 0;
    pub const OPEN: u32 = 1;
    /// Its record was written when the process ended or was about to become another program.
    pub const WRITTEN: u32 = 2;
}

static TABLES: AtomicPtr<Tables> = AtomicPtr::new(ptr::null_mut());
/// Set while the tables are in use.
static IS_BUSY: AtomicBool = AtomicBool::new(false);
/// The recording, from 1: another one in the child of a fork, and when the agent has come back.
/// Spans of an earlier one have no records in this one.
static RECORDING: AtomicU32 = AtomicU32::new(1);
/// True if the tables are still those of the recording before.
static IS_NEW: AtomicBool = AtomicBool::new(false);

/// Makes the tables. False: there is no memory.
fn make() -> bool {
    if !TABLES.load(Ordering::Acquire).is_null() {
        return true;
    }
    let Some(memory) = files::map_zeroed(size_of::<Tables>()) else {
        return false;
    };
    let tables = memory.cast::<Tables>().as_ptr();
    // SAFETY: the memory is ours, unused, aligned to a page and long enough; all zero is a valid
    // one, in which `place` is none or is written here.
    unsafe {
        (&raw mut (*tables).place).write(None);
        (*tables).names.begin();
    }
    // Release pairs with the acquire in `with`. The interpreter's lock is held: there is no other
    // maker.
    TABLES.store(tables, Ordering::Release);
    true
}

/// Calls `f` with the tables. `None`: there are none, or they are in use.
fn with<T>(f: impl FnOnce(&mut Tables) -> T) -> Option<T> {
    // Acquire pairs with the release in `make`.
    let tables = TABLES.load(Ordering::Acquire);
    if tables.is_null() || IS_BUSY.swap(true, Ordering::Acquire) {
        return None;
    }
    // SAFETY: they are mapped for ever, and the flag keeps all others away.
    let result = f(unsafe { &mut *tables });
    IS_BUSY.store(false, Ordering::Release);
    Some(result)
}

/// As [`with`], where another thread may have the tables for a moment.
fn with_patience<T>(f: impl FnOnce(&mut Tables) -> T) -> Option<T> {
    const PATIENCE: u32 = 100_000;
    for _ in 0..PATIENCE {
        if !IS_BUSY.load(Ordering::Relaxed) {
            break;
        }
        hint::spin_loop();
    }
    with(f)
}

/// The home, if this process records. The child of a fork enters itself.
#[inline]
fn recorded() -> Option<Home> {
    let home = home::home()?;
    match home.is_entered() && !home::is_deferred() {
        true => home.records().then_some(home),
        false => home::current(),
    }
}

/// A span that was entered.
#[derive(Clone, Copy)]
struct Entered {
    path: u32,
    /// Its place among the open spans.
    place: u32,
    recording: u32,
    number: u64,
}

/// Begins a span below a path, and below the span with that number.
fn enter(home: Home, label: u32, around: u32, parent: u64) -> Option<Entered> {
    with(|tables| {
        let recording = RECORDING.load(Ordering::Relaxed);
        tables.begin_if_new(home, recording);
        let path = tables.names.path(around, label);
        tables.write_path(home, path, recording);
        let place = tables.take_place()?;
        tables.last_number += 1;
        let number = tables.last_number;
        let (thread, tid) = thread::numbers(home, recording);
        let open = tables.open.get_mut(place as usize)?;
        open.state = state::OPEN;
        open.span = Span {
            owner: SpanOwner { path, thread, tid },
            task: 0,
            number,
            parent,
            began: clock::now(),
            ended: 0,
        };
        Some(Entered {
            path,
            place,
            recording,
            number,
        })
    })?
}

/// Ends a span. One of an earlier recording has no record.
fn leave(entered: Entered) {
    let ended = clock::now();
    with(|tables| {
        if entered.recording != RECORDING.load(Ordering::Relaxed) {
            return;
        }
        let Some(open) = tables.open.get_mut(entered.place as usize) else {
            return;
        };
        if open.span.number != entered.number || open.state == state::FREE {
            return;
        }
        let was_open = open.state == state::OPEN;
        let span = Span { ended, ..open.span };
        open.state = state::FREE;
        open.next = tables.free;
        tables.free = entered.place + 1;
        if let (true, Some(home)) = (was_open, recorded_here()) {
            tables.keep(home, span);
        }
    });
}

/// The home, if this process records and has entered itself.
fn recorded_here() -> Option<Home> {
    home::home().filter(|home| home.is_entered() && !home::is_deferred() && home.records())
}

/// The number of a label.
fn label(text: &str) -> Option<u32> {
    with(|tables| tables.names.label(text))
}

/// Counts a span that is not entered.
fn lose() {
    with(|tables| tables.names.losses[1] += 1);
}

/// Notes a named instant within a path.
fn mark(home: Home, path: u32, text: &str) {
    let now = clock::now();
    with(|tables| {
        let recording = RECORDING.load(Ordering::Relaxed);
        let (thread, tid) = thread::numbers(home, recording);
        let owner = SpanOwner { path, thread, tid };
        let is_kept = (tables.marks as usize) < span_limit::MARKS
            && tables.write(home, mark_words(text), |out| {
                Mark::write(out, owner, 0, now, text);
            });
        match is_kept {
            true => tables.marks += 1,
            false => tables.lost_marks += 1,
        }
    });
}

impl Tables {
    fn write(&mut self, home: Home, words: usize, fill: impl FnOnce(&mut [u64])) -> bool {
        write(home, &mut self.place, words, fill)
    }

    /// Writes the record of a path, and those around it, if they were not written in this
    /// recording.
    fn write_path(&mut self, home: Home, path: u32, recording: u32) {
        let mut next = path;
        for _ in 0..=span_limit::DEPTH {
            let Some(row) = self.names.get(next) else {
                break;
            };
            if row.written == recording {
                break;
            }
            let (text, around) = (self.names.text_of(row), row.around);
            let is_written = write(home, &mut self.place, span_path_words(text), |out| {
                SpanPath::write(out, next, around, text);
            });
            if is_written {
                self.names.note_written(next, recording);
            }
            next = around;
        }
    }

    /// Writes the paths of spans that were open when this recording began: samples may name them.
    fn write_open_paths(&mut self, home: Home, recording: u32) {
        for place in 0..self.used {
            let open = self.open.get(place).filter(|open| open.state != state::FREE);
            if let Some(path) = open.map(|open| open.span.owner.path) {
                self.write_path(home, path, recording);
            }
        }
    }

    fn take_place(&mut self) -> Option<u32> {
        if let Some(place) = self.free.checked_sub(1) {
            self.free = self.open.get(place as usize)?.next;
            return Some(place);
        }
        let place = self.used;
        if place >= MOST_OPEN {
            self.names.losses[1] += 1;
            return None;
        }
        self.used += 1;
        Some(place as u32)
    }

    /// Keeps a span that has ended: as a record of its own, or in a sum.
    fn keep(&mut self, home: Home, span: Span) {
        if span.ended >= self.moment {
            self.moment = span.ended + MOMENT;
            self.left = PORTION;
        }
        if (self.kept as usize) < span_limit::KEPT && self.left > 0 {
            self.left -= 1;
            if self.write_span(home, &span) {
                self.kept += 1;
                return;
            }
        }
        let length = span.ended.saturating_sub(span.began);
        let Self { sums, place, .. } = self;
        if !sums.add(span.owner, length, |row| write_sum(home, place, row)) {
            self.names.losses[1] += 1;
            // Its time is known, and its number counts: among others of any path.
            let owner = SpanOwner {
                path: OTHER_PATH,
                ..span.owner
            };
            sums.add(owner, length, |_| false);
        }
        if span.ended.wrapping_sub(self.written_at) > SOMETIMES {
            self.written_at = span.ended;
            self.flush(home);
        }
    }

    fn write_span(&mut self, home: Home, span: &Span) -> bool {
        self.write(home, SPAN_WORDS, |out| {
            if let Some(place) = out.first_chunk_mut() {
                *place = span.to_words();
            }
        })
    }

    /// Writes sums and losses.
    fn flush(&mut self, home: Home) {
        let Self { sums, place, .. } = self;
        sums.flush(|row| write_sum(home, place, row));
        let [attributes, names] = self.names.losses;
        let loss = SpanLoss {
            marks: self.lost_marks,
            attributes,
            names,
        };
        if loss != self.loss {
            let words = loss.to_words();
            let is_written = self.write(home, words.len(), |out| out.copy_from_slice(&words));
            if is_written {
                self.loss = loss;
            }
        }
    }

    /// Begins this recording, if its beginning found the tables in use.
    fn begin_if_new(&mut self, home: Home, recording: u32) {
        if IS_NEW.swap(false, Ordering::Relaxed) {
            self.begin_anew(home, recording);
        }
    }

    /// Writes what is left. Spans that are open get the record of a span that ended at this
    /// instant, or that is open: `ended` is 0.
    fn finish(&mut self, home: Home, ended: u64) {
        self.begin_if_new(home, RECORDING.load(Ordering::Relaxed));
        let mut patience = Patience::new();
        self.flush(home);
        while self.sums.spans > 0 && patience.wait() {
            self.flush(home);
        }
        for place in 0..self.used {
            let Some(open) = self.open.get(place) else {
                break;
            };
            if open.state != state::OPEN {
                continue;
            }
            let span = Span { ended, ..open.span };
            while !self.write_span(home, &span) {
                if !patience.wait() {
                    return;
                }
            }
            if let Some(open) = self.open.get_mut(place) {
                open.state = state::WRITTEN;
            }
        }
    }

    /// Begins another recording. Names and paths stay, and so do open spans, whose ends will have
    /// no records.
    fn begin_anew(&mut self, home: Home, recording: u32) {
        self.place = None;
        self.write_open_paths(home, recording);
        (self.used, self.free) = (0, 0);
        self.sums.clear();
        (self.kept, self.marks, self.lost_marks) = (0, 0, 0);
        self.names.losses = [0; 2];
        self.loss = SpanLoss::default();
    }
}

/// The time for which the end of a process waits for the command to empty the ring.
struct Patience(u32);

impl Patience {
    fn new() -> Self {
        const MOMENTS: u32 = 50;
        Self(MOMENTS)
    }

    /// Waits for a moment. False: it has waited long enough.
    fn wait(&mut self) -> bool {
        const MOMENT: u64 = 1_000_000;
        let goes_on = self.0 > 0;
        if goes_on {
            self.0 -= 1;
            // Nobody wakes it.
            sys::futex_wait(&AtomicU32::new(0), 0, MOMENT);
        }
        goes_on
    }
}

fn write(
    home: Home,
    place: &mut Option<Place>,
    words: usize,
    fill: impl FnOnce(&mut [u64]),
) -> bool {
    // SAFETY: the probe was made before the home was settled.
    unsafe { home.probe() }.write_others(place, words, fill)
}

fn write_sum(home: Home, place: &mut Option<Place>, row: &Row) -> bool {
    let pairs = row.lengths().count();
    write(home, place, span_sum_words(pairs), |out| {
        SpanSum::write(out, row.owner(), row.figures(), pairs, row.lengths());
    })
}

/// A recording begins. In a process that the agent comes back to, spans may be open.
pub fn begin(home: Home) {
    begin_anew(home);
}

/// In the child of any fork: a thread that held the tables is not there.
pub fn reset_after_fork() {
    IS_BUSY.store(false, Ordering::Relaxed);
}

/// In the child of a fork that has a ring of its own: spans that were open go on.
pub fn enter_child(home: Home) {
    begin_anew(home);
}

fn begin_anew(home: Home) {
    if TABLES.load(Ordering::Acquire).is_null() {
        return;
    }
    let recording = RECORDING.fetch_add(1, Ordering::Relaxed) + 1;
    if with(|tables| tables.begin_anew(home, recording)).is_none() {
        // A child that begins in a signal handler, in the middle of a span's beginning or end.
        IS_NEW.store(true, Ordering::Relaxed);
    }
}

/// The process is about to become another program.
pub fn before_exec() {
    if TABLES.load(Ordering::Relaxed).is_null() {
        return;
    }
    // None in a child that borrows its parent's memory.
    if let Some(home) = home::current_if_entered() {
        with_patience(|tables| tables.finish(home, clock::now()));
    }
}

/// The recording ends: with the process, or because the agent leaves it.
pub fn end(home: Home) {
    with_patience(|tables| tables.finish(home, 0));
}
