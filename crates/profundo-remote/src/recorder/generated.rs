//! Code that programs make while they run: what they tell of it is read from time to time, and
//! passed on.

use std::time::{Duration, SystemTime};

use profundo_jit::{At, Change, Descriptors, Watch};
use profundo_wire::recording::{Event, GeneratedCode, GeneratedLine};

use super::Recorder;
use crate::clock::Scale;
use crate::program::Program;
use crate::sys;

/// Nanoseconds between two looks.
const OFTEN: u64 = 200_000_000;

/// The same files are mapped by many programs.
#[derive(Debug, Default)]
pub(super) struct Generated {
    descriptors: Descriptors,
    /// When it was looked last, on the monotonic clock.
    looked: u64,
    told_full: bool,
}

impl Recorder {
    /// Looks at all programs, if it is time to.
    pub(super) fn look_at_generated_code(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        // Those who watch live want names together with the samples, and looking in a table costs little.
        self.tell_kernel_names(false, sink);
        let monotonic = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        if monotonic.saturating_sub(self.generated.looked) < OFTEN {
            return;
        }
        self.generated.looked = monotonic;
        let keys: Vec<u32> = self.programs.keys().copied().collect();
        for key in keys {
            self.look_at_code_of(key, sink);
        }
    }

    /// Looks at one program, which is alive.
    pub(super) fn look_at_code_of(&mut self, key: u32, sink: &mut dyn FnMut(Event<'_>)) {
        let Some(program) = self.programs.get_mut(&key) else {
            return;
        };
        if program.watch.is_none() && !program.modules.has_generated_code() {
            return;
        }
        let pid = program.pid;
        let watch = program
            .watch
            .get_or_insert_with(|| Box::new(Watch::new(pid, began(program.started, &self.scale))));
        let memory = |address, out: &mut [u8]| sys::read_memory(pid, address, out);
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let modules = program.modules.mapped();
        let changes = watch.look(modules, &mut self.generated.descriptors, &memory, now);
        let is_full = watch.is_full();
        self.tell_code(key, changes, sink);
        if is_full && !std::mem::replace(&mut self.generated.told_full, true) {
            let program = self.programs.get(&key);
            let command = program.map_or("", |program| &program.command);
            sink(Event::Note(format!(
                "{command} (process {pid}) has made more than a million pieces of code; \
                 what it makes from now on has no names"
            )));
        }
    }

    /// A program has ended: what it has left in files is read to the end.
    pub(super) fn take_last_code(
        &mut self,
        program: &mut Program,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        /// Who lived for less had no time to compile anything, and there may be very many of those.
        const LONG: u64 = 20_000_000;
        let mut watch = match program.watch.take() {
            Some(watch) => watch,
            None => {
                let lived = profundo_probe::clock::now().saturating_sub(program.started);
                let may_generate = program.maps_changed || program.modules.has_generated_code();
                if !may_generate || self.scale.nanoseconds(lived) < LONG {
                    return;
                }
                Box::new(Watch::new(program.pid, began(program.started, &self.scale)))
            }
        };
        let changes = watch.finish(program.modules.mapped());
        self.tell_code(program.key, changes, sink);
    }

    fn tell_code(&self, process: u32, changes: Vec<Change>, sink: &mut dyn FnMut(Event<'_>)) {
        if changes.is_empty() {
            return;
        }
        let codes = changes.into_iter().map(|change| told(change, &self.scale));
        let codes = codes.collect();
        sink(Event::Generated { process, codes });
    }
}

/// When a program began whose record says so in cycles.
fn began(cycles: u64, scale: &Scale) -> SystemTime {
    let ago = profundo_probe::clock::now().saturating_sub(cycles);
    let ago = Duration::from_nanos(scale.nanoseconds(ago));
    let now = SystemTime::now();
    now.checked_sub(ago).unwrap_or(now)
}

fn told(change: Change, scale: &Scale) -> GeneratedCode {
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
