//! The allocations of programs that could not be recorded, summed up for the notes at the end.

use std::sync::atomic::Ordering;

use profundo_probe::shared::start_kind;
use profundo_session::SumsMap;

use super::naming::{list, with_pid};
use super::{Leaving, Part, Sink};
use crate::core::Core;
use crate::options::Memory;
use crate::program::{Program, Way};

/// The sums of all programs that have ended.
#[derive(Debug, Default)]
pub(crate) struct Allocations {
    lost: u64,
    unfollowed: u64,
    unfreed: u64,
    uncounted: u64,
    /// Blocks from before the agent came that were freed.
    strangers: u64,
    /// Programs that the agent came into late.
    late: Vec<String>,
    /// Those that have slots which lead to another allocator, with their number.
    elsewhere: Vec<String>,
    /// Programs without an agent.
    outside: Vec<String>,
    /// Programs with an allocator of their own.
    hidden: Vec<String>,
    /// Programs that could not count.
    refused: Vec<String>,
}

impl Part for Allocations {
    /// Forgets the allocations so far.
    fn clear(&mut self, core: &mut Core) {
        for program in core.processes.programs.values_mut() {
            let Way::Agent(agent) = &mut program.way else {
                continue;
            };
            if core.options.memory == Some(Memory::Exact) {
                agent.open_sums(&core.transport.directory);
            }
            if let Some(sums) = &mut agent.sums {
                sums.clear();
            }
        }
    }

    /// Adds what an ending program could not record.
    fn ended(&mut self, core: &mut Core, program: &mut Program, _: Leaving, _: &mut Sink<'_>) {
        if core.options.memory.is_none() || core.options.agent.is_none() {
            return;
        }
        let name = || with_pid(program);
        let Some(agent) = program.agent() else {
            self.outside.push(name());
            return;
        };
        let header = agent.header();
        let read = |number: &std::sync::atomic::AtomicU64| number.load(Ordering::Relaxed);
        self.lost = self.lost.saturating_add(read(&header.memory.lost));
        self.unfollowed = self
            .unfollowed
            .saturating_add(read(&header.memory.unfollowed));
        self.unfreed = self.unfreed.saturating_add(read(&header.memory.unfreed));
        self.strangers = self
            .strangers
            .saturating_add(read(&header.memory.strangers));
        if header.kind.load(Ordering::Relaxed) == start_kind::LATE {
            self.late.push(name());
        }
        if header.memory.slots_elsewhere.load(Ordering::Relaxed) != 0 {
            self.elsewhere.push(name());
        }
        let uncounted = agent.sums.as_ref().map_or(0, SumsMap::uncounted);
        self.uncounted = self.uncounted.saturating_add(uncounted);
        if header.allocator_hidden.load(Ordering::Relaxed) != 0 {
            self.hidden.push(name());
        }
        if header.memory.refused.load(Ordering::Relaxed) != 0 {
            self.refused.push(name());
        }
    }

    fn last_notes(&mut self, core: &mut Core, _: &mut Sink<'_>) {
        let Allocations {
            lost,
            unfollowed,
            unfreed,
            uncounted,
            strangers,
            late,
            elsewhere,
            outside,
            hidden,
            refused,
        } = std::mem::take(self);
        let mut add_note = |note: String| core.notes.push(note);
        if !hidden.is_empty() {
            add_note(format!(
                "an allocator of their own inside the executable (as jemalloc or mimalloc) hides what these \
                 programs allocate: {}",
                list(&hidden)
            ));
        }
        if !outside.is_empty() {
            add_note(format!(
                "allocations are recorded from inside, and nothing could be loaded into: {}",
                list(&outside)
            ));
        }
        if !refused.is_empty() {
            add_note(format!(
                "there was no room in {} to count what these programs allocate: {}",
                core.transport.directory.path_for_programs().display(),
                list(&refused)
            ));
        }
        if !late.is_empty() {
            add_note(format!(
                "out of sight is what these programs allocated before they were entered, or allocate through pointers to \
                 malloc from before, in the loader, or in an allocator of their own: {}",
                list(&late)
            ));
        }
        if !elsewhere.is_empty() {
            add_note(format!(
                "another tool or allocator has taken malloc or its like in some files of these programs, which are left \
                 as they are: {}",
                list(&elsewhere)
            ));
        }
        let numbers = [
            (
                strangers,
                "frees of blocks from before the entry: they count neither as allocated nor as freed",
            ),
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
                core.notes.push(format!("{number} {what}"));
            }
        }
    }
}
