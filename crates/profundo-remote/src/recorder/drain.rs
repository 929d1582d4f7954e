//! What is done with the living at each turn: clocks for new threads, samples out of the rings.

use std::sync::atomic::Ordering;

use profundo_cpython::Refusal;
use profundo_wire::recording::Event;

use super::Recorder;
use crate::options::Memory;
use crate::permits::python_unread;
use crate::program::{Program, Way};

impl Recorder {
    /// Sees to threads that have begun or ended, in the programs that have news.
    pub(super) fn attend(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let plan = self.clock_plan();
        for program in self.programs.values_mut() {
            let Way::Agent(agent) = &mut program.way else {
                continue;
            };
            // Acquire pairs with the agent's release: what the news are about is there.
            if agent.header().news.swap(0, Ordering::AcqRel) != 0 {
                agent.meet(plan);
                agent.mind_signal();
                agent.mind_traps(plan, false);
                agent.mind_paces(plan);
                agent.mind_silence(plan);
                agent.tell(program.key, &self.scale, sink);
            }
        }
    }

    /// Takes the samples out of all rings that have some; returns whether there were any.
    pub(super) fn drain(&mut self, sink: &mut dyn FnMut(Event<'_>)) -> bool {
        let mut any = false;
        let keys: Vec<u32> = self.programs.keys().copied().collect();
        for key in keys {
            any |= self.drain_one(key, false, sink);
        }
        any
    }

    /// Takes the samples of programs out that were in calls on files: who looks late finds them closed.
    pub(super) fn drain_calls(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let has_calls = |program: &Program| {
            let agent = program.agent();
            agent.is_some_and(|agent| agent.header().calls.swap(0, Ordering::Relaxed) != 0)
        };
        let programs = self.programs.values();
        let keys: Vec<u32> = programs
            .filter(|it| has_calls(it))
            .map(|it| it.key)
            .collect();
        for key in keys {
            self.drain_one(key, false, sink);
        }
    }

    /// Takes the samples of one program. Its last ones are asked for without condition.
    pub(super) fn drain_one(
        &mut self,
        key: u32,
        last: bool,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> bool {
        let mut busy = false;
        loop {
            let Some((is_busy, are_more)) = self.drain_part(key, last, sink) else {
                return busy;
            };
            busy |= is_busy;
            if !are_more {
                break;
            }
        }
        self.tell_sums(key, last, sink);
        self.tell_collections(key, sink);
        busy
    }

    /// Takes samples of one program, and stacks that it allocates at, as many as may be held at one time. Returns whether
    /// it has run, and whether there is more. `None`: it has no agent.
    fn drain_part(
        &mut self,
        key: u32,
        last: bool,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> Option<(bool, bool)> {
        /// Debuggers are looked for at each turn where that takes no time worth mentioning.
        const FEW: usize = 16;
        let plan = self.clock_plan();
        let few = self.programs.len() <= FEW;
        let program = self.programs.get_mut(&key)?;
        let now = profundo_probe::clock::now();
        let Way::Agent(agent) = &mut program.way else {
            return None;
        };
        let busy = agent.is_busy();
        if busy && few && !last {
            agent.mind_debuggers(plan);
        }
        self.words.clear();
        if busy || last {
            agent.drain(last, &mut self.words);
            if !last {
                agent.vary_periods(plan.period);
            }
        }
        let mut are_more = false;
        if self.options.memory == Some(Memory::Exact) {
            agent.open_sums(&self.directory);
            are_more = agent.drain_stacks(&mut self.words);
        }
        if !self.words.is_empty() {
            self.words_drained = self.words_drained.max(self.words.len());
        }
        // After the words: what their stacks lead to that is not listed has been said by now.
        let is_stale = agent.header().stale.swap(0, Ordering::AcqRel) != 0;
        program.maps_changed |= is_stale;
        let changed = program.refresh_modules(now, &mut self.store, sink);
        let unpublished = program.agent().is_some_and(|agent| agent.unpublished);
        let epoch = std::mem::replace(&mut program.epoch, self.store.epoch);
        let is_compiled = epoch != self.store.epoch;
        if changed || is_compiled {
            program.expect_again();
        }
        if changed || unpublished || is_compiled {
            program.publish();
        }
        let store = &mut self.store;
        if (is_compiled || last || self.words.is_unfinished())
            && program.walk_again(&mut self.words, last, now, store, sink)
        {
            program.publish();
        }
        program.allow_again();
        program.tell_runtime(sink);
        if !self.words.is_empty() {
            let watched = self.wall.as_mut().and_then(|wall| wall.watched.as_mut());
            if let Some(watched) = watched {
                let opened = watched.opened(program.pid, &self.scale, self.words.chunks());
                let (process, words) = (key, &opened[..]);
                sink(Event::Words { process, words });
            }
            for words in self.words.chunks() {
                let process = key;
                sink(Event::Words { process, words });
            }
        }
        Some((busy, are_more))
    }
}

impl Recorder {
    /// Tells of the collections of garbage that were not told of yet.
    fn tell_collections(&mut self, key: u32, sink: &mut dyn FnMut(Event<'_>)) {
        let Some(program) = self.programs.get_mut(&key) else {
            return;
        };
        let Way::Agent(agent) = &program.way else {
            return;
        };
        let mut collections = Vec::new();
        let told = agent
            .ring()
            .collections
            .each_since(program.collections, |it| {
                collections.push(it);
            });
        let (written, lost) = told;
        let is_entered = agent.ring().collections.looked.load(Ordering::Relaxed) != 0;
        let is_new = is_entered && !std::mem::replace(&mut program.tells_collections, is_entered);
        if is_new || written != program.collections {
            program.collections = written;
            sink(Event::Collections {
                process: key,
                collections,
                lost,
            });
        }
    }
}

impl Program {
    /// Tells of the interpreter, once the agent has found it.
    fn tell_runtime(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        if self.runtime_told {
            return;
        }
        let Some(agent) = self.agent() else { return };
        let header = agent.header();
        let version = header.python.load(Ordering::Acquire);
        if version == 0 {
            self.tell_python_2(sink);
            return;
        }
        let Some(module) = self.modules.interpreter() else {
            self.tell_python_2(sink);
            return;
        };
        let [_, major, minor, micro] = version.to_be_bytes();
        sink(Event::Runtime {
            process: self.key,
            runtime: format!("CPython {major}.{minor}.{micro}"),
            module: module.info.path.clone(),
        });
        let refused = header.python_refused.load(Ordering::Relaxed);
        if refused != 0 {
            let version = format!("{major}.{minor}.{micro}");
            let refusal = Refusal::of_code(refused);
            sink(Event::Note(python_unread(self.pid, &version, refusal)));
        }
        self.runtime_told = true;
    }

    /// Lets its clocks run, or stops them.
    pub(crate) fn set_running(&mut self, running: bool, now: u64) {
        if let Way::Agent(agent) = &mut self.way {
            agent.set_running(running, now);
        }
        if running {
            self.resume();
        } else {
            self.pause();
        }
    }
}
