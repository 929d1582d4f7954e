//! The piece of a recording that is being written. Its figures are those of its own time: what the
//! recorder counts since the beginning, less what it had counted when the piece began.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use profundo_formats::{Error, StreamWriter, create_file};
use profundo_ingest::Ingest;
use profundo_model::{Growing, Nanos, Profile};
use profundo_recorder::SoFar;
use profundo_wire::recording::{Event, Finish, Start};

use super::ring::{Finished, PieceFile};
use super::standing::Standing;
use crate::recording_writer::split_names;

/// The time that samples wait in memory.
const FLUSH: Duration = Duration::from_millis(250);

/// The recorder's figures at a moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures {
    finish: Finish,
    /// By key, the user and system time of a process.
    times: BTreeMap<u32, (u64, u64)>,
}

impl Figures {
    /// The figures at the recording's beginning, or where it was cleared.
    pub(super) fn none(start: Start) -> Self {
        Self {
            finish: Finish {
                ended: start.started,
                own_cost: Some(0),
                ..Finish::default()
            },
            times: BTreeMap::new(),
        }
    }

    pub(super) fn new(so_far: &SoFar) -> Self {
        let times = so_far.processes.iter();
        Self {
            finish: so_far.finish,
            times: times
                .map(|times| (times.key, (times.user, times.system)))
                .collect(),
        }
    }
}

/// The piece.
#[derive(Debug)]
pub(super) struct Piece {
    ingest: Ingest,
    /// `None` once writing has failed: then the piece is not kept.
    stream: Option<StreamWriter<BufWriter<File>>>,
    file: PieceFile,
    before: Figures,
    /// The times of processes that have ended meanwhile.
    ended: BTreeMap<u32, (u64, u64)>,
    start: Start,
    began: Instant,
    flushed: Instant,
}

/// Where a piece begins, and how large it may become.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) start: Start,
    pub(super) max_size: u64,
}

impl Piece {
    /// Begins a piece with what is known of the programs. If its file cannot be made, that is
    /// returned too; the piece after it may have more luck.
    pub(super) fn begin(
        mut ingest: Ingest,
        place: Place,
        standing: &Standing,
        before: Figures,
    ) -> (Self, Result<(), Error>) {
        ingest.event(Event::Clock(before.finish.ended));
        standing.tell(&mut |event| ingest.event(event));
        ingest.begin_figures();
        let file = PieceFile::new(place.path);
        let (stream, made) = match create_file(file.path(), &ingest.profile().meta) {
            Ok(stream) => (Some(stream.max_size(place.max_size)), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let now = Instant::now();
        let piece = Self {
            stream,
            ingest,
            file,
            before,
            ended: BTreeMap::new(),
            start: place.start,
            began: now,
            flushed: now,
        };
        (piece, made)
    }

    /// Takes in an event.
    pub(super) fn event(&mut self, event: Event<'_>) {
        if let Event::Ended(end) = &event
            && let (Some(user), Some(system)) = (end.user, end.system)
        {
            self.ended.insert(end.process, (user, system));
        }
        self.ingest.event(event);
    }

    /// The time that it has taken so far.
    pub(super) fn age(&self) -> Duration {
        self.began.elapsed()
    }

    /// The time of its beginning, since the start of the recording.
    pub(super) fn from(&self) -> Nanos {
        since(self.start, self.before.finish)
    }

    /// Writes what is ready, if it is due.
    pub(super) fn turn(&mut self) -> Result<(), Error> {
        if self.flushed.elapsed() < FLUSH {
            return Ok(());
        }
        self.flushed = Instant::now();
        let profile = self.ingest.profile_mut();
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
        self.ingest.next_piece(self.start, first_kept)
    }

    /// Ends the piece, where the recorder has these figures. `None`: it could not be written.
    pub(super) fn end(mut self, after: &Figures) -> Result<Option<Finished>, Error> {
        let Some(stream) = self.stream.take() else {
            return Ok(None);
        };
        let keys = self.ingest.keys().to_vec();
        let blocks = self.ingest.block_rows();
        let from = self.from();
        let (now, before) = (after.finish, self.before.finish);
        let difference = |now: u64, before: u64| now.saturating_sub(before);
        let own_cost = now.own_cost.zip(before.own_cost);
        // The clock is known best at the end.
        self.ingest.event(Event::Clock(now.ended));
        let earlier = self.ingest.take_earlier_blocks();
        let (mut profile, split) = self.ingest.finish_unsplit(Finish {
            ended: now.ended,
            duration: difference(now.duration, before.duration),
            cpu: difference(now.cpu, before.cpu),
            own_cost: own_cost.map(|(now, before)| difference(now, before)),
            recorder_cpu: None,
            by_ticks: difference(now.by_ticks, before.by_ticks),
        });
        for (process, key) in profile.processes.iter_mut().zip(&keys) {
            let last = self
                .ended
                .get(key)
                .or_else(|| after.times.get(key))
                .copied();
            let first = self.before.times.get(key).copied().unwrap_or_default();
            process.user = last.map(|(user, _)| Nanos(difference(user, first.0)));
            process.system = last.map(|(_, system)| Nanos(difference(system, first.1)));
        }
        let samples = stream.samples() + profile.samples.len();
        stream.finish(&mut profile)?;
        if split.is_needed() {
            split_names(self.file.path(), &split, samples)?;
        }
        Ok(Some(Finished {
            from,
            to: since(self.start, now),
            ran: (Nanos(before.duration), Nanos(now.duration)),
            keys,
            blocks,
            earlier,
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

/// The time of figures, since the start of the recording.
fn since(start: Start, finish: Finish) -> Nanos {
    let monotonic = finish.ended.monotonic;
    Nanos(monotonic.saturating_sub(start.started.monotonic))
}
