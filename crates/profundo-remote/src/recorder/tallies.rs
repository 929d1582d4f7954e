//! Counters that a compiler has put into programs: read when programs ask for it, and told of at their ends.

use std::sync::atomic::Ordering;

use profundo_probe::shared::{start_kind, tallies_moment, tallies_state};
use profundo_wire::recording::Event;

use super::Recorder;
use super::allocations::name_of;
use crate::program::Program;
use crate::sys;

impl Recorder {
    /// Looks whether a program that has just begun has any, and says so if it has none.
    pub(super) fn look_for_tallies(&mut self, program: &mut Program) {
        if self.options.calls.is_none() {
            return;
        }
        let known = &mut self.known_tallies;
        let mut loaded = program.modules.loaded().iter();
        let has_any = loaded.any(|module| !known.of(program.pid, module).is_empty());
        let Some(agent) = program.agent() else { return };
        let header = agent.header();
        let absent = u32::from(!has_any);
        header.tallies.are_absent.store(absent, Ordering::Relaxed);
        let is_child = header.kind.load(Ordering::Relaxed) == start_kind::FORK;
        program.tallies.has_any |= has_any;
        program.tallies.has_no_beginning = has_any && is_child;
    }

    /// Reads those of the programs that wait for it.
    pub(super) fn read_tallies(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        if self.options.calls.is_none() {
            return;
        }
        let now = profundo_probe::clock::now();
        for program in self.programs.values_mut() {
            let Some(agent) = program.agent() else {
                continue;
            };
            let tallies = &agent.header().tallies;
            let (wanted, begun) = (tallies_state::WANTED, tallies_state::BEGUN);
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            // Acquire pairs with the agent's release: the moment is there.
            let step = |from, to| {
                let stepped = tallies.state.compare_exchange(from, to, success, failure);
                stepped.is_ok()
            };
            if !step(wanted, begun) {
                continue;
            }
            let moment = tallies.moment.load(Ordering::Relaxed);
            if moment != tallies_moment::FORKED
                && program.look_for_modules(now, &mut self.store, sink)
            {
                program.publish();
            }
            let is_child = moment == tallies_moment::FORKED;
            let modules = program.modules.loaded();
            let known = &mut self.known_tallies;
            program.tallies.look(program.pid, modules, known, is_child);
            if let Some(agent) = program.agent() {
                let state = &agent.header().tallies.state;
                let over = tallies_state::OVER;
                let in_time = state.compare_exchange(begun, over, success, failure);
                sys::futex_wake(state);
                // Who has not waited any longer has counted meanwhile.
                program.tallies.has_no_beginning |= is_child && in_time.is_err();
            }
        }
    }

    /// Tells what a program has counted that has ended.
    pub(super) fn tell_tallies(&mut self, program: &mut Program, sink: &mut dyn FnMut(Event<'_>)) {
        let tallies = std::mem::take(&mut program.tallies);
        if !tallies.has_any {
            return;
        }
        let missed = match &tallies {
            it if it.has_no_beginning => Some(Missed::Beginning),
            it if it.is_unreadable => Some(Missed::Unreadable),
            it if !it.is_whole => Some(Missed::Killed),
            _ => None,
        };
        if let Some(why) = missed {
            let key = (name_of(&program.command).to_owned(), why);
            let (_, count) = (self.missed_tallies.entry(key)).or_insert((program.pid, 0));
            *count += 1;
        }
        if missed == Some(Missed::Beginning) {
            return;
        }
        for tallies in tallies.finish() {
            let process = program.key;
            sink(Event::Tallies { process, tallies });
        }
    }
    /// Says at the end of which programs it is not known what they have counted.
    pub(super) fn say_missed_tallies(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        for ((name, why), (pid, count)) in std::mem::take(&mut self.missed_tallies) {
            let who = match count {
                1 => format!("{name} ({pid})"),
                _ => format!("{count} processes of {name} (the first: {pid})"),
            };
            sink(Event::Note(match why {
                Missed::Beginning => format!(
                    "what the compiler's counters in {who} say is left out: it was forked, and what its parent had counted was \
                     not read in time"
                ),
                Missed::Unreadable => format!(
                    "the compiler's counters in {who} are not all known: its memory could not be read"
                ),
                Missed::Killed => format!(
                    "the compiler's counters in {who} are gone with it: it was killed by a signal, or ended in a way that is \
                     out of sight"
                ),
            }));
        }
    }
}

/// Why it is not known what a process has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Missed {
    /// What its parent had counted was not read.
    Beginning,
    /// It could not be read.
    Unreadable,
    /// Nobody was there to read it.
    Killed,
}
