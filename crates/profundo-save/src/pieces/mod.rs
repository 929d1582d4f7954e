//! A recording without an end, divided into pieces: each is a profile of its own stretch of time,
//! which begins with what is known of the programs at that moment ([`standing`]), and has the
//! figures of its own time alone ([`stretch`]).
//!
//! [`Pieces`] gives each piece as a profile in memory. A [flight recorder](crate::flight) writes
//! them to files instead, and joins the last ones.

mod records;
mod standing;
mod stretch;

use std::time::Duration;

use profundo_ingest::Ingest;
use profundo_model::{Nanos, Profile};
use profundo_recorder::SoFar;
use profundo_wire::recording::{Event, Finish, Instant, Start};

use crate::this_machine;

pub(crate) use standing::Standing;
pub(crate) use stretch::{Ended, Figures, Stretch};

/// Distinct stacks and their prefixes of one piece; of later ones only a part is kept.
const MOST_STACKS: usize = 1 << 20;

/// A recording that is divided.
#[derive(Debug)]
pub struct Pieces {
    start: Start,
    standing: Standing,
    current: Stretch,
    began: std::time::Instant,
    is_of_machine: bool,
}

/// A piece.
#[derive(Debug)]
pub struct Piece {
    /// What was recorded, with addresses that have no names yet.
    pub profile: Profile,
    /// Its time, since the start of the recording.
    pub from: Nanos,
    /// Its end.
    pub to: Nanos,
}

impl Pieces {
    /// Begins the recording.
    pub fn new(start: Start) -> Self {
        let ingest = Ingest::first_piece(start).max_stacks(MOST_STACKS);
        let standing = Standing::default();
        Self {
            current: begun(ingest, start, &standing, Figures::none(start)),
            start,
            standing,
            began: std::time::Instant::now(),
            is_of_machine: false,
        }
    }

    /// Notes that all processes of the machine are recorded.
    pub fn of_machine(mut self) -> Self {
        self.is_of_machine = true;
        self
    }

    /// Adds an event of the recorder.
    pub fn event(&mut self, event: Event<'_>) {
        match event {
            // Counts are not divided into pieces, and a piece has no room for notes on the whole.
            Event::Calls { .. } | Event::Tallies { .. } | Event::Sites { .. } | Event::Note(_) => {
                return;
            }
            _ => {}
        }
        self.standing.event(&event);
        self.current.event(event);
    }

    /// The time that the piece has taken so far.
    pub fn age(&self) -> Duration {
        self.began.elapsed()
    }

    /// The number of samples of the piece so far.
    pub fn samples(&self) -> usize {
        let profile = self.current.profile();
        profile.samples.len() + profile.heap.blocks.len()
    }

    /// The number of programs that the next piece begins with.
    pub fn programs(&self) -> usize {
        self.standing.programs()
    }

    /// Ends a piece and begins the next one. The recorder has just emitted all threads, and has
    /// these figures.
    pub fn divide(&mut self, so_far: &SoFar) -> Piece {
        let after = Figures::new(so_far);
        self.standing.next_piece();
        // No later piece refers to blocks of earlier ones.
        let ingest = self.current.next(u64::MAX);
        let next = begun(ingest, self.start, &self.standing, after.clone());
        let ended = std::mem::replace(&mut self.current, next);
        self.began = std::time::Instant::now();
        let (start, now) = (self.start.started, so_far.finish.ended);
        piece(ended.end(&after), start, now, self.is_of_machine)
    }

    /// Ends the recording where the recorder has ended it.
    pub fn finish(self, finish: Finish) -> Piece {
        let after = Figures::new(&SoFar {
            finish,
            processes: Vec::new(),
        });
        let (start, now) = (self.start.started, finish.ended);
        piece(self.current.end(&after), start, now, self.is_of_machine)
    }
}

/// The piece of a stretch that has ended at this moment.
fn piece(ended: Ended, start: Instant, now: Instant, is_of_machine: bool) -> Piece {
    let Ended {
        mut profile,
        split,
        from,
        to,
        ..
    } = ended;
    if split.is_needed() {
        split.apply(&mut profile);
    }
    let meta = &mut profile.meta;
    meta.is_of_machine = is_of_machine;
    // The clock of the day may have been set since the start.
    let elapsed = now.monotonic.saturating_sub(start.monotonic);
    meta.started_at_unix = now.unix.saturating_sub(elapsed);
    Piece { profile, from, to }
}

/// A stretch that begins with what is known.
pub(crate) fn begun(ingest: Ingest, start: Start, standing: &Standing, before: Figures) -> Stretch {
    Stretch::begin(this_machine::noted(ingest), start, standing, before)
}
