//! The last minutes of a recording as an ordinary recording in a file.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use profundo_analysis::{JoinedPiece, Joining, begin_at};
use profundo_console::output;
use profundo_formats::{read_file, write_file};
use profundo_model::{Nanos, Origin, OriginId, Profile, State};

use super::ring::Finished;
use crate::{naming, sources, stack_weights};

/// The facts about a recording that no piece of it has.
#[derive(Debug, Clone, Default)]
pub(super) struct Whole {
    pub(super) mine: Vec<String>,
    pub(super) labels: Vec<(String, String)>,
    pub(super) notes: Vec<String>,
}

/// The last minutes at a moment. Its pieces stay on the disk as long as it exists.
#[derive(Debug)]
pub struct Kept {
    whole: Whole,
    pieces: Vec<Arc<Finished>>,
}

/// A recording that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The number of its samples.
    pub samples: usize,
    /// Its time.
    pub length: Nanos,
    /// Notes on it for the reader.
    pub notes: Vec<String>,
}

impl Kept {
    pub(super) fn new(whole: Whole, pieces: Vec<Arc<Finished>>) -> Self {
        Self { whole, pieces }
    }

    /// Writes it, with names for its addresses from this machine's files.
    pub fn write(&self, path: &Path, keeps_source: bool) -> Result<Written> {
        let mut profile = self.joined()?;
        let samples = profile.samples.len();
        naming::complete(&mut profile, samples);
        if keeps_source {
            let mut weights = Vec::new();
            stack_weights::add_samples(&mut weights, &profile);
            // While the times of processes are those of the whole recording.
            let mut in_memory = sources::InMemory::default();
            in_memory.note_starts(&profile);
            sources::keep(&mut profile, &weights, &mut in_memory);
        }
        let (from, to) = self.time();
        self.begin(&mut profile, from);
        write_file(path, &profile).map_err(|error| output::why_not_written(path, error))?;
        Ok(Written {
            samples,
            length: Nanos(to.0.saturating_sub(from.0)),
            notes: profile.meta.notes,
        })
    }

    /// The time of all pieces, since the start of the recording.
    fn time(&self) -> (Nanos, Nanos) {
        let from = self.pieces.first().map(|piece| piece.from);
        let to = self.pieces.last().map(|piece| piece.to);
        (from.unwrap_or_default(), to.unwrap_or_default())
    }

    /// All pieces in one, on the clock of the whole recording.
    fn joined(&self) -> Result<Profile> {
        if self.pieces.is_empty() {
            bail!("nothing has been recorded yet");
        }
        let mut joining = Joining::default();
        for piece in &self.pieces {
            let (profile, _) = read_file(piece.file.path())?;
            joining.add(&JoinedPiece {
                profile: &profile,
                keys: &piece.keys,
                from: piece.from,
                blocks: piece.blocks,
                ends: &piece.earlier.ends,
                unreachable: &piece.earlier.unreachable,
            });
        }
        let mut profile = joining.finish();
        profile.meta.mine.clone_from(&self.whole.mine);
        let notes = profile.meta.notes.clone();
        let new = self.whole.notes.iter().filter(|note| !notes.contains(note));
        profile.meta.notes.extend(new.cloned());
        self.label(&mut profile);
        Ok(profile)
    }

    fn label(&self, profile: &mut Profile) {
        if self.whole.labels.is_empty() {
            return;
        }
        let mut origin = Origin::default();
        for (key, value) in &self.whole.labels {
            let (key, value) = (profile.strings.intern(key), profile.strings.intern(value));
            origin.set_label(key, value);
        }
        profile.origins.push(origin);
        for process in &mut profile.processes {
            process.origin = Some(OriginId::from_index(0));
        }
    }

    /// Begins the time of the recording with the oldest piece.
    fn begin(&self, profile: &mut Profile, from: Nanos) {
        begin_at(profile, from);
        // A wait may have begun before.
        let waits = profile.samples.iter_mut();
        for wait in waits.filter(|sample| sample.state == State::WallWaiting) {
            wait.weight = wait.weight.min(wait.time);
        }
        if from > Nanos(0) {
            profile.meta.notes.push(format!(
                "this is the end of a longer recording, of which the last minutes were kept: what was recorded in \
                 the {} before was let go",
                length(from)
            ));
        }
    }
}

/// A length of time in the unit that fits.
fn length(time: Nanos) -> String {
    let seconds = time.0 as f64 / 1e9;
    match seconds {
        ..120.0 => format!("{seconds:.1} seconds"),
        ..7200.0 => format!("{:.0} minutes", seconds / 60.0),
        ..172_800.0 => format!("{:.0} hours", seconds / 3600.0),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}
