//! Where the recorder's events go: into one file that grows, or into the pieces of which the last
//! are kept.

use std::time::Duration;

use anyhow::Result;
use profundo_recorder::Recorder;
use profundo_save::recording_writer::{RecordingWriter, Saved};
use profundo_wire::recording::{Event, Finish};

use super::Last;

/// A recording in the making.
pub enum Writer {
    /// It is kept as a whole.
    Whole(Box<RecordingWriter>),
    /// Its last minutes are kept.
    Last(Box<Last>),
}

impl Writer {
    /// Adds an event of the recorder.
    pub fn event(&mut self, event: Event<'_>) {
        match self {
            Self::Whole(writer) => writer.event(event),
            Self::Last(last) => last.event(event),
        }
    }

    /// The time until something has to be done.
    pub fn until_due(&self) -> Duration {
        match self {
            Self::Whole(_) => Duration::MAX,
            Self::Last(last) => last.until_due(),
        }
    }

    /// Does what other processes ask for. With `wants_keeping`, a signal has asked for the last
    /// minutes.
    pub fn answer(&mut self, recorder: &mut Recorder, wants_keeping: bool) {
        match self {
            Self::Whole(writer) => write_if_wanted(recorder, writer),
            Self::Last(last) => last.answer(recorder, wants_keeping),
        }
    }

    /// Writes what is ready, if it is due. Returns whether more can be written.
    pub fn turn(&mut self) -> bool {
        match self {
            Self::Whole(writer) => writer.turn(),
            Self::Last(last) => {
                last.turn();
                true
            }
        }
    }

    /// The program has begun: an older recording is replaced.
    pub fn take_place(&mut self) -> Result<()> {
        match self {
            Self::Whole(writer) => writer.take_place(),
            // It is replaced at the end.
            Self::Last(_) => Ok(()),
        }
    }

    /// Nothing will be recorded.
    pub fn discard(self) {
        if let Self::Whole(writer) = self {
            writer.discard();
        }
    }

    /// Ends the recording, and writes it with names and source lines.
    pub fn finish(self, finish: Finish, keeps_source: bool) -> Saved {
        match self {
            Self::Whole(writer) => writer.finish(finish, keeps_source),
            Self::Last(last) => last.finish(finish),
        }
    }
}

/// Writes all until now, if another process wants to read it.
fn write_if_wanted(recorder: &mut Recorder, writer: &mut RecordingWriter) {
    let Some(wanted) = recorder.wanted() else {
        return;
    };
    // Twice: samples wait until the time is known on both sides of them.
    for _ in 0..2 {
        recorder.turn_now(&mut |event| writer.event(event));
    }
    writer.flush();
    recorder.written(wanted);
}
