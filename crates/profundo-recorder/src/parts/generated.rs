//! Code that programs generate while they run: what they publish about it is read from time to
//! time, and emitted.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use profundo_jit::{At, Change, Descriptors, Watch};
use profundo_linux::clock::Scale;
use profundo_linux::sys;
use profundo_wire::recording::{Event, GeneratedCode, GeneratedLine};

use super::{Part, Sink};
use crate::core::Core;

/// Nanoseconds between two readings.
const OFTEN: u64 = 200_000_000;

/// Reads what programs publish about generated code. Many programs map the same files.
#[derive(Debug, Default)]
pub(crate) struct Generated {
    /// The publications of programs that generate code, by their keys.
    watches: HashMap<u32, Watch>,
    descriptors: Descriptors,
    /// The time at which all programs were last read, on the monotonic clock.
    last_read: u64,
    said_full: bool,
}

impl Part for Generated {
    /// Reads all programs, if it is time.
    fn turn_of_living(&mut self, core: &mut Core, sink: &mut Sink<'_>) {
        let monotonic = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        if monotonic.saturating_sub(self.last_read) < OFTEN {
            return;
        }
        self.last_read = monotonic;
        for key in core.processes.keys() {
            self.read(core, key, sink);
        }
    }

    /// Reads the files of a program that has ended to their ends.
    fn ending(&mut self, core: &mut Core, key: u32, sink: &mut Sink<'_>) {
        /// A program that lived for less had no time to compile code, and there may be very many of
        /// those.
        const LONG: u64 = 20_000_000;
        let Some(program) = core.processes.programs.get_mut(&key) else {
            return;
        };
        let mut watch = match self.watches.remove(&key) {
            Some(watch) => watch,
            None => {
                let lived = profundo_probe::clock::now().saturating_sub(program.started);
                let may_generate = program.maps_changed || program.modules.has_generated_code();
                if !may_generate || core.scale.nanoseconds(lived) < LONG {
                    return;
                }
                Watch::new(program.pid, began(program.started, &core.scale))
            }
        };
        let changes = watch.finish(program.modules.mapped());
        emit(key, changes, &core.scale, sink);
    }
}

impl Generated {
    /// Reads one living program.
    pub(crate) fn read(&mut self, core: &mut Core, key: u32, sink: &mut Sink<'_>) {
        let Some(program) = core.processes.programs.get_mut(&key) else {
            return;
        };
        if !self.watches.contains_key(&key) && !program.modules.has_generated_code() {
            return;
        }
        let pid = program.pid;
        let watch = (self.watches.entry(key))
            .or_insert_with(|| Watch::new(pid, began(program.started, &core.scale)));
        let memory = |address, out: &mut [u8]| sys::read_memory(pid, address, out);
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let modules = program.modules.mapped();
        let changes = watch.poll(modules, &mut self.descriptors, &memory, now);
        let is_full = watch.is_full();
        emit(key, changes, &core.scale, sink);
        if is_full && !std::mem::replace(&mut self.said_full, true) {
            let program = core.processes.programs.get(&key);
            let command = program.map_or("", |program| &program.command);
            sink(Event::Note(format!(
                "{command} (process {pid}) has made more than a million pieces of code; \
                 what it makes from now on has no names"
            )));
        }
    }
}

/// Emits changes of a program's code.
fn emit(process: u32, changes: Vec<Change>, scale: &Scale, sink: &mut Sink<'_>) {
    if changes.is_empty() {
        return;
    }
    let codes = changes.into_iter().map(|change| recorded(change, scale));
    let codes = codes.collect();
    sink(Event::Generated { process, codes });
}

/// The time of a program's beginning, which is given in cycles.
fn began(cycles: u64, scale: &Scale) -> SystemTime {
    let ago = profundo_probe::clock::now().saturating_sub(cycles);
    let ago = Duration::from_nanos(scale.nanoseconds(ago));
    let now = SystemTime::now();
    now.checked_sub(ago).unwrap_or(now)
}

fn recorded(change: Change, scale: &Scale) -> GeneratedCode {
    let cycles = |at| match at {
        At::Always => 0,
        At::Monotonic(at) => scale.cycles_at(at),
        At::Cycles(at) => at,
    };
    match change {
        Change::Loaded(code) => GeneratedCode {
            start: code.start,
            end: code.start.saturating_add(code.size),
            name: code.name,
            loaded: cycles(code.since),
            unloaded: u64::MAX,
            lines: code
                .lines
                .iter()
                .map(|line| GeneratedLine {
                    offset: line.offset,
                    file: line.file.clone(),
                    line: line.line,
                })
                .collect(),
        },
        Change::Unloaded { start, at } => GeneratedCode {
            start,
            end: start,
            name: Default::default(),
            loaded: 0,
            unloaded: cycles(at),
            lines: Vec::new(),
        },
    }
}
