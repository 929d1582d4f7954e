//! The interpreter in a program: found by its agent, or read from outside.

use std::sync::atomic::Ordering;

use profundo_cpython::{Refusal, Version};
use profundo_permits::python_unread;
use profundo_wire::recording::Event;

use super::{Program, Way};

impl Program {
    /// Whether the frames of its interpreter are read from outside.
    pub(crate) fn reads_python(&self) -> bool {
        matches!(&self.way, Way::Outside(outside) if outside.reads_python())
    }

    /// Finds the interpreter of a process whose threads are read, and emits it.
    pub(crate) fn find_python(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let Way::Outside(outside) = &mut self.way else {
            return;
        };
        let Some(process) = outside.process.as_mut() else {
            return;
        };
        if self.runtime_emitted {
            return;
        }
        if let Some(found) = process.find_python(self.pid, &self.modules) {
            self.runtime_emitted = true;
            sink(Event::Runtime {
                process: self.key,
                runtime: format!("CPython {}", found.version),
                module: found.path.clone(),
            });
        } else if let Some(refusal) = process.refusal {
            self.runtime_emitted = true;
            let version = process.refused_version.as_str();
            let note = python_unread(self.pid, version, Some(refusal));
            sink(Event::Note(note));
        } else {
            self.emit_python_2(sink);
        }
    }

    /// Emits that the stacks of a Python 2 are not read, if one is loaded.
    fn emit_python_2(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        if let Some(version) = self.modules.python_2() {
            self.runtime_emitted = true;
            let note = python_unread(self.pid, version, Some(Refusal::Version));
            sink(Event::Note(note));
        }
    }

    /// Emits the interpreter, once the agent has found it.
    pub(crate) fn emit_runtime(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        if self.runtime_emitted {
            return;
        }
        let Some(agent) = self.agent() else { return };
        let header = agent.header();
        let version = Version::of_packed(header.python.load(Ordering::Acquire));
        let Some(version) = version else {
            self.emit_python_2(sink);
            return;
        };
        let Some(module) = self.modules.interpreter() else {
            self.emit_python_2(sink);
            return;
        };
        sink(Event::Runtime {
            process: self.key,
            runtime: format!("CPython {version}"),
            module: module.info.path.clone(),
        });
        let refused = header.python_refused.load(Ordering::Relaxed);
        if refused != 0 {
            let version = version.to_string();
            let refusal = Refusal::of_code(refused);
            sink(Event::Note(python_unread(self.pid, &version, refusal)));
        }
        self.runtime_emitted = true;
    }
}
