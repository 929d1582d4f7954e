//! A turn's work for living programs: clocks for new threads, samples from the rings, and the
//! agents' counts.

use std::sync::atomic::Ordering;

use profundo_wire::recording::Event;

use super::Core;
use super::transport::Transport;
use crate::options::Memory;
use crate::program::{Program, Way};

impl Core {
    /// Updates threads that have begun or ended, in programs with news.
    pub(crate) fn update_threads(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let plan = self.clock_plan();
        for program in self.processes.programs.values_mut() {
            let Way::Agent(agent) = &mut program.way else {
                continue;
            };
            // Acquire pairs with the agent's release: the news are written.
            if agent.header().news.swap(0, Ordering::AcqRel) != 0 {
                agent.note_new_threads(plan);
                agent.update_signal();
                agent.update_trap(plan, false);
                agent.update_clocks(plan);
                agent.update_silence(plan);
                agent.emit_changed_threads(program.key, &self.scale, sink);
            }
        }
    }

    /// Drains all rings. Returns whether there were samples.
    pub(crate) fn drain(&mut self, sink: &mut dyn FnMut(Event<'_>)) -> bool {
        let mut any = false;
        for key in self.processes.keys() {
            any |= self.drain_one(key, false, sink);
        }
        any
    }

    /// Drains the rings of programs with samples in calls on files, before the files are closed.
    pub(crate) fn drain_calls(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let has_calls = |program: &Program| {
            let agent = program.agent();
            agent.is_some_and(|agent| agent.header().calls.swap(0, Ordering::Relaxed) != 0)
        };
        for key in self.processes.keys_of(has_calls) {
            self.drain_one(key, false, sink);
        }
    }

    /// Drains the ring of one program. With `last`, everything is taken.
    pub(crate) fn drain_one(
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
        self.emit_sums(key, last, sink);
        self.emit_collections(key, sink);
        busy
    }

    /// Takes samples of one program, and stacks of its allocations, up to the limit of memory.
    /// Returns whether it has run, and whether there is more. `None`: it has no agent.
    fn drain_part(
        &mut self,
        key: u32,
        last: bool,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> Option<(bool, bool)> {
        /// The number of programs up to which debuggers are looked for at each turn, because that
        /// costs little.
        const FEW: usize = 16;
        let plan = self.clock_plan();
        let few = self.processes.programs.len() <= FEW;
        let program = self.processes.programs.get_mut(&key)?;
        let Transport {
            store,
            directory,
            words,
            words_drained,
            open_files,
            ..
        } = &mut self.transport;
        let now = profundo_probe::clock::now();
        let Way::Agent(agent) = &mut program.way else {
            return None;
        };
        let busy = agent.is_busy();
        if busy && few && !last {
            agent.check_for_debugger(plan);
        }
        words.clear();
        // Blocks are freed without a handler, which is seen together with the next sample. In a
        // pause there is none.
        if busy || last || !self.running {
            agent.drain(last, words);
            if !last {
                agent.vary_periods(plan.period);
            }
        }
        let mut are_more = false;
        if self.options.memory == Some(Memory::Exact) {
            agent.open_sums(directory);
            are_more = agent.drain_stacks(words);
        }
        if !words.is_empty() {
            *words_drained = (*words_drained).max(words.len());
        }
        // After the words: unlisted modules of their stacks have been reported by now.
        let is_stale = agent.header().stale.swap(0, Ordering::AcqRel) != 0;
        program.maps_changed |= is_stale;
        let changed = program.refresh_modules(now, store, sink);
        let unpublished = program.agent().is_some_and(|agent| agent.unpublished);
        let epoch = std::mem::replace(&mut program.epoch, store.epoch);
        let is_compiled = epoch != store.epoch;
        if changed || is_compiled {
            program.expect_rewalks();
        }
        if changed || unpublished || is_compiled {
            program.publish();
        }
        if (is_compiled || last || words.is_unfinished())
            && program.rewalk(words, last, now, store, sink)
        {
            program.publish();
        }
        program.allow_rewalks();
        program.emit_runtime(sink);
        if !words.is_empty() {
            if let Some(files) = open_files {
                let opened = files.name(program.pid, &self.scale, words.chunks());
                let (process, words) = (key, &opened[..]);
                sink(Event::Words { process, words });
            }
            for words in words.chunks() {
                let process = key;
                sink(Event::Words { process, words });
            }
        }
        Some((busy, are_more))
    }
}

impl Core {
    /// Emits a program's counts of allocations, if it has them and it is time. It comes after the
    /// words, which define the numbers.
    fn emit_sums(&mut self, key: u32, last: bool, sink: &mut dyn FnMut(Event<'_>)) {
        if self.options.memory != Some(Memory::Exact) {
            return;
        }
        let Some(program) = self.processes.programs.get_mut(&key) else {
            return;
        };
        let Way::Agent(agent) = &mut program.way else {
            return;
        };
        let clock = profundo_probe::clock::now();
        if let Some((sites, peak)) = agent.sums.as_mut().and_then(|sums| sums.news(last, clock)) {
            sink(Event::Sites {
                process: key,
                clock,
                sites,
                peak,
            });
        }
    }

    /// Emits new garbage collections.
    fn emit_collections(&mut self, key: u32, sink: &mut dyn FnMut(Event<'_>)) {
        let Some(program) = self.processes.programs.get_mut(&key) else {
            return;
        };
        let Way::Agent(agent) = &program.way else {
            return;
        };
        let mut collections = Vec::new();
        let found = agent
            .ring()
            .collections
            .each_since(program.collections, |collection| {
                collections.push(collection);
            });
        let (written, lost) = found;
        let is_entered = agent.ring().collections.visited.load(Ordering::Relaxed) != 0;
        let is_new = is_entered && !std::mem::replace(&mut program.collections_entered, is_entered);
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
