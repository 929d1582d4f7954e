//! Processes that wait at their end until it was looked which of their blocks nobody points to.

use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use profundo_probe::shared::{SessionState, search_state};
use profundo_wire::recording::Event;

use super::Recorder;
use super::allocations::name_of;
use crate::program::Program;
use crate::sys;
use crate::unreachable::{Unknown, Waiting, longest, look};

impl Recorder {
    /// Looks through the memory of those that wait, and lets them go.
    pub(super) fn look_for_unreachable(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        if self.options.memory.is_none() {
            return;
        }
        let waits = |program: &&Program| {
            let state = program.agent().map(|it| &it.header().search.state);
            // Acquire pairs with the agent's release: the rest is filled in.
            state.is_some_and(|it| it.load(Ordering::Acquire) == search_state::WANTED)
        };
        let keys: Vec<u32> = self
            .programs
            .values()
            .filter(waits)
            .map(|it| it.key)
            .collect();
        for key in keys {
            // What the numbers mean comes first.
            self.drain_one(key, false, sink);
            let Some(program) = self.programs.get(&key) else {
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
            let session = self.directory.path().as_os_str().as_bytes();
            let agents = self
                .options
                .agent
                .as_ref()
                .map(|it| it.as_os_str().as_bytes());
            let ours = [session, agents.unwrap_or(session)];
            let is_running =
                self.control().state.load(Ordering::Relaxed) == SessionState::Running as u32;
            let ran = profundo_probe::clock::now().saturating_sub(program.started);
            let ran = Duration::from_nanos(self.scale.nanoseconds(ran));
            let found = is_running.then(|| {
                look(Waiting {
                    pid: program.pid,
                    search,
                    longest: longest(ran, self.programs.len() > 1),
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
                    let note = not_looked(program, why);
                    sink(Event::Note(note));
                }
                _ => {}
            }
        }
    }
}

/// That it is not known of a program.
pub(super) fn not_looked(program: &Program, why: Unknown) -> String {
    format!(
        "it was not looked which blocks of {} ({}) nobody points to at its end: {}",
        name_of(&program.command),
        program.pid,
        why.why()
    )
}
