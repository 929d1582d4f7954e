//! The tables of spans: names, open spans, sums, and the way of their records to the ring.

use core::sync::atomic::{AtomicU32, Ordering};

use profundo_probe::others::Place;
use profundo_probe::{clock, sys};
use profundo_wire::{
    Mark, OTHER_PATH, SPAN_WORDS, Span, SpanLoss, SpanOwner, SpanPath, SpanSum, mark_words,
    span_limit, span_path_words, span_sum_words,
};

use super::names::Names;
use super::sums::{Row, Sums};
use super::{IS_NEW, RECORDING, thread};
use crate::home::Home;

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
pub struct Tables {
    pub names: Names,
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

/// A span that was entered.
#[derive(Clone, Copy)]
pub struct Entered {
    /// Its path.
    pub path: u32,
    /// Its place among the open spans.
    pub place: u32,
    /// The recording that it was entered in.
    pub recording: u32,
    /// Its number.
    pub number: u64,
}

mod state {
    pub const FREE: u32 = 0;
    pub const OPEN: u32 = 1;
    /// Its record was written when the process ended or was about to become another program.
    pub const WRITTEN: u32 = 2;
}

impl Tables {
    /// Begins tables in zeroed memory.
    ///
    /// # Safety
    /// The memory is as long and as aligned as tables are, and nothing else uses it.
    pub unsafe fn begin(tables: *mut Self) {
        // SAFETY: the caller vouches; all zero is valid for all but the place.
        unsafe {
            (&raw mut (*tables).place).write(None);
            (*tables).names.begin();
        }
    }

    /// Begins a span below a path, and below the span with that number.
    pub fn enter(&mut self, home: Home, label: u32, around: u32, parent: u64) -> Option<Entered> {
        let recording = RECORDING.load(Ordering::Relaxed);
        self.begin_if_new(home, recording);
        let path = self.names.path(around, label);
        self.write_path(home, path, recording);
        let place = self.take_place()?;
        self.last_number += 1;
        let number = self.last_number;
        let (thread, tid) = thread::numbers(home, recording);
        let open = self.open.get_mut(place as usize)?;
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
    }

    /// Takes an open span out; `None` if its record was written, or if it is of an earlier
    /// recording.
    pub fn leave(&mut self, entered: Entered, ended: u64) -> Option<Span> {
        if entered.recording != RECORDING.load(Ordering::Relaxed) {
            return None;
        }
        let open = self.open.get_mut(entered.place as usize)?;
        if open.span.number != entered.number || open.state == state::FREE {
            return None;
        }
        let was_open = open.state == state::OPEN;
        open.state = state::FREE;
        open.next = self.free;
        self.free = entered.place + 1;
        was_open.then_some(Span { ended, ..open.span })
    }

    /// Notes a named instant within a path.
    pub fn mark(&mut self, home: Home, path: u32, clock: u64, text: &str) {
        let (thread, tid) = thread::numbers(home, RECORDING.load(Ordering::Relaxed));
        let owner = SpanOwner { path, thread, tid };
        let is_kept = (self.marks as usize) < span_limit::MARKS
            && self.write(home, mark_words(text), |out| {
                Mark::write(out, owner, 0, clock, text);
            });
        match is_kept {
            true => self.marks += 1,
            false => self.lost_marks += 1,
        }
    }

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
            let open = self
                .open
                .get(place)
                .filter(|open| open.state != state::FREE);
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
    pub fn keep(&mut self, home: Home, span: Span) {
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
    pub fn finish(&mut self, home: Home, ended: u64) {
        self.begin_if_new(home, RECORDING.load(Ordering::Relaxed));
        let mut patience = self.write_sums(home);
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

    /// Writes all sums. Returns what is left of the time for it.
    pub fn write_sums(&mut self, home: Home) -> Patience {
        let mut patience = Patience::new();
        self.flush(home);
        while self.sums.spans > 0 && patience.wait() {
            self.flush(home);
        }
        patience
    }

    /// Begins another recording. Names and paths stay, and so do open spans, whose ends will have
    /// no records.
    pub fn begin_anew(&mut self, home: Home, recording: u32) {
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
pub struct Patience(u32);

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
            // No other thread wakes it.
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
