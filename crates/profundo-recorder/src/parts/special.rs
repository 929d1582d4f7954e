//! Programs that are recorded only in part: emulators of other programs, programs with a sanitizer,
//! and interpreters that no agent could be loaded into. One note for each kind names them.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use profundo_linux::proc;
use profundo_probe::loading::Why;
use profundo_process::loading::why_nothing;

use super::naming::{list, name_of, with_pid};
use super::{Leaving, Part, Sink};
use crate::core::Core;
use crate::program::{Program, Way};

/// The programs, as `name (pid)`.
#[derive(Debug, Default)]
pub(crate) struct Special {
    /// Emulators, by name and process.
    emulators: BTreeSet<(&'static str, u32)>,
    /// Programs with the runtime of a sanitizer, and its name.
    sanitized: Vec<(String, &'static str)>,
    /// Programs whose agent was loaded after such a runtime.
    behind: Vec<String>,
    /// Interpreters that are sampled from outside, without their Python frames.
    unread: Vec<String>,
}

impl Special {
    /// Notes why no agent was loaded into a process that is sampled from outside.
    pub(crate) fn note_outside(&mut self, pid: u32) {
        let special = self;
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
}

impl Part for Special {
    /// Notes a program whose agent was loaded after the runtime of a sanitizer.
    fn ended(&mut self, _: &mut Core, program: &mut Program, _: Leaving, _: &mut Sink<'_>) {
        let is_behind = program.agent().is_some_and(|agent| {
            let header = agent.header();
            header.behind_sanitizer.load(Ordering::Relaxed) != 0
        });
        if is_behind {
            let name = with_pid(program);
            self.behind.push(name);
        }
        let is_sampled = matches!(&program.way, Way::Outside(outside) if outside.sampled > 0);
        // Of an interpreter that is not known there is another note.
        let is_unread = !program.reads_python() && !program.runtime_emitted;
        if is_sampled && is_unread && program.modules.interpreter().is_some() {
            self.unread.push(with_pid(program));
        }
    }

    fn last_notes(&mut self, core: &mut Core, _: &mut Sink<'_>) {
        let Special {
            emulators,
            sanitized,
            behind,
            unread,
        } = std::mem::take(self);
        if !emulators.is_empty() {
            let names: Vec<String> = emulators
                .iter()
                .map(|(name, pid)| format!("{name} ({pid})"))
                .collect();
            core.notes.push(format!(
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
            core.notes.push(format!(
                "nothing was loaded into programs that have the runtime of a sanitizer in them, and they were \
                 sampled from outside: {}",
                list(&names)
            ));
        }
        if !unread.is_empty() {
            core.notes.push(format!(
                "Python functions are missing in programs that no agent could be loaded into, and whose memory could not be \
                 read from outside: {}",
                list(&unread)
            ));
        }
        if !behind.is_empty() {
            let memory = match core.options.memory {
                Some(_) => "; their allocator is the sanitizer's, so allocations are not recorded",
                None => "",
            };
            core.notes.push(format!(
                "the agent was loaded behind the runtime of a sanitizer{memory}: {}",
                list(&behind)
            ));
        }
    }
}
