//! A process that is sampled from outside: no agent can enter a static program, one of another C
//! library, or one that runs with another's rights.

use std::collections::HashMap;

use profundo_unwind::{Module, Modules, walk_with_registers};
use profundo_wire::recording::{Event, ThreadInfo};
use profundo_wire::{End, Gil, PythonEnd, SAMPLE_HEAD_WORDS, SampleHead, State};

use crate::clock::Scale;
use crate::copied::Copied;
use crate::perf::Sample;
use crate::proc;

/// The deepest stack that is kept.
const MAX_DEPTH: usize = 1024;

/// A thread that was sampled.
#[derive(Debug, Clone)]
struct Thread {
    number: u32,
    name: String,
    first: u64,
    last: u64,
    sampled: u64,
}

/// The recorder's side of such a process.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    threads: HashMap<u32, Thread>,
    met: u32,
    /// Nanoseconds that its samples stand for.
    pub(crate) sampled: u64,
    /// Whether time in the kernel is sampled too.
    pub(crate) sees_the_kernel: bool,
}

impl Outside {
    /// These samples are to be recorded anew.
    pub(crate) fn forget_last(&mut self, samples: &[&Sample]) {
        for sample in samples {
            self.sampled -= sample.weight;
            if let Some(thread) = self.threads.get_mut(&sample.tid) {
                thread.sampled -= sample.weight;
            }
        }
    }

    /// Turns samples into records. Returns whether a stack led out of the known modules.
    pub(crate) fn record(
        &mut self,
        key: u32,
        samples: &[&Sample],
        modules: &[Module<'_>],
        scale: &Scale,
        words: &mut Vec<u64>,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> bool {
        let modules = Modules::new(modules);
        let mut leads_out = false;
        for sample in samples {
            let clock = scale.cycles_at(sample.time);
            let thread = self.thread(key, sample, clock, scale, sink);
            thread.last = clock;
            thread.sampled += sample.weight;
            let number = thread.number;
            self.sampled += sample.weight;
            let start = words.len();
            words.resize(start + SAMPLE_HEAD_WORDS + MAX_DEPTH, 0);
            let Some((head, frames)) = words
                .get_mut(start..)
                .and_then(|room| room.split_first_chunk_mut::<SAMPLE_HEAD_WORDS>())
            else {
                continue;
            };
            let (depth, end) = walk(sample, &modules, frames);
            leads_out |= frames
                .iter()
                .take(depth)
                .any(|&address| modules.find(address).is_none());
            let state = if sample.in_kernel {
                State::System
            } else {
                State::Running
            };
            *head = SampleHead {
                state,
                end,
                frames: depth as u16,
                python: 0,
                python_end: PythonEnd::Whole,
                gil: Gil::None,
                clock,
                weight: sample.weight,
                task: 0,
                thread: number,
                tid: sample.tid,
            }
            .to_words();
            words.truncate(start + SAMPLE_HEAD_WORDS + depth);
        }
        leads_out
    }

    fn thread(
        &mut self,
        key: u32,
        sample: &Sample,
        clock: u64,
        scale: &Scale,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> &mut Thread {
        let met = &mut self.met;
        self.threads.entry(sample.tid).or_insert_with(|| {
            *met += 1;
            let thread = Thread {
                number: *met,
                name: proc::thread_name(sample.pid, sample.tid),
                first: clock,
                last: clock,
                sampled: 0,
            };
            sink(thread.event(key, sample.tid, clock, scale));
            thread
        })
    }

    /// A thread's name has changed.
    pub(crate) fn rename(&mut self, tid: u32, name: &[u8]) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.name = String::from_utf8_lossy(name).into_owned();
        }
    }

    /// A thread has ended; another one may get its number.
    pub(crate) fn thread_ended(
        &mut self,
        key: u32,
        tid: u32,
        now: u64,
        scale: &Scale,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        if let Some(thread) = self.threads.remove(&tid) {
            sink(thread.event(key, tid, now, scale));
        }
    }

    /// Tells all that is known of the threads.
    pub(crate) fn tell_all(
        &self,
        key: u32,
        now: u64,
        scale: &Scale,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        for (&tid, thread) in &self.threads {
            sink(thread.event(key, tid, now, scale));
        }
    }
}

impl Thread {
    fn event(&self, process: u32, tid: u32, end: u64, scale: &Scale) -> Event<'static> {
        let alive = end.max(self.last).saturating_sub(self.first);
        Event::Thread {
            process,
            thread: ThreadInfo {
                number: self.number,
                tid,
                name: self.name.clone(),
                alive: scale.nanoseconds(alive),
                cpu: self.sampled,
            },
            gil_wait: 0,
        }
    }
}

fn walk(sample: &Sample, modules: &Modules<'_>, out: &mut [u64]) -> (usize, End) {
    let Some((regs, general)) = &sample.registers else {
        return (0, End::Broken);
    };
    let mut memory = Copied {
        pid: sample.pid,
        start: regs.sp,
        stack: &sample.stack,
        modules,
    };
    let (depth, end) = walk_with_registers(*regs, general, modules, &mut memory, out);
    let end = memory.end(end);
    (depth, end)
}
