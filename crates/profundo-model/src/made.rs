//! Profiles made by hand, in few words: for data from elsewhere, for examples and for tests.

use crate::{
    FrameKey, Language, LocationId, LocationKind, Module, ModuleId, Process, ProcessId, Profile,
    Role, StackId, Task, TaskId, Thread, ThreadId,
};

impl Profile {
    /// A process for data made by hand.
    pub fn hand_made_process(&mut self, pid: u32, command: &str) -> ProcessId {
        let command = self.strings.intern(command);
        self.processes.push(Process {
            pid,
            command,
            ..Process::default()
        });
        ProcessId::from_index(self.processes.len() - 1)
    }

    /// A thread for data made by hand, of the first process.
    pub fn hand_made_thread(&mut self, number: u64, name: &str) -> ThreadId {
        if self.processes.is_empty() {
            self.processes.push(Process::default());
        }
        let name = self.strings.intern(name);
        self.threads.push(Thread {
            number,
            name,
            process: ProcessId(0),
            ..Thread::default()
        })
    }

    /// A task for data made by hand.
    pub fn hand_made_task(&mut self, number: u64) -> TaskId {
        self.tasks.push(Task {
            number,
            ..Task::default()
        })
    }

    /// The module of this path, which is made where there is none. Its role is that of its name.
    pub fn hand_made_module(&mut self, path: &str) -> ModuleId {
        let role = Role::of_path(path);
        let path = self.strings.intern(path);
        let known = self.modules.iter().find(|(_, module)| module.path == path);
        match known.map(|(id, _)| id) {
            Some(id) => id,
            None => self.modules.push(Module {
                path,
                role,
                ..Module::default()
            }),
        }
    }

    /// A location with its frames, the innermost inlined function first.
    pub fn hand_made_location(
        &mut self,
        kind: LocationKind,
        module: Option<ModuleId>,
        frames: &[FrameKey<'_>],
    ) -> LocationId {
        let frames: Vec<_> = frames.iter().map(|&key| self.frame(key)).collect();
        let location = self.locations.intern(kind, module);
        self.locations.set_frames(location, &frames);
        location
    }

    /// A line of Python, and whether it calls something.
    pub fn hand_made_python(
        &mut self,
        file: &str,
        function: &str,
        line: u32,
        is_call: bool,
    ) -> LocationId {
        let key = FrameKey {
            function,
            file,
            line,
            language: Language::Python,
            ..FrameKey::default()
        };
        let frame = self.frame(key);
        let kind = LocationKind::Python {
            frame,
            column: 0,
            is_call,
        };
        self.hand_made_location(kind, None, &[key])
    }

    /// A stack, given from its root.
    ///
    /// # Panics
    /// If it is empty.
    pub fn hand_made_stack(&mut self, root_first: &[LocationId]) -> StackId {
        let stack =
            (root_first.iter()).fold(None, |at, &location| Some(self.stacks.intern(at, location)));
        stack.expect("a stack has a location")
    }
}
