//! Processes that came and went before anybody could look at them: the children of forks that put off their entry or
//! found no ring, those that borrow their parent's memory, programs without an agent. The kernel has told when
//! they began and ended, and most of them have left a word.

use std::sync::atomic::Ordering;

use profundo_probe::shared::Control;
use profundo_wire::recording::{Engine, Event, HowEnded, ProcessEnd, ProcessInfo};

use super::Recorder;
use super::follow::Newcomer;
use crate::proc;
use crate::program::how_ended;
use crate::session::{forget_copy, is_copy};
use crate::sys;

impl Recorder {
    /// A process was never entered into the books, and the kernel has told of its end. It tells a
    /// moment before, and it says the same of a process that gets another user's rights, and goes on:
    /// then this is asked again.
    pub(super) fn passed(&mut self, pid: u32, sink: &mut dyn FnMut(Event<'_>)) {
        let stat = proc::stat(pid);
        if stat.is_some_and(|stat| !stat.has_ended()) {
            return;
        }
        // What it has left in a ring comes at the next turn.
        if self.rings.has(pid, self.directory.control()) {
            return;
        }
        let Some(newcomer) = self.newcomers.remove(&pid) else {
            return;
        };
        // The command's own child, which never became the program.
        if newcomer.command.is_empty() {
            return;
        }
        if is_copy(self.directory.control(), pid, newcomer.began) {
            forget_copy(self.directory.control(), pid);
            return;
        }
        let ended = newcomer.ended;
        let began = newcomer.began;
        let key = self.enter_unseen(pid, newcomer, sink);
        let word = last_word(self.directory.control(), pid);
        let was_deferred = word.is_some() || self.is_deferred(pid);
        self.forget_deferred(pid);
        let (code, times) = word.unzip();
        let how = match (code, stat) {
            (Some(code), _) => HowEnded::Exited(code),
            (None, Some(stat)) => how_ended(stat.status),
            (None, None) => HowEnded::Unknown,
        };
        // That of a process that is only waited for still counts what it has used.
        let times = times.or(stat.map(|stat| proc::times(pid, &stat)));
        if let Some((user, system)) = times.filter(|_| was_deferred) {
            // The first ticks of other children stand for this time.
            self.cpu += match self.engine {
                Engine::CpuTimer => user + system,
                _ => user,
            };
            self.cpu_of_ended += user + system;
        }
        sink(Event::Ended(ProcessEnd {
            process: key,
            ended: self.scale.cycles_at(ended.unwrap_or(began)),
            user: times.map(|(user, _)| user),
            system: times.map(|(_, system)| system),
            how,
        }));
    }

    /// Enters a process into the books that was never sampled. Returns its key.
    fn enter_unseen(
        &mut self,
        pid: u32,
        newcomer: Newcomer,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> u32 {
        self.keys += 1;
        let key = self.keys;
        let started = self.scale.cycles_at(newcomer.began);
        self.last_of.insert(pid, key);
        self.last_began.insert(pid, started);
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

    /// Lets children of forks put off their entry, if nothing but samples of CPU time is wanted of them, which they have
    /// none of before they enter.
    pub(super) fn let_children_defer(&mut self) {
        let options = &self.options;
        let wants_samples_only = options.agent.is_some()
            && options.wall.is_none()
            && options.memory.is_none()
            && options.calls.is_none();
        let control = self.directory.control();
        control
            .defers
            .store(u32::from(wants_samples_only), Ordering::Relaxed);
    }

    /// Whether a child has put off its entry.
    pub(super) fn is_deferred(&self, pid: u32) -> bool {
        let mut places = self.directory.control().deferred.iter();
        places.any(|place| place.load(Ordering::Relaxed) == pid)
    }

    /// Frees the place of a child that has ended, or executed another program.
    pub(super) fn forget_deferred(&self, pid: u32) {
        for place in &self.directory.control().deferred {
            let order = Ordering::Relaxed;
            let _ = place.compare_exchange(pid, 0, order, order);
        }
    }

    /// Frees the places of children of which the kernel did not tell that they have ended.
    pub(super) fn tidy_deferred(&self) {
        let places = self.directory.control().deferred.iter();
        let pids = places.map(|place| place.load(Ordering::Relaxed));
        for pid in pids.filter(|&pid| pid != 0 && !sys::is_alive(pid)) {
            self.forget_deferred(pid);
        }
    }

    /// The recording ends: tells of children that live and have put off their entry until now.
    pub(super) fn tell_deferred(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let pids: Vec<u32> = self.newcomers.keys().copied().collect();
        for pid in pids {
            if self.rings.has(pid, self.directory.control()) || !self.is_deferred(pid) {
                continue;
            }
            let Some(newcomer) = self.newcomers.remove(&pid) else {
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

/// What a process has said at its end: its code, and what it used in user code and in the kernel.
fn last_word(control: &Control, pid: u32) -> Option<(u8, (u64, u64))> {
    // Acquire pairs with the agent's release: the rest is there.
    let word = control
        .last_words
        .iter()
        .find(|word| word.pid.load(Ordering::Acquire) == pid)?;
    let user = word.user.load(Ordering::Relaxed);
    let system = word.system.load(Ordering::Relaxed);
    let code = word.code.load(Ordering::Relaxed);
    // Another process may get the same number.
    word.pid.store(0, Ordering::Relaxed);
    Some(((code & 0xFF) as u8, (user, system)))
}
