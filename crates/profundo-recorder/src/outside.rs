//! A process that is sampled from outside: a static program, one with another C library, or one
//! that runs with another user's rights cannot have an agent.

use std::collections::HashMap;

use profundo_linux::clock::Scale;
use profundo_linux::perf::Sample;
use profundo_linux::proc;
use profundo_linux::sys;
use profundo_probe::regs::descriptor;
use profundo_process::copied_stack::Copied;
use profundo_process::kernel;
use profundo_process::reading::{
    Activity, Counts, FrameVariables, Process, Reading, ReadingWords, Unread, Wanted, activity,
    file,
};
use profundo_process::unsettled::{Unreadable, Unsettled};
use profundo_unwind::{Module, Modules, walk_with_registers};
use profundo_wire::recording::{Event, ThreadInfo};
use profundo_wire::{
    Call, End, Gil, PythonEnd, SAMPLE_HEAD_WORDS, SampleHead, State, opened_words,
};

use crate::core::ThreadId;

/// The depth to which a stack is kept.
const MAX_DEPTH: usize = 1024;

/// A sampled thread.
#[derive(Debug, Clone)]
struct Thread {
    number: u32,
    name: String,
    first: u64,
    last: u64,
    sampled: u64,
}

/// The time that a polled thread has run since it was last read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnreadTime {
    pub(crate) thread: ThreadId,
    /// Nanoseconds.
    pub(crate) weight: u64,
}

/// The recorder's side of the process.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    threads: HashMap<u32, Thread>,
    met: u32,
    /// The name of its first thread when it was first seen, which others have unless they set their
    /// own.
    name: String,
    /// Nanoseconds that its samples stand for.
    pub(crate) sampled: u64,
    /// Nanoseconds counted by its clocks, if no child shares them: the time that could be sampled.
    pub(crate) counted: Option<u64>,
    /// User and system time when its clocks were opened.
    pub(crate) used_before: (u64, u64),
    /// Whether a child has inherited its clocks.
    pub(crate) has_heirs: bool,
    /// Whether time in the kernel is sampled too.
    pub(crate) sees_the_kernel: bool,
    /// Its threads are read when they are sampled: a copy of the stack does not show the
    /// interpreter's frames.
    pub(crate) process: Option<Box<Process>>,
    /// Time that no reading stands for yet.
    unsettled: Unsettled,
    /// Whether the descriptors of system calls are recorded.
    pub(crate) records_calls: bool,
    /// Whether the kernel was emitted as a module.
    kernel_emitted: bool,
}

/// The words of the descriptor that a sample's system call was on.
fn call_of(sample: &Sample, clock: u64) -> Vec<u64> {
    let registers = sample.registers.as_ref().filter(|_| sample.in_kernel);
    let descriptor = registers.and_then(|(regs, general)| descriptor(regs, general));
    let Some(descriptor) = descriptor else {
        return Vec::new();
    };
    let name = file(sample.pid, u64::from(descriptor));
    let mut words = opened_words(descriptor, clock, &name);
    words.extend(Call { clock, descriptor }.to_words());
    words
}

impl Outside {
    /// The recorder's side of this process.
    pub(crate) fn of(pid: u32) -> Self {
        Self {
            name: proc::thread_name(pid, pid),
            ..Self::default()
        }
    }

    /// Takes samples back that are to be recorded again.
    pub(crate) fn forget_last(&mut self, samples: &[&Sample]) {
        for sample in samples {
            self.sampled -= sample.weight;
            if let Some(thread) = self.threads.get_mut(&sample.tid) {
                thread.sampled -= sample.weight;
            }
        }
    }

    /// Emits the kernel as a module, at the first frame in it.
    fn emit_kernel(&mut self, key: u32, samples: &[&Sample], sink: &mut dyn FnMut(Event<'_>)) {
        if !self.kernel_emitted && samples.iter().any(|sample| !sample.kernel.is_empty()) {
            self.kernel_emitted = true;
            let modules = vec![kernel::module(profundo_probe::clock::now())];
            let process = key;
            sink(Event::Modules { process, modules });
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
        self.emit_kernel(key, samples, sink);
        let modules = Modules::new(modules);
        let mut leads_out = false;
        for sample in samples {
            let clock = scale.cycles_at(sample.time);
            let thread = self.thread(key, sample, clock, scale, sink);
            thread.last = clock;
            thread.sampled += sample.weight;
            let number = thread.number;
            self.sampled += sample.weight;
            let process = self.process.as_ref();
            let python_end = match process.is_some_and(|process| process.runs_python(sample.tid)) {
                // The thread runs Python, but its frames were not read.
                true => PythonEnd::Broken,
                false => PythonEnd::Whole,
            };
            leads_out |= native_words(sample, &modules, number, clock, python_end, words);
            if self.records_calls {
                words.extend(call_of(sample, clock));
            }
        }
        leads_out
    }

    /// Whether the frames of an interpreter are read.
    pub(crate) fn reads_python(&self) -> bool {
        self.process
            .as_ref()
            .is_some_and(|process| process.has_python())
    }

    /// Reads the threads of the samples. Of several samples of one thread only the last is read,
    /// which then stands for all. Returns the samples that could not be read.
    pub(crate) fn read<'a>(
        &mut self,
        key: u32,
        samples: &[&'a Sample],
        modules: &[Module<'_>],
        scale: &Scale,
        words: &mut Vec<u64>,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> (Vec<&'a Sample>, bool) {
        self.emit_kernel(key, samples, sink);
        let mut process = self.process.take();
        let mut unsettled = std::mem::take(&mut self.unsettled);
        if let Some(process) = &mut process {
            process.resume_late_threads();
        }
        let mut unread = Vec::new();
        let mut leads_out = false;
        for (at, &sample) in samples.iter().enumerate() {
            let of = (sample.tid, sample.in_kernel);
            let of_thread = |other: &&&Sample| (other.tid, other.in_kernel) == of;
            let later = samples.get(at + 1..).unwrap_or_default();
            if later.iter().any(|other| of_thread(&other)) {
                continue;
            }
            let weights = samples.iter().filter(of_thread).map(|other| other.weight);
            let sampled: u64 = weights.sum();
            let weight = sampled + unsettled.weight(of);
            let clock = scale.cycles_at(sample.time);
            let thread = self.thread(key, sample, clock, scale, sink);
            let reading = Reading {
                tid: sample.tid,
                number: thread.number,
                clock,
                weight,
                state: match sample.in_kernel {
                    true => State::System,
                    false => State::Running,
                },
            };
            let Some(process) = process.as_mut() else {
                unread.extend(samples.iter().filter(of_thread).copied());
                continue;
            };
            process.counts.ran += sampled;
            let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
            let waited = unsettled.since_read(of, now);
            let read = process.read_sampled(sample, reading, waited, modules, words);
            if read == Err(Unread::Moved) {
                let mut kept = Vec::new();
                let modules = Modules::new(modules);
                let (number, broken) = (reading.number, PythonEnd::Broken);
                native_words(sample, &modules, number, clock, broken, &mut kept);
                let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
                thread.last = clock;
                unsettled.keep(of, kept, sampled, now);
                continue;
            }
            match read {
                Ok(is_lost) => {
                    unsettled.settle(of);
                    thread.last = clock;
                    thread.sampled += weight;
                    self.sampled += weight;
                    leads_out |= is_lost;
                    if self.records_calls {
                        words.extend(call_of(sample, clock));
                    }
                }
                // The native stack that the kernel has copied is still right.
                Err(_) => {
                    unread.extend(samples.iter().filter(of_thread).copied());
                }
            }
        }
        self.process = process;
        self.unsettled = unsettled;
        (unread, leads_out)
    }

    /// Records samples that no reading has come to stand for in time; with `all`, all of them.
    pub(crate) fn settle(&mut self, key: u32, all: bool, sink: &mut dyn FnMut(Event<'_>)) {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let left = match all {
            true => self.unsettled.take_all(None),
            false => self.unsettled.overdue(now),
        };
        self.record_unreadable(key, left, sink);
    }

    fn record_unreadable(
        &mut self,
        process: u32,
        left: Vec<Unreadable>,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        for Unreadable { tid, weight, words } in left {
            self.sampled += weight;
            if let Some(thread) = self.threads.get_mut(&tid) {
                thread.sampled += weight;
            }
            if let Some(process) = &mut self.process {
                process.count_unreadable();
            }
            let words = &words;
            sink(Event::Words { process, words });
        }
    }

    /// Reads a polled thread that has run for this long since it was last read.
    pub(crate) fn read_runner(
        &mut self,
        key: u32,
        ran: UnreadTime,
        modules: &[Module<'_>],
        scale: &Scale,
        words: &mut Vec<u64>,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> Result<bool, Unread> {
        let clock = profundo_probe::clock::now();
        let UnreadTime { thread: id, weight } = ran;
        let number = self.thread_of(key, id, clock, scale, sink).number;
        let ThreadId { pid, tid } = id;
        let reading = Reading {
            tid,
            number,
            clock,
            weight,
            state: State::Running,
        };
        let process = self.process.get_or_insert_default();
        process.have_some_patience();
        process.counts.ran += weight;
        let read = process.read_running(pid, reading, Wanted::Any, modules, words);
        if read.is_err() {
            // Its time comes again, with what it runs until then.
            process.counts.ran -= weight;
        }
        let leads_out = read?;
        self.sampled += weight;
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.last = clock;
            thread.sampled += weight;
        }
        Ok(leads_out)
    }

    /// Gives up the time of a polled thread.
    pub(crate) fn give_up_runner(&mut self, weight: u64) {
        if let Some(process) = &mut self.process {
            process.counts.ran += weight;
        }
    }

    /// Reads a thread in any state.
    pub(crate) fn read_once(
        &mut self,
        key: u32,
        id: ThreadId,
        modules: &[Module<'_>],
        scale: &Scale,
        words: &mut Vec<u64>,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        /// A running thread may block before it is held, and the other way round.
        const TRIES: u32 = 5;
        let Some(mut process) = self.process.take() else {
            return;
        };
        process.be_patient();
        let clock = profundo_probe::clock::now();
        let number = self.thread_of(key, id, clock, scale, sink).number;
        let ThreadId { pid, tid } = id;
        let reading = Reading {
            tid,
            number,
            clock,
            weight: 1,
            state: State::Running,
        };
        for _ in 0..TRIES {
            match activity(pid, tid) {
                Activity::Blocked(blocked) => {
                    let mut sample = Vec::new();
                    let out = ReadingWords {
                        words,
                        sample: &mut sample,
                    };
                    process.read_blocked(pid, reading, blocked, modules, out);
                    words.append(&mut sample);
                    break;
                }
                Activity::Running => {
                    match process.read_running(pid, reading, Wanted::Any, modules, words) {
                        Ok(_) | Err(Unread::Gone) => break,
                        Err(_) => std::thread::sleep(std::time::Duration::from_millis(2)),
                    }
                }
                Activity::Ended | Activity::Hidden => break,
            }
        }
        self.process = Some(process);
    }

    /// The variables of the frames of the thread that was read last, innermost first. Empty unless
    /// they are wanted.
    pub(crate) fn take_variables(&mut self) -> Vec<FrameVariables> {
        let process = self.process.as_mut();
        process.map_or_else(Vec::new, |process| process.take_variables())
    }

    /// The number of a thread in the recording.
    pub(crate) fn number_of(
        &mut self,
        key: u32,
        id: ThreadId,
        clock: u64,
        scale: &Scale,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> u32 {
        self.thread_of(key, id, clock, scale, sink).number
    }

    /// The number of a thread, if it is known.
    pub(crate) fn known_number(&self, tid: u32) -> Option<u32> {
        self.threads.get(&tid).map(|thread| thread.number)
    }

    /// Resumes threads that stopped too late to be read. Returns whether some have still to stop.
    pub(crate) fn resume_late_threads(&mut self) -> bool {
        let process = self.process.as_mut();
        process.is_some_and(|process| process.resume_late_threads())
    }

    /// The account of the readings of its threads.
    pub(crate) fn readings(&self) -> Counts {
        let process = self.process.as_ref();
        process.map_or(Counts::default(), |process| process.counts)
    }

    fn thread(
        &mut self,
        key: u32,
        sample: &Sample,
        clock: u64,
        scale: &Scale,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> &mut Thread {
        let (pid, tid) = (sample.pid, sample.tid);
        self.thread_of(key, ThreadId { pid, tid }, clock, scale, sink)
    }

    fn thread_of(
        &mut self,
        key: u32,
        ThreadId { pid, tid }: ThreadId,
        clock: u64,
        scale: &Scale,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> &mut Thread {
        let (met, usual) = (&mut self.met, &self.name);
        self.threads.entry(tid).or_insert_with(|| {
            *met += 1;
            // It may have ended before its first sample was handled.
            let name = Some(proc::thread_name(pid, tid)).filter(|name| !name.is_empty());
            let thread = Thread {
                number: *met,
                name: name.unwrap_or_else(|| usual.clone()),
                first: clock,
                last: clock,
                sampled: 0,
            };
            sink(thread.event(key, tid, clock, scale));
            thread
        })
    }

    /// Renames a thread.
    pub(crate) fn rename(&mut self, tid: u32, name: &[u8]) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.name = String::from_utf8_lossy(name).into_owned();
        }
    }

    /// Emits a thread that has ended: its number may be used again.
    pub(crate) fn thread_ended(
        &mut self,
        key: u32,
        tid: u32,
        now: u64,
        scale: &Scale,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let left = self.unsettled.take_all(Some(tid));
        self.record_unreadable(key, left, sink);
        if let Some(process) = &mut self.process {
            process.forget(tid);
        }
        if let Some(thread) = self.threads.remove(&tid) {
            sink(thread.event(key, tid, now, scale));
        }
    }

    /// Emits all threads.
    pub(crate) fn emit_threads(
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

/// Appends a sample with its native stack. Returns whether the stack led out of the known modules.
fn native_words(
    sample: &Sample,
    modules: &Modules<'_>,
    number: u32,
    clock: u64,
    python_end: PythonEnd,
    words: &mut Vec<u64>,
) -> bool {
    let start = words.len();
    words.resize(start + SAMPLE_HEAD_WORDS + MAX_DEPTH, 0);
    let Some((head, frames)) = words
        .get_mut(start..)
        .and_then(|room| room.split_first_chunk_mut::<SAMPLE_HEAD_WORDS>())
    else {
        return false;
    };
    // No stack of a program takes all of the room.
    let above = sample.kernel.len().min(MAX_DEPTH / 2);
    let (kernel, frames) = frames.split_at_mut(above);
    kernel.copy_from_slice(sample.kernel.get(..above).unwrap_or_default());
    let (depth, end) = walk(sample, modules, frames);
    let mut walked = frames.iter().take(depth);
    let leads_out = walked.any(|&address| modules.find(address).is_none());
    if above > 0
        && let Some(leaf) = frames.first_mut().filter(|_| depth > 0)
    {
        // It is a caller now, and callers are looked up one byte before.
        *leaf += 1;
    }
    let depth = above + depth;
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
        python_end,
        gil: Gil::None,
        clock,
        weight: sample.weight,
        task: 0,
        thread: number,
        tid: sample.tid,
        span: 0,
    }
    .to_words();
    words.truncate(start + SAMPLE_HEAD_WORDS + depth);
    leads_out
}

fn walk(sample: &Sample, modules: &Modules<'_>, out: &mut [u64]) -> (usize, End) {
    let Some((regs, general)) = &sample.registers else {
        return match sample.is_kernels {
            true => (0, End::Root),
            false => (0, End::Broken),
        };
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
