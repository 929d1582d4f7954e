//! The counts of calls of programs.

use std::sync::atomic::Ordering;

use profundo_cpython::Version;
use profundo_cpython::version::OLDEST;
use profundo_inject::why_of;
use profundo_session::take_calls;
use profundo_wire::recording::Event;
use profundo_wire::traced::TracedCalls;

use super::naming::name_of;
use super::{Leaving, Part, Sink};
use crate::core::Core;
use crate::program::Program;

/// Takes the counts of calls of a program that has ended.
#[derive(Debug)]
pub(crate) struct Calls;

impl Part for Calls {
    fn ended(&mut self, core: &mut Core, program: &mut Program, _: Leaving, sink: &mut Sink<'_>) {
        let Some(options) = &core.options.calls else {
            return;
        };
        let what = match options.exceptions {
            true => "exceptions",
            false => "calls",
        };
        let Some(agent) = program.agent() else { return };
        let refused = agent.header().calls_refused.load(Ordering::Relaxed);
        if refused != 0 {
            let (name, pid, why) = (name_of(&program.command), program.pid, why_of(refused));
            let note = format!("the {what} of {name} ({pid}) were not counted: {why}");
            sink(Event::Note(note));
        }
        let has_interpreter = agent.header().python.load(Ordering::Relaxed) != 0;
        let mut counted = take_calls(core.transport.directory.path(), agent.index);
        (counted.interpreter.iter_mut().chain(&mut counted.native))
            .for_each(|calls| agent.name_outside(calls));
        let version = Version::of_packed(agent.header().python.load(Ordering::Relaxed));
        let too_old = version.filter(|version| version.is_too_old());
        if let (0, None, Some(version)) = (refused, &counted.interpreter, too_old) {
            sink(Event::Note(format!(
                "the {what} of {} ({}) were not counted: it is Python {version}, and 3.{OLDEST} is the oldest whose {what} are counted",
                name_of(&program.command),
                program.pid
            )));
        } else if refused == 0 && has_interpreter && counted.interpreter.is_none() {
            sink(Event::Note(format!(
                "{} ({}) has an interpreter in it that never began, or could not be entered as it did: none of its {what} were counted",
                name_of(&program.command),
                program.pid
            )));
        }
        let has_calls = |calls: &TracedCalls| calls.nodes.iter().any(|node| node.calls > 0);
        if counted.interpreter.as_ref().is_some_and(has_calls) && !counted.native.is_empty() {
            // Both together would count the same time twice.
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
