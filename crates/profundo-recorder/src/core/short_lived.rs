//! Processes that ended before they could be sampled: children of forks that deferred their entry
//! or found no ring, children of `vfork`, programs without an agent. The kernel has reported when
//! they began and ended, and most of them have left a last word.

use std::sync::atomic::Ordering;

use profundo_linux::proc;
use profundo_linux::sys;
use profundo_probe::shared::Control;
use profundo_session::{forget_copy, is_copy};
use profundo_wire::recording::{Engine, Event, HowEnded, ProcessEnd, ProcessInfo};

use super::Core;
use super::processes::Newcomer;
use crate::program::how_ended;

impl Core {
    /// Enters a process that ended, according to the kernel, before it was entered. The kernel
    /// reports the end a moment early, and it reports an end of a process that gets another user's
    /// rights and goes on: then this is called again.
    pub(crate) fn enter_short_lived(&mut self, pid: u32, sink: &mut dyn FnMut(Event<'_>)) {
        let stat = proc::stat(pid);
        if stat.is_some_and(|stat| !stat.has_ended()) {
            return;
        }
        // What it left in a ring is taken at the next turn.
        if self.transport.has_ring(pid) {
            return;
        }
        let Some(newcomer) = self.processes.newcomers.remove(&pid) else {
            return;
        };
        // The command's own child, which never executed the program.
        if newcomer.command.is_empty() {
            return;
        }
        if is_copy(self.control(), pid, newcomer.began) {
            forget_copy(self.control(), pid);
            return;
        }
        let ended = newcomer.ended;
        let began = newcomer.began;
        let key = self.enter_unseen(pid, newcomer, sink);
        let inside = self.transport.numbers.inside(pid);
        let word = inside.and_then(|inside| last_word(self.control(), inside));
        let was_deferred = word.is_some() || self.is_deferred(pid);
        self.forget_deferred(pid);
        let (code, times) = word.unzip();
        let how = match (code.flatten(), stat) {
            (Some(code), _) => HowEnded::Exited(code),
            (None, Some(stat)) => how_ended(stat.status),
            (None, None) => HowEnded::Unknown,
        };
        // A zombie still has its CPU time.
        let times = times.or(stat.map(|stat| proc::times(pid, &stat)));
        if let Some((user, system)) = times.filter(|_| was_deferred) {
            // The first ticks of other children stand for this time.
            self.totals.cpu += match self.engine {
                Engine::CpuTimer => user + system,
                _ => user,
            };
            self.totals.cpu_of_ended += user + system;
        }
        sink(Event::Ended(ProcessEnd {
            process: key,
            ended: self.scale.cycles_at(ended.unwrap_or(began)),
            user: times.map(|(user, _)| user),
            system: times.map(|(_, system)| system),
            how,
        }));
    }

    /// Enters a process that was never sampled. Returns its key.
    fn enter_unseen(
        &mut self,
        pid: u32,
        newcomer: Newcomer,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> u32 {
        let key = self.processes.next_key();
        let started = self.scale.cycles_at(newcomer.began);
        self.processes.last_of.insert(pid, key);
        self.processes.last_began.insert(pid, started);
        self.processes.adopt(pid, key, &newcomer.command);
        sink(Event::Process(ProcessInfo {
            key,
            pid,
            parent: newcomer.parent,
            command: newcomer.command,
            started,
            ..ProcessInfo::default()
        }));
        key
    }

    /// Permits children of forks to defer their entry, if only samples of CPU time are wanted, of
    /// which they have none before they enter.
    pub(crate) fn allow_deferred_entry(&mut self) {
        let options = &self.options;
        let wants_samples_only = options.agent.is_some()
            && options.wall.is_none()
            && options.memory.is_none()
            && options.calls.is_none()
            // They leave their own numbers.
            && self.transport.numbers.namespace().is_none();
        let control = self.control();
        control
            .defers
            .store(u32::from(wants_samples_only), Ordering::Relaxed);
    }

    /// Whether a child has deferred its entry.
    pub(crate) fn is_deferred(&self, pid: u32) -> bool {
        let mut places = self.control().deferred.iter();
        places.any(|place| place.load(Ordering::Relaxed) == pid)
    }

    /// Frees the place of a child that has ended, or has executed another program.
    pub(crate) fn forget_deferred(&self, pid: u32) {
        for place in &self.control().deferred {
            let order = Ordering::Relaxed;
            let _ = place.compare_exchange(pid, 0, order, order);
        }
    }

    /// Frees the places of ended children whose end the kernel has not reported.
    pub(crate) fn tidy_deferred(&self) {
        let places = self.control().deferred.iter();
        let pids = places.map(|place| place.load(Ordering::Relaxed));
        for pid in pids.filter(|&pid| pid != 0 && !sys::is_alive(pid)) {
            self.forget_deferred(pid);
        }
    }

    /// The recording ends: emits living children that have deferred their entry.
    pub(crate) fn emit_deferred(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let pids: Vec<u32> = self.processes.newcomers.keys().copied().collect();
        for pid in pids {
            if self.transport.has_ring(pid) || !self.is_deferred(pid) {
                continue;
            }
            let Some(newcomer) = self.processes.newcomers.remove(&pid) else {
                continue;
            };
            let key = self.enter_unseen(pid, newcomer, sink);
            let times = proc::stat(pid).map(|stat| proc::times(pid, &stat));
            sink(Event::Ended(ProcessEnd {
                process: key,
                ended: profundo_probe::clock::now(),
                user: times.map(|(user, _)| user),
                system: times.map(|(_, system)| system),
                how: HowEnded::Unknown,
            }));
        }
    }
}

/// The last word of a process: its exit code, if it was known, and its user and system time.
fn last_word(control: &Control, pid: u32) -> Option<(Option<u8>, (u64, u64))> {
    // Acquire pairs with the agent's release: the rest is written.
    let word = control
        .last_words
        .iter()
        .find(|word| word.pid.load(Ordering::Acquire) == pid)?;
    let user = word.user.load(Ordering::Relaxed);
    let system = word.system.load(Ordering::Relaxed);
    let code = word.code.load(Ordering::Relaxed);
    // Another process may get the same number.
    word.pid.store(0, Ordering::Relaxed);
    // Below zero: not known.
    let code = (code >= 0).then_some((code & 0xFF) as u8);
    Some((code, (user, system)))
}
