//! Processes that came and went before anybody could look at them: the children of forks that found
//! no ring, those that borrow their parent's memory, programs without an agent. The kernel has told when
//! they began and ended, and most of them have left a word.

use std::sync::atomic::Ordering;

use profundo_probe::shared::Control;
use profundo_wire::recording::{Event, HowEnded, ProcessEnd, ProcessInfo};

use super::Recorder;
use crate::proc;
use crate::program::how_ended;
use crate::session::{forget_copy, is_copy};

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
        let word = last_word(self.directory.control(), pid);
        let (code, times) = word.unzip();
        let how = match (code, stat) {
            (Some(code), _) => HowEnded::Exited(code),
            (None, Some(stat)) => how_ended(stat.status),
            (None, None) => HowEnded::Unknown,
        };
        // That of a process that is only waited for still counts what it has used.
        let times = times.or(stat.map(|stat| proc::times(pid, &stat)));
        sink(Event::Ended(ProcessEnd {
            process: key,
            ended: self
                .scale
                .cycles_at(newcomer.ended.unwrap_or(newcomer.began)),
            user: times.map(|(user, _)| user),
            system: times.map(|(_, system)| system),
            how,
        }));
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
