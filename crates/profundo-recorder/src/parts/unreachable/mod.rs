//! Processes that wait at their end until their memory was searched for blocks without a pointer to
//! them.

mod search;

use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use profundo_linux::sys;
use profundo_probe::shared::{SessionState, search_state};
use profundo_wire::recording::Event;

use super::naming::with_pid;
use super::{Leaving, Part, Sink};
use crate::core::Core;
use crate::program::Program;

pub(super) use search::Unknown;

use search::{Waiting, longest, search_blocks};

/// Searches the memory of processes that wait.
#[derive(Debug)]
pub(crate) struct Unreachable;

impl Part for Unreachable {
    /// Searches the memory of the processes that wait, and releases them.
    fn turn(&mut self, core: &mut Core, sink: &mut Sink<'_>) {
        if core.options.memory.is_none() {
            return;
        }
        let waits = |program: &Program| {
            let state = program.agent().map(|agent| &agent.header().search.state);
            // Acquire pairs with the agent's release: the rest is filled in.
            state.is_some_and(|state| state.load(Ordering::Acquire) == search_state::WANTED)
        };
        for key in core.processes.keys_of(waits) {
            // The definitions of the numbers come first.
            core.drain_one(key, false, sink);
            let Some(program) = core.processes.programs.get(&key) else {
                continue;
            };
            let Some(agent) = program.agent() else {
                continue;
            };
            let search = &agent.header().search;
            let step = |from, to| {
                let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
                search
                    .state
                    .compare_exchange(from, to, success, failure)
                    .is_ok()
            };
            if !step(search_state::WANTED, search_state::BEGUN) {
                continue;
            }
            let session = core
                .transport
                .directory
                .path_for_programs()
                .as_os_str()
                .as_bytes();
            let agents = core
                .options
                .agent
                .as_ref()
                .map(|path| path.as_os_str().as_bytes());
            let ours = [session, agents.unwrap_or(session)];
            let is_running =
                core.control().state.load(Ordering::Relaxed) == SessionState::Running as u32;
            let ran = profundo_probe::clock::now().saturating_sub(program.started);
            let ran = Duration::from_nanos(core.scale.nanoseconds(ran));
            let found = is_running.then(|| {
                search_blocks(Waiting {
                    pid: program.pid,
                    search,
                    longest: longest(ran, core.processes.programs.len() > 1),
                    ours: &ours,
                })
            });
            let is_in_time = step(search_state::BEGUN, search_state::OVER);
            sys::futex_wake(&search.state);
            match found {
                Some(Ok(found)) if is_in_time => sink(Event::Unreachable {
                    process: key,
                    found,
                }),
                Some(Err(why)) if is_in_time => {
                    let note = note_not_searched(program, why);
                    sink(Event::Note(note));
                }
                _ => {}
            }
        }
    }

    /// The process may have had no patience to wait.
    fn ended(&mut self, core: &mut Core, program: &mut Program, _: Leaving, _: &mut Sink<'_>) {
        if core.options.memory.is_none() || core.options.agent.is_none() {
            return;
        }
        let state = program.agent().map(|agent| &agent.header().search.state);
        // Acquire pairs with the agent's release.
        if state.is_some_and(|state| state.load(Ordering::Acquire) == search_state::LEFT) {
            core.notes.push(note_not_searched(program, Unknown::Long));
        }
    }
}

/// The note that a program was not searched.
fn note_not_searched(program: &Program, why: Unknown) -> String {
    format!(
        "it was not looked which blocks of {} nobody points to at its end: {}",
        with_pid(program),
        why.why()
    )
}
