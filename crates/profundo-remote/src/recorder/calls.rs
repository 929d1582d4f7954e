//! What programs have called.

use std::sync::atomic::Ordering;

use profundo_cpython::OLDEST;
use profundo_wire::recording::Event;
use profundo_wire::traced::TracedCalls;

use super::Recorder;
use super::allocations::name_of;
use crate::inject::why_of;
use crate::program::Program;
use crate::session::take_calls;

impl Recorder {
    /// Tells what a program has called that has ended. Before its ring is another process's.
    pub(super) fn tell_calls(&mut self, program: &Program, sink: &mut dyn FnMut(Event<'_>)) {
        if self.options.calls.is_none() {
            return;
        }
        let Some(agent) = program.agent() else { return };
        let refused = agent.header().calls_refused.load(Ordering::Relaxed);
        if refused != 0 {
            let (name, pid, why) = (name_of(&program.command), program.pid, why_of(refused));
            let note = format!("the calls of {name} ({pid}) were not counted: {why}");
            sink(Event::Note(note));
        }
        let has_interpreter = agent.header().python.load(Ordering::Relaxed) != 0;
        let mut counted = take_calls(self.directory.path(), agent.index);
        let version = agent.header().python.load(Ordering::Relaxed);
        if refused == 0 && counted.interpreter.is_none() && is_too_old(version) {
            let [_, major, minor, micro] = version.to_be_bytes();
            sink(Event::Note(format!(
                "the calls of {} ({}) were not counted: it is Python {major}.{minor}.{micro}, and 3.{OLDEST} is the oldest whose calls and lines are counted",
                name_of(&program.command),
                program.pid
            )));
        } else if refused == 0 && has_interpreter && counted.interpreter.is_none() {
            sink(Event::Note(format!(
                "{} ({}) has an interpreter in it that never began, or could not be entered as it did: none of its calls were counted",
                name_of(&program.command),
                program.pid
            )));
        }
        let has_calls = |calls: &TracedCalls| calls.nodes.iter().any(|it| it.calls > 0);
        if counted.interpreter.as_ref().is_some_and(has_calls) && !counted.native.is_empty() {
            // Both together would have the same time twice.
            counted.native.clear();
            let (name, pid) = (name_of(&program.command), program.pid);
            sink(Event::Note(format!(
                "{name} ({pid}) also has native functions that were built to tell of their calls, which are left out: Python's \
                 calls were counted"
            )));
        }
        for calls in counted.interpreter.into_iter().chain(counted.native) {
            sink(Event::Calls {
                process: program.key,
                calls,
            });
        }
    }
}

/// Whether an interpreter of this version, a byte for each of its numbers, is none whose calls can be counted any more.
fn is_too_old(version: u32) -> bool {
    let [_, major, minor, _] = version.to_be_bytes();
    version != 0 && (major, minor) < (3, OLDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_known_by_two_numbers() {
        let version = |major: u8, minor, micro| u32::from_be_bytes([0, major, minor, micro]);
        assert!(!is_too_old(0));
        assert!(is_too_old(version(2, 7, 18)) && is_too_old(version(3, 7, 16)));
        assert!(!is_too_old(version(3, OLDEST, 18)) && !is_too_old(version(3, 14, 0)));
    }
}
