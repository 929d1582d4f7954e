//! Programs that get less than others: those that emulate another one, and those with a sanitizer. One
//! note for each kind names them.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use profundo_probe::loading::Why;

use super::Recorder;
use super::allocations::{list, name_of};
use crate::loading::why_nothing;
use crate::proc;
use crate::program::Program;

/// The programs, as `name (pid)`.
#[derive(Debug, Default)]
pub(super) struct Special {
    /// By the emulator that they are.
    emulators: BTreeSet<(&'static str, u32)>,
    /// Those that have the runtime of a sanitizer in them, with the sanitizer.
    sanitized: Vec<(String, &'static str)>,
    /// Those in which the agent stands behind such a runtime.
    behind: Vec<String>,
}

impl Recorder {
    /// Remembers why nothing was loaded into a process that is sampled from outside.
    pub(super) fn note_special(&mut self, pid: u32) {
        let special = &mut self.special;
        match why_nothing(pid) {
            Some(Why::Emulator(emulator)) => {
                special.emulators.insert((emulator.name(), pid));
            }
            Some(Why::Sanitizer(sanitizer)) => {
                let name = format!("{} ({pid})", name_of(&proc::command_line(pid)));
                special.sanitized.push((name, sanitizer.name()));
            }
            Some(Why::Foreign) | None => {}
        }
    }

    /// Remembers a program whose agent stands behind the runtime of a sanitizer.
    pub(super) fn note_behind(&mut self, program: &Program) {
        let is_behind = program.agent().is_some_and(|agent| {
            let header = agent.header();
            header.behind_sanitizer.load(Ordering::Relaxed) != 0
        });
        if is_behind {
            let name = format!("{} ({})", name_of(&program.command), program.pid);
            self.special.behind.push(name);
        }
    }

    /// Writes the notes.
    pub(super) fn say_special(&mut self) {
        let Special {
            emulators,
            sanitized,
            behind,
        } = std::mem::take(&mut self.special);
        if !emulators.is_empty() {
            let names: Vec<String> = emulators
                .iter()
                .map(|(name, pid)| format!("{name} ({pid})"))
                .collect();
            self.notes.push(format!(
                "{} emulates the program that it runs: nothing was loaded into either, and the samples, taken \
                 from outside, are of the emulator itself",
                list(&names)
            ));
        }
        if !sanitized.is_empty() {
            let names: Vec<String> = sanitized
                .iter()
                .map(|(name, sanitizer)| format!("{name} with {sanitizer}"))
                .collect();
            self.notes.push(format!(
                "nothing was loaded into programs that have the runtime of a sanitizer in them, and they were \
                 sampled from outside: {}",
                list(&names)
            ));
        }
        if !behind.is_empty() {
            let memory = match self.options.memory {
                Some(_) => "; their allocator is the sanitizer's, so allocations are not recorded",
                None => "",
            };
            self.notes.push(format!(
                "the agent was loaded behind the runtime of a sanitizer{memory}: {}",
                list(&behind)
            ));
        }
    }
}
