//! A process that a recorder announces, perhaps one that the file has already.

use profundo_model::ProcessEnd;
use profundo_wire::recording::ProcessInfo;

use super::Ingest;

impl Ingest {
    pub(super) fn process(&mut self, info: &ProcessInfo) {
        let parent = self.whoever(info.parent);
        // The child of a fork goes on with its parent's code, wherever its directory is by then.
        let forker = parent.filter(|(parent, _)| {
            self.profile
                .strings
                .get(self.profile.processes[parent.index()].command)
                == info.command
        });
        let directory = match forker.map(|(_, directory)| directory) {
            Some(directory) if !directory.is_empty() => directory.to_owned(),
            _ => info.directory.clone(),
        };
        let parent = parent.map(|(parent, _)| parent);
        let ((program, ..), profile) = self.program(info.key);
        program.started = info.started;
        program.stacks.began(directory, &info.command);
        let id = program.id;
        let is_resumed = program.is_resumed;
        let row = &mut profile.processes[id.index()];
        row.pid = info.pid;
        // A process that has ended has no command line any more, and its number may be another
        // process's by now: what the file says of it stays.
        if !is_resumed || profile.strings.get(row.command).is_empty() {
            row.command = profile.strings.intern(&info.command);
        }
        let strings = &mut profile.strings;
        let environment = info.environment.iter().map(|name| strings.intern(name));
        if !is_resumed || row.environment.is_empty() {
            row.environment = environment.collect();
        }
        let parent = parent.filter(|&parent| parent != id);
        row.parent = if is_resumed {
            row.parent.or(parent)
        } else {
            parent
        };
        // A program that another one replaced it has ended, whether it was told or not.
        if let Some(parent) = parent
            && profile.processes[parent.index()].pid == info.pid
        {
            self.replaced(info.parent, info.started);
            self.profile.processes[parent.index()].end = ProcessEnd::Replaced;
            self.settle_times_of(info.parent);
        }
        self.settle_times_of(info.key);
    }
}
