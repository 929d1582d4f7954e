//! From a recording to a profile with addresses.
//!
//! Records become samples: their stacks are interned, their clocks turned into time since the
//! start, their numbers into rows of the thread, task and module tables. The frames of an
//! interpreter are merged into the native stack, and have their names, which no other source knows;
//! no address is named here. Unreadable records are counted as lost, never dropped in silence.
//!
//! [`ingest`] takes a whole recording, [`Ingest`] the events of a recorder outside the program, as
//! they happen.

#![forbid(unsafe_code)]

mod clock;
mod codes;
mod files;
mod generated;
pub mod graph;
mod heap;
mod ingest;
mod merge;
mod modules;
mod objects;
mod qualified;
mod readings;
mod spans;
mod stacks;
mod threads_and_tasks;
mod traced;
mod waits;

use profundo_model::Profile;
use profundo_wire::recording::{Event, Finish, ProcessInfo, Recording, Start};

pub use generated::Split;
pub use heap::EarlierBlocks;
pub use ingest::{Ingest, MOST_STACKS};
pub use objects::Objects;
pub use qualified::QualifiedNames;
pub use threads_and_tasks::PARKED;

/// Turns a recording into a profile whose locations are addresses.
///
/// ```
/// use profundo_wire::recording::Recording;
///
/// let profile = profundo_ingest::ingest(&Recording::default());
/// assert!(profile.samples.is_empty());
/// ```
pub fn ingest(recording: &Recording) -> Profile {
    const ONLY: u32 = 1;
    let mut ingest = Ingest::new(Start {
        engine: recording.engine,
        is_wall: false,
        period: recording.period,
        started: recording.started,
        ..Start::default()
    })
    .single();
    ingest.event(Event::Process(ProcessInfo {
        key: ONLY,
        pid: recording.pid,
        command: recording.command.clone(),
        ..ProcessInfo::default()
    }));
    ingest.event(Event::Modules {
        process: ONLY,
        modules: recording.modules.clone(),
    });
    let (threads, profile, numbers) = ingest.threads(ONLY);
    for info in &recording.threads {
        if info.alive > 0 {
            threads.update(profile, numbers, info, None);
        } else {
            threads.expect(info);
        }
    }
    for note in &recording.notes {
        ingest.event(Event::Note(note.clone()));
    }
    for words in &recording.chunks {
        ingest.event(Event::Words {
            process: ONLY,
            words,
        });
    }
    // Of many tasks, few may have samples.
    let (threads, profile, _) = ingest.threads(ONLY);
    for info in &recording.tasks {
        threads.describe_task(profile, info.number, &info.name, &info.spawned_at);
    }
    ingest.event(Event::Loss {
        process: ONLY,
        loss: recording.loss,
    });
    let mut profile = ingest.finish(Finish {
        ended: recording.ended,
        duration: recording.duration,
        cpu: recording.cpu,
        own_cost: recording.own_cost,
        recorder_cpu: None,
        by_ticks: 0,
    });
    profile.meta.buffer_was_full = recording.buffer_was_full;
    profile
}

#[cfg(test)]
mod tests;
