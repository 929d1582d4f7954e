//! What is known of the programs at a moment: a new piece of the recording begins with it.
//!
//! It is taken from the recorder's events as they pass. Programs, threads and modules that have
//! ended stay for one more piece, since records of theirs may come late. So it grows with what
//! lives at the same time, and not with the length of the recording.

use std::collections::BTreeMap;

use profundo_wire::recording::{
    Event, GeneratedCode, LossCounts, ModuleInfo, ProcessEnd, ProcessInfo, ThreadInfo,
};

use super::records::Records;

/// The programs by their keys.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    programs: BTreeMap<u32, Program>,
    /// The number of the piece.
    piece: u64,
}

/// A program.
#[derive(Debug, Default)]
struct Program {
    info: Option<ProcessInfo>,
    /// Mapped modules by their first addresses.
    modules: BTreeMap<u64, ModuleInfo>,
    /// Modules that were unmapped, with the pieces in which that was.
    unmapped: Vec<(ModuleInfo, u64)>,
    runtime: Option<(String, String)>,
    threads: BTreeMap<u32, Thread>,
    loss: Option<LossCounts>,
    records: Records,
    /// Generated code by its first address.
    generated: BTreeMap<u64, GeneratedCode>,
    /// Its end, and the piece in which that was.
    ended: Option<(ProcessEnd, u64)>,
}

/// A thread.
#[derive(Debug)]
struct Thread {
    info: ThreadInfo,
    gil_wait: u64,
    /// The piece in which it was last known to live.
    piece: u64,
}

impl Standing {
    /// Takes in an event.
    pub(crate) fn event(&mut self, event: &Event<'_>) {
        let piece = self.piece;
        match event {
            Event::Process(info) => {
                let info = ProcessInfo {
                    directory: self.directory(info),
                    ..info.clone()
                };
                let key = info.key;
                self.program(key).info = Some(info);
            }
            Event::Modules { process, modules } => {
                let program = self.program(*process);
                modules
                    .iter()
                    .for_each(|module| program.module(module, piece));
            }
            Event::Thread {
                process,
                thread,
                gil_wait,
            } => {
                let known = Thread {
                    info: thread.clone(),
                    gil_wait: *gil_wait,
                    piece,
                };
                self.program(*process).threads.insert(thread.number, known);
            }
            Event::Words { process, words } => self.program(*process).records.keep(words),
            Event::Generated { process, codes } => {
                let program = self.program(*process);
                for code in codes {
                    match code.unloaded {
                        u64::MAX => drop(program.generated.insert(code.start, code.clone())),
                        _ => drop(program.generated.remove(&code.start)),
                    }
                }
            }
            Event::Runtime {
                process,
                runtime,
                module,
            } => self.program(*process).runtime = Some((runtime.clone(), module.clone())),
            Event::Loss { process, loss } => self.program(*process).loss = Some(*loss),
            Event::Ended(end) => self.program(end.process).ended = Some((*end, piece)),
            _ => {}
        }
    }

    fn program(&mut self, key: u32) -> &mut Program {
        self.programs.entry(key).or_default()
    }

    /// The directory that a program's relative paths are meant in: the child of a fork has its
    /// parent's code, whatever its directory is by then.
    fn directory(&self, info: &ProcessInfo) -> String {
        let parent = self.programs.get(&info.parent);
        let parent = parent.and_then(|parent| parent.info.as_ref());
        let forker = parent.filter(|parent| parent.command == info.command);
        let directory = forker.map_or("", |parent| &parent.directory);
        match directory.is_empty() {
            true => info.directory.clone(),
            false => directory.to_owned(),
        }
    }

    /// A new piece begins: what ended before the last one is forgotten. Living threads have been
    /// emitted just now.
    pub(crate) fn next_piece(&mut self) {
        let last = self.piece;
        self.piece += 1;
        self.programs.retain(|_, program| {
            let is_late = program.ended.is_some_and(|(_, piece)| piece < last);
            program.info.is_some() && !is_late
        });
        for program in self.programs.values_mut() {
            program.unmapped.retain(|(_, piece)| *piece >= last);
            let threads = &mut program.threads;
            threads.retain(|_, thread| thread.piece >= last);
            (program.records).retain_threads(|number| threads.contains_key(&number));
        }
    }

    /// Tells all that is known.
    pub(crate) fn tell(&self, sink: &mut dyn FnMut(Event<'_>)) {
        for (&process, program) in &self.programs {
            program.tell(process, sink);
        }
    }

    /// The number of programs.
    pub(crate) fn programs(&self) -> usize {
        self.programs.len()
    }

    /// The number of threads of all programs.
    #[cfg(test)]
    pub(crate) fn threads(&self) -> usize {
        let programs = self.programs.values();
        programs.map(|program| program.threads.len()).sum()
    }
}

impl Program {
    fn module(&mut self, module: &ModuleInfo, piece: u64) {
        if module.unloaded == u64::MAX {
            self.modules.insert(module.start, module.clone());
            return;
        }
        self.modules.remove(&module.start);
        self.unmapped.push((module.clone(), piece));
    }

    fn tell(&self, process: u32, sink: &mut dyn FnMut(Event<'_>)) {
        // Without it, what is known is of a program that was not announced yet.
        if let Some(info) = &self.info {
            sink(Event::Process(info.clone()));
        }
        let unmapped = self.unmapped.iter().map(|(module, _)| module);
        let modules: Vec<_> = unmapped.chain(self.modules.values()).cloned().collect();
        if !modules.is_empty() {
            sink(Event::Modules { process, modules });
        }
        if let Some((runtime, module)) = self.runtime.clone() {
            sink(Event::Runtime {
                process,
                runtime,
                module,
            });
        }
        let words = &self.records.words()[..];
        if !words.is_empty() {
            sink(Event::Words { process, words });
        }
        if !self.generated.is_empty() {
            let codes = self.generated.values().cloned().collect();
            sink(Event::Generated { process, codes });
        }
        for thread in self.threads.values() {
            sink(Event::Thread {
                process,
                thread: thread.info.clone(),
                gil_wait: thread.gil_wait,
            });
        }
        if let Some(loss) = self.loss {
            sink(Event::Loss { process, loss });
        }
        if let Some((end, _)) = self.ended {
            sink(Event::Ended(end));
        }
    }
}
