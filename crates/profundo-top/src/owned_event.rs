//! The recorder's events, for transfer from its thread to the keeper's.

use profundo_wire::recording::Event;

/// An event that owns its data.
#[derive(Debug)]
pub enum OwnedEvent {
    /// Records of one process.
    Words {
        /// The process's key.
        process: u32,
        /// The words of the records.
        words: Box<[u64]>,
    },
    /// Any other event.
    Other(Event<'static>),
}

impl OwnedEvent {
    /// A copy of an event.
    pub fn of(event: Event<'_>) -> Self {
        Self::Other(match event {
            Event::Words { process, words } => {
                let words = words.into();
                return Self::Words { process, words };
            }
            Event::Clock(now) => Event::Clock(now),
            Event::Process(info) => Event::Process(info),
            Event::Modules { process, modules } => Event::Modules { process, modules },
            Event::Generated { process, codes } => Event::Generated { process, codes },
            Event::Thread {
                process,
                thread,
                gil_wait,
            } => Event::Thread {
                process,
                thread,
                gil_wait,
            },
            Event::Runtime {
                process,
                runtime,
                module,
            } => Event::Runtime {
                process,
                runtime,
                module,
            },
            Event::Loss { process, loss } => Event::Loss { process, loss },
            Event::Sites {
                process,
                clock,
                sites,
                peak,
            } => Event::Sites {
                process,
                clock,
                sites,
                peak,
            },
            Event::Collections {
                process,
                collections,
                lost,
            } => Event::Collections {
                process,
                collections,
                lost,
            },
            Event::Energy(used) => Event::Energy(used),
            Event::Gauge(gauge) => Event::Gauge(gauge),
            Event::Calls { process, calls } => Event::Calls { process, calls },
            Event::Tallies { process, tallies } => Event::Tallies { process, tallies },
            Event::Unreachable { process, found } => Event::Unreachable { process, found },
            Event::Cleared(at) => Event::Cleared(at),
            Event::Ended(end) => Event::Ended(end),
            Event::Note(note) => Event::Note(note),
        })
    }

    /// The event, for one of several readers.
    pub fn copy(&self) -> Event<'_> {
        match self {
            Self::Words { process, words } => Event::Words {
                process: *process,
                words,
            },
            Self::Other(event) => event.clone(),
        }
    }
}
