//! The records of a process's buffer, one after the other.

use profundo_model::{LocationId, Loss, Nanos, Profile, Sample, SpanId, StackId, StringId};
use profundo_wire::recording::Event;
use profundo_wire::{
    Call, End, PythonEnd, Reader, Record, SampleHead, SpanOwner, State, Syscalls, TaskName,
    ThreadName, Traffic, Wait,
};

use super::meta::{gil, state};
use super::samples::{PATIENCE, Waiting};
use super::{Ingest, MOST_WEIGHT};
use crate::heap::{AllocationRecord, NO_TIME};
use crate::spans::{Held, Owner, head_of};
use crate::stacks::{StackWords, Stacks};
use crate::waits::waiting;

impl Ingest {
    pub(super) fn words(&mut self, process: u32, words: &[u64]) {
        let mut wait = None;
        for record in Reader::new(words) {
            match record {
                Ok(Record::Code(code)) => {
                    let (program, shared) = self.programs.get(process, &mut self.profile);
                    let id = program.id();
                    (program.stacks).code(&mut self.profile, id, &code, &mut shared.names);
                }
                Ok(Record::ThreadName(record)) => self.thread_name(process, &record),
                Ok(Record::TaskName(record)) => self.task_name(process, &record),
                Ok(Record::Traffic(record)) => self.traffic(process, record),
                Ok(Record::Syscalls(record)) => self.syscalls(process, &record),
                Ok(Record::Opened(record)) => {
                    let (program, _) = self.programs.get(process, &mut self.profile);
                    program.files.open(&mut self.profile, &record);
                }
                Ok(Record::Call(call)) => self.call(process, &call),
                Ok(Record::Block(block)) => self.allocated(process, AllocationRecord::Block(block)),
                Ok(Record::Site(site)) => self.allocated(process, AllocationRecord::Site(site)),
                Ok(Record::Freed(freed)) => self.allocations.blocks.freed(process, &freed),
                Ok(Record::Wait(record)) => wait = Some(self.wait(process, &record)),
                Ok(Record::Sample {
                    head,
                    frames,
                    python,
                }) => {
                    let wait = wait.take();
                    let words = StackWords { frames, python };
                    if !self.sample(process, &head, words, wait, false) {
                        self.samples.waiting.push(Waiting {
                            process,
                            head,
                            words: [frames, python].concat().into(),
                            wait,
                            file: StringId::default(),
                            allocated: None,
                            retries: 0,
                        });
                    }
                }
                Ok(Record::SpanPath(path)) => self.spans.path(process, &path),
                Ok(Record::Span(span)) => {
                    self.span(process, span.owner, span.task, Held::Span(span));
                }
                Ok(Record::SpanSum(sum)) => {
                    let figures = [sum.count, sum.total, sum.least, sum.most];
                    let held = Held::Sum(figures, sum.lengths().collect());
                    self.span(process, sum.owner, 0, held);
                }
                Ok(Record::Mark(mark)) => {
                    let held = Held::Mark(mark.clock, mark.text());
                    self.span(process, mark.owner, mark.task, held);
                }
                Ok(Record::SpanLoss(loss)) => self.spans.lose(process, loss, &mut self.profile),
                // It needs the modules' tables, and their owner has used it already.
                Ok(Record::Rewalk(_)) => {}
                Err(error) => {
                    let note = format!("part of the buffer was unreadable: {error}");
                    self.event(Event::Note(note));
                }
            }
        }
        if self.samples.is_full() && self.clock.is_known() {
            self.flush(u64::MAX);
        }
    }

    fn thread_name(&mut self, process: u32, record: &ThreadName<'_>) {
        let (program, shared) = self.programs.get(process, &mut self.profile);
        program.adopt(&self.profile, record.head.thread, record.head.tid);
        let name: String = record.name.characters().collect();
        let numbers = &mut shared.numbers;
        (program.threads).name(&mut self.profile, numbers, &record.head, &name);
    }

    fn task_name(&mut self, process: u32, record: &TaskName<'_>) {
        let (program, _) = self.programs.get(process, &mut self.profile);
        let name: String = record.name.characters().collect();
        (program.threads).name_task(&mut self.profile, record.head.task, name.into());
    }

    fn traffic(&mut self, process: u32, record: Traffic) {
        let (program, shared) = self.programs.get(process, &mut self.profile);
        program.adopt(&self.profile, record.thread, record.tid);
        let (profile, numbers) = (&mut self.profile, &mut shared.numbers);
        let thread = (program.threads).thread(profile, numbers, record.thread, record.tid);
        if !self.clock.is_before(record.from) {
            self.readings.add_traffic(thread, record);
        }
    }

    fn syscalls(&mut self, process: u32, record: &Syscalls<'_>) {
        let head = record.head;
        let (program, shared) = self.programs.get(process, &mut self.profile);
        program.adopt(&self.profile, head.thread, head.tid);
        let (profile, numbers) = (&mut self.profile, &mut shared.numbers);
        let thread = (program.threads).thread(profile, numbers, head.thread, head.tid);
        if !self.clock.is_before(head.from) {
            let call = self.profile.strings.intern(&record.call());
            self.readings.add_syscalls(thread, call, head);
        }
    }

    /// The last sample was in a system call on a file.
    fn call(&mut self, process: u32, call: &Call) {
        let (program, _) = self.programs.get(process, &mut self.profile);
        if let Some(file) = program.files.get(call.descriptor, call.clock) {
            self.samples.set_file(process, call.clock, file);
        }
    }

    /// Takes in a span, a sum of spans or a mark.
    fn span(&mut self, process: u32, owner: SpanOwner, task: u64, held: Held) {
        let (program, shared) = self.programs.get(process, &mut self.profile);
        let profile = &mut self.profile;
        program.adopt(profile, owner.thread, owner.tid);
        let head = head_of(owner, task);
        let (thread, task) =
            (program.threads).of_sample(profile, &mut shared.numbers, &head, |task| {
                program.stacks.task_name(task)
            });
        let owner = Owner {
            ticket: self.spans.ticket(process, owner.path),
            process: program.id(),
            thread,
            task,
        };
        self.spans.hold(owner, held);
    }

    /// The location of a wait.
    fn wait(&mut self, process: u32, record: &Wait<'_>) -> LocationId {
        let (program, _) = self.programs.get(process, &mut self.profile);
        program.waits.place(&mut self.profile, record)
    }

    /// Takes in a sample; returns whether that was possible.
    fn sample(
        &mut self,
        process: u32,
        head: &SampleHead,
        words: StackWords<'_>,
        wait: Option<LocationId>,
        at_once: bool,
    ) -> bool {
        let (program, shared) = self.programs.get(process, &mut self.profile);
        let profile = &mut self.profile;
        let kept = program.stacks.own_frames(head, words);
        let is_cut = kept < words.frames.len();
        let words = StackWords {
            frames: words.frames.get(..kept).unwrap_or(words.frames),
            ..words
        };
        let head = &SampleHead {
            end: if is_cut { End::Root } else { head.end },
            ..*head
        };
        let most = self.most_stacks;
        let stack = stack_of(
            profile,
            &mut program.stacks,
            head,
            words,
            wait,
            at_once,
            most,
        );
        let Some(stack) = stack else { return false };
        program.adopt(profile, head.thread, head.tid);
        let (thread, task) =
            (program.threads).of_sample(profile, &mut shared.numbers, head, |task| {
                program.stacks.task_name(task)
            });
        let is_allocation = head.state == State::Allocating;
        let is_call = head.state == State::Returning;
        if !is_allocation && !is_call {
            count_cut(head, &mut profile.meta.loss);
        }
        let weight = head.weight.min(MOST_WEIGHT.saturating_sub(self.weights));
        self.weights = self.weights.saturating_add(weight);
        let sample = Sample {
            time: NO_TIME,
            weight: Nanos(weight),
            clock: head.clock,
            thread,
            task,
            stack,
            state: state(head.state),
            gil: gil(head.gil),
            span: SpanId(self.spans.ticket(process, head.span)),
            ..Sample::default()
        };
        match is_allocation {
            true => self.samples.allocating = Some(sample),
            false if self.clock.is_before(head.clock) => {}
            false if is_call => self.readings.add_sampled_call(thread, stack, head),
            false => self.samples.push(sample),
        }
        if program.generates {
            self.generated.sampled(stack, head.clock);
        }
        if !words.python.is_empty() {
            self.generated.walked(program.id());
        }
        true
    }

    /// Tries again the samples that wait for a code object.
    pub(super) fn retry(&mut self) {
        let mut waiting = std::mem::take(&mut self.samples.waiting);
        waiting.retain_mut(|sample| {
            sample.retries += 1;
            let (frames, python) = sample.words.split_at(usize::from(sample.head.frames));
            let at_once = sample.retries > PATIENCE;
            let words = StackWords { frames, python };
            let is_taken = self.sample(sample.process, &sample.head, words, sample.wait, at_once);
            match (is_taken, sample.allocated) {
                (true, Some(record)) => self.allocated(sample.process, record),
                (true, None) => self.samples.set_last_file(sample.file),
                (false, _) => {}
            }
            !is_taken
        });
        self.samples.waiting = waiting;
    }
}

/// The stack of a sample below the wait of its thread. `None` if a code object of it is unknown.
fn stack_of(
    profile: &mut Profile,
    stacks: &mut Stacks,
    head: &SampleHead,
    words: StackWords<'_>,
    wait: Option<LocationId>,
    at_once: bool,
    most: usize,
) -> Option<StackId> {
    if let Some(wait) = wait
        && words.is_empty()
    {
        return Some(profile.stacks.intern(None, wait));
    }
    let stack = stacks.intern(profile, head, words, at_once, most)?;
    Some(match wait {
        Some(wait) => waiting(profile, stack, wait, most),
        None => stack,
    })
}

/// Counts a stack that was cut or could not be walked. Lost samples of allocations are no time.
fn count_cut(head: &SampleHead, loss: &mut Loss) {
    match head.end {
        End::Truncated => loss.truncated += 1,
        End::Broken | End::FramePointerUnknown => loss.broken += 1,
        _ => match head.python_end {
            PythonEnd::Whole => {}
            PythonEnd::Truncated => loss.truncated += 1,
            PythonEnd::Broken => loss.broken += 1,
        },
    }
}
