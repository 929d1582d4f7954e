//! The piece of a recording that is being written to a file.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use profundo_formats::{Error, StreamWriter, create_file};
use profundo_ingest::Ingest;
use profundo_model::{Growing, Profile};
use profundo_wire::recording::Event;

use super::ring::{Finished, PieceFile};
use crate::pieces::{Figures, Stretch};
use crate::recording_writer::split_names;

/// The time that samples wait in memory.
const FLUSH: Duration = Duration::from_millis(250);

/// The piece.
#[derive(Debug)]
pub(super) struct Piece {
    stretch: Stretch,
    /// `None` once writing has failed: then the piece is not kept.
    stream: Option<StreamWriter<BufWriter<File>>>,
    file: PieceFile,
    began: Instant,
    flushed: Instant,
}

impl Piece {
    /// Begins the file of a piece, of at most `max_size` bytes. If it cannot be made, that is
    /// returned too; the piece after it may have more luck.
    pub(super) fn begin(
        stretch: Stretch,
        path: PathBuf,
        max_size: u64,
    ) -> (Self, Result<(), Error>) {
        let file = PieceFile::new(path);
        let (stream, made) = match create_file(file.path(), &stretch.profile().meta) {
            Ok(stream) => (Some(stream.max_size(max_size)), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let now = Instant::now();
        let piece = Self {
            stretch,
            stream,
            file,
            began: now,
            flushed: now,
        };
        (piece, made)
    }

    /// Takes in an event.
    pub(super) fn event(&mut self, event: Event<'_>) {
        self.stretch.event(event);
    }

    /// The time that it has taken so far.
    pub(super) fn age(&self) -> Duration {
        self.began.elapsed()
    }

    /// Writes what is ready, if it is due.
    pub(super) fn turn(&mut self) -> Result<(), Error> {
        if self.flushed.elapsed() < FLUSH {
            return Ok(());
        }
        self.flushed = Instant::now();
        let profile = self.stretch.profile_mut();
        // It is for recordings that are continued.
        profile.growing = Growing::default();
        let written = match &mut self.stream {
            Some(stream) => stream.flush(profile),
            None => {
                forget_rows(profile);
                Ok(())
            }
        };
        if written.is_err() {
            self.stream = None;
        }
        written
    }

    /// The tables of the piece after this one, which knows blocks from `first_kept` on.
    pub(super) fn next(&mut self, first_kept: u64) -> Ingest {
        self.stretch.next(first_kept)
    }

    /// Ends the piece, where the recorder has these figures. `None`: it could not be written.
    pub(super) fn end(mut self, after: &Figures) -> Result<Option<Finished>, Error> {
        let Some(stream) = self.stream.take() else {
            return Ok(None);
        };
        let mut ended = self.stretch.end(after);
        let samples = stream.samples() + ended.profile.samples.len();
        stream.finish(&mut ended.profile)?;
        if ended.split.is_needed() {
            split_names(self.file.path(), &ended.split, samples)?;
        }
        Ok(Some(Finished {
            from: ended.from,
            to: ended.to,
            ran: ended.ran,
            keys: ended.keys,
            blocks: ended.blocks,
            earlier: ended.earlier,
            bytes: std::fs::metadata(self.file.path()).map_or(0, |file| file.len()),
            file: self.file,
        }))
    }
}

/// Drops what would have been written.
fn forget_rows(profile: &mut Profile) {
    profile.samples.clear();
    profile.traffic.clear();
    profile.syscalls.clear();
    let heap = &mut profile.heap;
    heap.taken += heap.blocks.len() as u64;
    heap.blocks.clear();
    heap.ends.clear();
    heap.unreachable.clear();
    heap.copies.clear();
    heap.gauges.clear();
}
