//! Coverage counters of programs: read when programs ask for it, and emitted at their ends.

mod counters;
mod gcc;
mod places;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use profundo_linux::sys;
use profundo_probe::shared::{start_kind, tallies_moment, tallies_state};
use profundo_wire::recording::Event;

use super::naming::name_of;
use super::{Leaving, Part, Sink};
use crate::core::Core;
use crate::program::Program;

use counters::{Accounts, Known};

/// The counters of all programs.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    /// Each program's counters, by its key.
    accounts: BTreeMap<u32, Accounts>,
    /// The places of counters in the modules' files.
    known: Known,
    /// The programs whose counters are not known, by name and reason: the first process, and the
    /// number of processes.
    missed: BTreeMap<(String, Missed), (u32, u32)>,
}

impl Part for Tallies {
    /// Finds out whether a new program has counters, and notes for its agent if it has none.
    fn begin(&mut self, core: &mut Core, program: &mut Program) {
        if core.options.calls.is_none() {
            return;
        }
        let known = &mut self.known;
        let mut loaded = program.modules.loaded().iter();
        let has_any = loaded.any(|module| !known.of(program.pid, module).is_empty());
        let Some(agent) = program.agent() else { return };
        let header = agent.header();
        let absent = u32::from(!has_any);
        header.tallies.are_absent.store(absent, Ordering::Relaxed);
        let is_child = header.kind.load(Ordering::Relaxed) == start_kind::FORK;
        let accounts = self.accounts.entry(program.key).or_default();
        accounts.has_any |= has_any;
        accounts.has_no_beginning = has_any && is_child;
    }

    /// Reads the counters of programs that wait for it.
    fn turn(&mut self, core: &mut Core, sink: &mut Sink<'_>) {
        if core.options.calls.is_none() {
            return;
        }
        let now = profundo_probe::clock::now();
        for program in core.processes.programs.values_mut() {
            let Some(agent) = program.agent() else {
                continue;
            };
            let tallies = &agent.header().tallies;
            let (wanted, begun) = (tallies_state::WANTED, tallies_state::BEGUN);
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            // Acquire pairs with the agent's release: the moment is written.
            let step = |from, to| {
                let stepped = tallies.state.compare_exchange(from, to, success, failure);
                stepped.is_ok()
            };
            if !step(wanted, begun) {
                continue;
            }
            let moment = tallies.moment.load(Ordering::Relaxed);
            if moment != tallies_moment::FORKED
                && program.find_modules(now, &mut core.transport.store, sink)
            {
                program.publish();
            }
            let is_child = moment == tallies_moment::FORKED;
            let modules = program.modules.loaded();
            let known = &mut self.known;
            let accounts = self.accounts.entry(program.key).or_default();
            accounts.read(program.pid, modules, known, is_child);
            if let Some(agent) = program.agent() {
                let state = &agent.header().tallies.state;
                let over = tallies_state::OVER;
                let in_time = state.compare_exchange(begun, over, success, failure);
                sys::futex_wake(state);
                // A program that has stopped waiting has counted meanwhile.
                accounts.has_no_beginning |= is_child && in_time.is_err();
            }
        }
    }

    /// Emits the counts of a program that has ended.
    fn ended(&mut self, _: &mut Core, program: &mut Program, _: Leaving, sink: &mut Sink<'_>) {
        let tallies = self.accounts.remove(&program.key).unwrap_or_default();
        if !tallies.has_any {
            return;
        }
        let missed = match &tallies {
            accounts if accounts.has_no_beginning => Some(Missed::Beginning),
            accounts if accounts.is_unreadable => Some(Missed::Unreadable),
            accounts if !accounts.is_whole => Some(Missed::Killed),
            _ => None,
        };
        if let Some(why) = missed {
            let key = (name_of(&program.command).to_owned(), why);
            let (_, count) = (self.missed.entry(key)).or_insert((program.pid, 0));
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

    /// Notes the programs whose counters are not known.
    fn last_notes(&mut self, _: &mut Core, sink: &mut Sink<'_>) {
        for ((name, why), (pid, count)) in std::mem::take(&mut self.missed) {
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

/// The reason why the counts of a process are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Missed {
    /// Its parent's counts were not read.
    Beginning,
    /// Its counters could not be read.
    Unreadable,
    /// It was killed before they were read.
    Killed,
}
