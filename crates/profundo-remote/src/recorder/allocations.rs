//! What a program allocates, and what of that is out of sight.

use std::sync::atomic::Ordering;

use profundo_wire::recording::Event;

use profundo_probe::shared::search_state;

use super::Recorder;
use super::unreachable::not_looked;
use crate::options::Memory;
use crate::program::{Program, Way};
use crate::session::SumsMap;
use crate::unreachable::Unknown;

/// What could not be told of allocations, of all programs that have ended.
#[derive(Debug, Default)]
pub(super) struct Untold {
    lost: u64,
    unfollowed: u64,
    unfreed: u64,
    uncounted: u64,
    /// Programs into which no agent came.
    outside: Vec<String>,
    /// Those that have an allocator of their own.
    hidden: Vec<String>,
    /// Those that could not count.
    refused: Vec<String>,
}

impl Recorder {
    /// Tells what a program has allocated, if it counts that and if it is time to. Behind its words, which
    /// say what the numbers mean.
    pub(super) fn tell_sums(&mut self, key: u32, last: bool, sink: &mut dyn FnMut(Event<'_>)) {
        if self.options.memory != Some(Memory::Exact) {
            return;
        }
        let Some(program) = self.programs.get_mut(&key) else {
            return;
        };
        let Way::Agent(agent) = &mut program.way else {
            return;
        };
        let clock = profundo_probe::clock::now();
        if let Some((sites, peak)) = agent.sums.as_mut().and_then(|it| it.news(last, clock)) {
            sink(Event::Sites {
                process: key,
                clock,
                sites,
                peak,
            });
        }
    }

    /// What a program has allocated so far counts no more.
    pub(super) fn clear_sums(&mut self, key: u32) {
        let Some(program) = self.programs.get_mut(&key) else {
            return;
        };
        let Way::Agent(agent) = &mut program.way else {
            return;
        };
        if self.options.memory == Some(Memory::Exact) {
            agent.open_sums(&self.directory);
        }
        if let Some(sums) = &mut agent.sums {
            sums.clear();
        }
    }

    /// Adds up what a program that ends could not tell.
    pub(super) fn count_untold(&mut self, program: &Program) {
        if self.options.memory.is_none() || self.options.agent.is_none() {
            return;
        }
        let untold = &mut self.untold;
        let name = || format!("{} ({})", name_of(&program.command), program.pid);
        let Some(agent) = program.agent() else {
            untold.outside.push(name());
            return;
        };
        let header = agent.header();
        let read_state = |number: &std::sync::atomic::AtomicU32| number.load(Ordering::Acquire);
        let read = |number: &std::sync::atomic::AtomicU64| number.load(Ordering::Relaxed);
        untold.lost += read(&header.memory.lost);
        untold.unfollowed += read(&header.memory.unfollowed);
        untold.unfreed += read(&header.memory.unfreed);
        untold.uncounted += agent.sums.as_ref().map_or(0, SumsMap::uncounted);
        if read_state(&header.search.state) == search_state::LEFT {
            self.notes.push(not_looked(program, Unknown::Long));
        }
        if header.allocator_hidden.load(Ordering::Relaxed) != 0 {
            untold.hidden.push(name());
        }
        if header.memory.refused.load(Ordering::Relaxed) != 0 {
            untold.refused.push(name());
        }
    }

    /// Says what the reader has to know of what could not be told.
    pub(super) fn say_untold(&mut self) {
        let Untold {
            lost,
            unfollowed,
            unfreed,
            uncounted,
            outside,
            hidden,
            refused,
        } = std::mem::take(&mut self.untold);
        let mut say = |note: String| self.notes.push(note);
        if !hidden.is_empty() {
            say(format!(
                "an allocator of their own inside the executable (as jemalloc or mimalloc) hides what these \
                 programs allocate: {}",
                list(&hidden)
            ));
        }
        if !outside.is_empty() {
            say(format!(
                "allocations are recorded from inside, and nothing could be loaded into: {}",
                list(&outside)
            ));
        }
        if !refused.is_empty() {
            say(format!(
                "there was no room in {} to count what these programs allocate: {}",
                self.directory.path().display(),
                list(&refused)
            ));
        }
        let numbers = [
            (
                lost,
                "allocations or copies were to be recorded and were not: there was no room, or they were made in a signal handler",
            ),
            (
                unfollowed,
                "blocks were not followed until they were freed, because there were too many: they seem to be there still",
            ),
            (
                unfreed,
                "ends of blocks could not be told: those blocks seem to be there still",
            ),
            (
                uncounted,
                "allocations or their ends were counted in no stack: there was no room, or a handler that interrupted counting made them",
            ),
        ];
        for (number, what) in numbers {
            if number > 0 {
                self.notes.push(format!("{number} {what}"));
            }
        }
    }
}

/// The program's own name, of a command line.
pub(super) fn name_of(command: &str) -> &str {
    let program = command.split(' ').next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or(program);
    if name.is_empty() { "a program" } else { name }
}

/// Some of many.
pub(super) fn list(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.get(..SHOWN.min(names.len())).unwrap_or_default();
    let more = names.len() - shown.len();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
