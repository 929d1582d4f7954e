//! The state that the parts of the recorder share: the processes, the memory that programs share
//! with the recorder, the options, and the totals.

mod drain;
mod missing;
mod open_files;
mod processes;
mod short_lived;
mod totals;
mod transport;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use profundo_linux::clock::Scale;
use profundo_linux::sys;
use profundo_probe::shared::Control;
use profundo_session::Directory;
use profundo_wire::recording::Engine;

use crate::agent::ClockPlan;
use crate::options::Options;

pub(crate) use open_files::OpenFiles;
pub(crate) use processes::{Newcomer, Processes, ThreadId};
pub(crate) use totals::Totals;
pub(crate) use transport::Transport;

/// The shared state of the recorder's parts.
pub(crate) struct Core {
    // Before the directory, so that files are closed before they are removed.
    pub(crate) processes: Processes,
    pub(crate) transport: Transport,
    pub(crate) options: Options,
    pub(crate) engine: Engine,
    pub(crate) scale: Scale,
    /// Whether samples are taken at present.
    pub(crate) running: bool,
    /// Whether the last turn had samples.
    pub(crate) has_samples: bool,
    /// Sentences for the reader that are still to be emitted.
    pub(crate) notes: Vec<String>,
    /// Notes that have been emitted, and are emitted only once.
    pub(crate) emitted: Emitted,
    pub(crate) totals: Totals,
}

/// The notes that have been emitted.
#[derive(Debug, Default)]
pub(crate) struct Emitted {
    /// The first instant of the recording's clock, which is no note but is emitted once too.
    pub(crate) clock: bool,
    /// The number of processes without a ring, as last noted.
    pub(crate) starved: u32,
    /// The number of processes that could not map the shared memory, as last noted.
    pub(crate) unmapped: u32,
    pub(crate) no_clock: bool,
    pub(crate) no_room: bool,
    pub(crate) no_tables: bool,
    /// A process can be sampled neither from inside nor from outside.
    pub(crate) unsampled: bool,
    /// The files in `/proc` that could not be read.
    pub(crate) unread_files: BTreeSet<&'static str>,
}

impl Core {
    /// The words that the recorder shares with all programs.
    pub(crate) fn control(&self) -> &Control {
        self.transport.directory.control()
    }

    /// A handle that ends a turn's wait from another thread.
    pub(crate) fn wake_handle(&self) -> WakeHandle {
        WakeHandle {
            directory: Arc::clone(&self.transport.directory),
        }
    }

    /// The plan for clocks that are opened now.
    pub(crate) fn clock_plan(&self) -> ClockPlan {
        ClockPlan {
            ours: self.engine == Engine::PerfSignal,
            period: self.options.period,
            running: self.running,
            mark: self.transport.store.mark(),
        }
    }

    /// Whether the engine can sample a process from outside.
    pub(crate) fn can_sample_outside(&self) -> bool {
        !matches!(self.engine, Engine::CpuTimer | Engine::Wall)
    }

    /// Whether threads are polled, because perf events are not permitted.
    pub(crate) fn is_polling(&self) -> bool {
        self.engine == Engine::ProcPoll
    }
}

/// Ends the recorder's wait from another thread.
#[derive(Debug, Clone)]
pub struct WakeHandle {
    directory: Arc<Directory>,
}

impl WakeHandle {
    /// The present turn, or the next one, does not wait.
    pub fn wake(&self) {
        let bell = &self.directory.control().doorbell;
        bell.fetch_add(1, Ordering::Release);
        sys::futex_wake(bell);
    }
}
