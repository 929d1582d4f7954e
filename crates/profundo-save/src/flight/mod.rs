//! A flight recorder: of a recording without an end, the last minutes are kept.
//!
//! The recording is written in [pieces](crate::pieces), each into a file of its own ([`piece`]). As
//! soon as the newer pieces cover the wanted time, the oldest is removed
//! ([`ring`]): so neither the memory nor the disk grows with the length of the recording. The
//! pieces that are there become one ordinary recording whenever it is wanted ([`kept`]), in another
//! thread, while the recording goes on.
//!
//! ```text
//! time       ──────────────────────────────────────────────────────────▶ now
//! removed    [ piece ][ piece ]
//! on disk                      [ piece ][ piece ]…[ piece ][ piece… ]
//! wanted                            ├───────── last ───────────────────┤
//! ```

mod kept;
mod piece;
mod ring;

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use profundo_console::output;
use profundo_formats::Error;
use profundo_ingest::Ingest;
use profundo_recorder::SoFar;
use profundo_wire::recording::{Event, Finish, Start};

pub use kept::{Kept, Written};

use crate::pieces::{Figures, Standing, begun};
use crate::recording_writer::{UNBEGUN, stacks_within};
use kept::Whole;
use piece::Piece;
use ring::Ring;

/// The number of pieces that cover the wanted time: so much of it is kept besides.
const PIECES: u32 = 8;
/// The pieces on the disk: those that cover the time, one that is about to go, one that is being
/// written, and one that is needed a moment longer.
const FILES: u64 = PIECES as u64 + 3;
/// The shortest and the longest piece. Each costs some milliseconds.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(300);
/// The limit of notes on the recording.
const MOST_NOTES: usize = 200;

/// A recording of which the last minutes are kept.
#[derive(Debug)]
pub struct FlightRecorder {
    folder: Folder,
    start: Start,
    last: Duration,
    max_size: u64,
    standing: Standing,
    piece: Option<Piece>,
    /// The number of the piece.
    number: u64,
    ring: Ring,
    /// The facts about the recording that no piece has.
    whole: Whole,
    failure: Option<Error>,
}

/// The folder of the pieces, which goes with the recorder.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// The lock that says that a recorder uses the folder. `None`: its file system has no locks.
    _lock: Option<File>,
}

impl Folder {
    /// Makes a folder that was not there.
    fn create(path: &Path) -> io::Result<Self> {
        DirBuilder::new().mode(0o700).create(path)?;
        let lock = File::open(path).ok();
        Ok(Self {
            path: path.to_owned(),
            _lock: lock.filter(|lock| lock.try_lock().is_ok()),
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Files that a thread still reads are removed with their last user.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// True if a recorder uses this folder of pieces, in whichever container it runs.
pub fn is_in_use(folder: &Path) -> bool {
    let lock = File::open(folder).map(|folder| folder.try_lock());
    matches!(lock, Ok(Err(TryLockError::WouldBlock)))
}

impl FlightRecorder {
    /// Begins the recording, in a new folder of this name, whose files take at most `max_size`
    /// bytes.
    pub fn create(folder: &Path, start: Start, last: Duration, max_size: u64) -> Result<Self> {
        let made = Folder::create(folder);
        let own = made
            .with_context(|| format!("cannot make the folder {}", folder.display()))
            .context(UNBEGUN)?;
        let max_size = max_size / FILES;
        let ingest = Ingest::first_piece(start).max_stacks(stacks_within(max_size));
        let mut recorder = Self {
            folder: own,
            start,
            last,
            max_size,
            standing: Standing::default(),
            piece: None,
            number: 0,
            ring: Ring::new(last),
            whole: Whole::default(),
            failure: None,
        };
        let begun = recorder.begin(ingest, Figures::none(start));
        begun
            .map_err(|error| output::why_not_written(folder, error))
            .context(UNBEGUN)?;
        Ok(recorder)
    }

    /// Sets the rules for own code.
    pub fn own_code(mut self, mine: &[String]) -> Self {
        self.whole.mine = mine.to_vec();
        self
    }

    /// Gives the recordings that are kept labels, each a key and a value.
    pub fn labels(mut self, labels: &[(String, String)]) -> Self {
        self.whole.labels = labels.to_vec();
        self
    }

    /// Adds an event of the recorder.
    pub fn event(&mut self, event: Event<'_>) {
        match event {
            // Counts are not divided into pieces.
            Event::Calls { .. } | Event::Tallies { .. } | Event::Sites { .. } => return,
            Event::Note(note) => return self.note(note),
            Event::Cleared(at) => return self.clear(at),
            _ => {}
        }
        self.standing.event(&event);
        if let Some(piece) = &mut self.piece {
            piece.event(event);
        }
    }

    fn note(&mut self, note: String) {
        let notes = &mut self.whole.notes;
        if notes.len() < MOST_NOTES && !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// The time until the next piece is due.
    pub fn until_due(&self) -> Duration {
        let length = (self.last / PIECES).clamp(SHORTEST, LONGEST);
        match &self.piece {
            Some(piece) => length.saturating_sub(piece.age()),
            None => Duration::MAX,
        }
    }

    /// Writes what is ready. A piece that cannot be written is missing, and the next one is tried:
    /// there may be room again.
    pub fn turn(&mut self) {
        let written = self.piece.as_mut().map_or(Ok(()), Piece::turn);
        self.failed_with(written);
    }

    /// Ends a piece and begins the next one. The recorder has just emitted all threads, and has
    /// these figures.
    pub fn divide(&mut self, so_far: &SoFar) {
        let after = Figures::new(so_far);
        let Some(mut piece) = self.piece.take() else {
            return;
        };
        self.standing.next_piece();
        let first = self.ring.first_block().unwrap_or(0);
        let ingest = piece.next(first);
        self.end(piece, &after);
        let begun = self.begin(ingest, after);
        self.failed_with(begun);
    }

    /// Ends a piece, and keeps it.
    fn end(&mut self, piece: Piece, after: &Figures) {
        match piece.end(after) {
            Ok(finished) => finished.into_iter().for_each(|it| self.ring.push(it)),
            Err(error) => self.failed_with(Err(error)),
        }
    }

    /// Drops all pieces: the recording begins here.
    fn clear(&mut self, at: profundo_wire::recording::Instant) {
        let Some(mut piece) = self.piece.take() else {
            return;
        };
        self.standing.next_piece();
        let ingest = piece.next(u64::MAX);
        drop(piece);
        self.ring.clear();
        let figures = Figures::none(Start {
            started: at,
            ..self.start
        });
        let begun = self.begin(ingest, figures);
        self.failed_with(begun);
    }

    /// Begins a piece.
    fn begin(&mut self, ingest: Ingest, figures: Figures) -> Result<(), Error> {
        let stretch = begun(ingest, self.start, &self.standing, figures);
        let path = self.folder.path.join(self.number.to_string());
        self.number += 1;
        let (piece, begun) = Piece::begin(stretch, path, self.max_size);
        self.piece = Some(piece);
        begun
    }

    fn failed_with(&mut self, written: Result<(), Error>) {
        if let Err(error) = written {
            let why = error.to_string();
            self.note(format!("some of the recording is missing: {why}"));
            self.failure.get_or_insert(error);
        }
    }

    /// The last minutes as they are now, up to where the last piece ended.
    pub fn kept(&self) -> Kept {
        Kept::new(self.whole.clone(), self.ring.pieces())
    }

    /// The first reason why something is missing.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// The bytes of the finished pieces, and the number of programs that the next one begins with.
    pub fn sizes(&self) -> (u64, usize) {
        (self.ring.bytes(), self.standing.programs())
    }

    /// Ends the recording where the recorder has ended it.
    pub fn finish(&mut self, finish: Finish) -> Kept {
        if let Some(piece) = self.piece.take() {
            let after = Figures::new(&SoFar {
                finish,
                processes: Vec::new(),
            });
            self.end(piece, &after);
        }
        self.kept()
    }
}

#[cfg(test)]
mod tests;
