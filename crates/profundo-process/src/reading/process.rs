//! The threads of one process, read when the recorder asks for it, and the account of the readings.

use profundo_cpython::Refusal;
use profundo_linux::perf::Sample;
use profundo_linux::sys;
use profundo_unwind::Module;
use profundo_wire::{End, Gil, PythonEnd, SampleHead, State, wait_words};

use super::blocked::{Activity, Blocked, activity, is_after_a_call};
use super::held::{NotHeld, Stopper};
use super::interpreter::{Interpreter, minor_in_name};
use super::python::Python;
use super::stack::{At, Reader, ReadingWords, Stack, Subject};
use super::variables::FrameVariables;
use super::wait::Wait;
use crate::modules::ModuleList;
use crate::unsettled::Waited;

/// Nanoseconds of holding before the limit applies; also the grace of CPU time for reading.
const GRACE: u64 = 2_000_000;
/// Reading takes at most one part in so many of the threads' CPU time. It takes more only where
/// stacks are very deep: then one reading stands for several samples.
const MOST_SPENT: u64 = 8;

/// The number of unread samples after which a thread is read regardless: a thread that moves on
/// meanwhile, though it is more often found where it stays for long; or one whose stack takes long
/// to read.
const MANY: u32 = 5;
/// The time after which it is, in nanoseconds: both must have passed.
const LONG: u64 = 100_000_000;

/// A reading, and the time that it stands for.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// The thread.
    pub tid: u32,
    /// The thread's number in the recording.
    pub number: u32,
    /// The cycle counter.
    pub clock: u64,
    /// Nanoseconds that it stands for.
    pub weight: u64,
    /// The thread's state.
    pub state: State,
}

/// The reason why there is no stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// The thread has ended.
    Gone,
    /// It could not be held in time.
    Late,
    /// Threads were held for too long already to hold this one.
    Dear,
    /// It has moved on since it was sampled.
    Moved,
    /// The kernel does not permit it, or a debugger has the thread.
    Refused,
}

/// The places where a thread may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Wherever it is, asleep or not.
    Any,
    /// Only in the program's code. A thread that is asked to stop does so at the end of its system
    /// call: if such stops were read, calls of a microsecond would seem to take most of the time.
    OutsideOfCalls,
}

/// The default limit of holding: one part in so many of the time that the threads run.
pub const MOST_HELD: u64 = 30;

/// The account of the readings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Complete readings.
    pub whole: u64,
    /// Incomplete readings.
    pub broken: u64,
    /// Readings without the interpreter's frames, because those may be of another instant.
    pub torn: u64,
    /// Threads that stopped too late to be read.
    pub late: u64,
    /// Threads that could not be held.
    pub refused: u64,
    /// The time for which threads were held, in nanoseconds.
    pub held: u64,
    /// The time that the threads had run that were read, in nanoseconds.
    pub ran: u64,
    /// The time for which threads that stopped too late to be read were held, at most, in
    /// nanoseconds. On a busy machine they had no CPU for most of it, so it does not show whether
    /// readings cost too much.
    pub held_late: u64,
    /// CPU time that reading the threads has taken.
    pub spent: u64,
}

impl Counts {
    /// Adds the account of another process.
    pub fn add(&mut self, other: Self) {
        self.whole += other.whole;
        self.broken += other.broken;
        self.torn += other.torn;
        self.late += other.late;
        self.refused += other.refused;
        self.held += other.held;
        self.ran += other.ran;
        self.held_late += other.held_late;
        self.spent += other.spent;
    }
}

/// A process that is read.
#[derive(Debug)]
pub struct Process {
    reader: Reader,
    python: Option<Python>,
    stopper: Stopper,
    /// Whether the process has an agent too.
    has_agent: bool,
    /// The limit of holding, as one part in so many of the time that threads run. On a machine so
    /// busy that we wait for a CPU while a thread is held, threads are read without holding them.
    most_held: u64,
    /// The reason why the interpreter's stacks are not read.
    pub refusal: Option<Refusal>,
    /// The version of that interpreter, as 3.6; empty if its file does not have it.
    pub refused_version: String,
    /// The account of the readings.
    pub counts: Counts,
}

impl Default for Process {
    fn default() -> Self {
        Self::held_at_most(MOST_HELD)
    }
}

impl Process {
    /// A process whose threads are held for at most one part in so many of the time that they run.
    pub fn held_at_most(one_in: u64) -> Self {
        Self {
            reader: Reader::default(),
            python: None,
            stopper: Stopper::default(),
            has_agent: false,
            most_held: one_in.max(1),
            refusal: None,
            refused_version: String::new(),
            counts: Counts::default(),
        }
    }

    /// A process with an agent, which gives numbers of its own to code objects.
    pub fn beside_an_agent() -> Self {
        Self {
            has_agent: true,
            ..Self::default()
        }
    }

    /// Finds the interpreter, if it is not known. Returns it when it is new.
    pub fn find_python(&mut self, pid: u32, list: &ModuleList) -> Option<&Interpreter> {
        if self.python.is_some() || self.refusal.is_some() {
            return None;
        }
        match Interpreter::find(pid, list, self.reader.memory())? {
            Ok(found) => {
                let python = self.python.insert(Python::new(found, !self.has_agent));
                Some(&python.interpreter)
            }
            Err(refusal) => {
                self.refusal = Some(refusal);
                let module = list.interpreter();
                let minor = module.and_then(|module| minor_in_name(&module.info.path));
                self.refused_version = minor.map_or(String::new(), |minor| format!("3.{minor}"));
                None
            }
        }
    }

    /// Has the variables of Python frames read too, from now on.
    pub fn keep_variables(&mut self) {
        if let Some(python) = &mut self.python {
            python.keep_variables();
        }
    }

    /// The variables of the frames of the thread that was read last, innermost first.
    pub fn take_variables(&mut self) -> Vec<FrameVariables> {
        let python = self.python.as_mut();
        python.map_or_else(Vec::new, Python::take_variables)
    }

    /// Whether the interpreter's stacks are read.
    pub fn has_python(&self) -> bool {
        self.python.is_some()
    }

    /// Forgets a thread that has ended.
    pub fn forget(&mut self, tid: u32) {
        self.reader.forget(tid);
        if let Some(python) = &mut self.python {
            python.forget(tid);
        }
    }

    /// Reads every thread once, however long that takes.
    pub fn be_patient(&mut self) {
        self.stopper.is_patient = true;
    }

    /// Waits for a while for threads that cannot be read at once: there is no other source.
    pub fn have_some_patience(&mut self) {
        self.stopper.has_some_patience = true;
    }

    /// Resumes threads that stopped too late to be read. Returns whether some have still to stop:
    /// until then this must be called often, because they resume only here.
    pub fn resume_late_threads(&mut self) -> bool {
        let has_more = self.stopper.resume_late_threads();
        self.counts.held_late += self.stopper.take_held_late();
        has_more
    }

    /// Reads a thread that ran a moment ago, and appends its sample to `words`. Returns whether its
    /// stack led out of the known modules.
    pub fn read_running(
        &mut self,
        pid: u32,
        reading: Reading,
        wanted: Wanted,
        modules: &[Module<'_>],
        words: &mut Vec<u64>,
    ) -> Result<bool, Unread> {
        self.counts.held_late += self.stopper.take_held_late();
        let is_dear = self.counts.held > GRACE + self.counts.ran / self.most_held;
        if is_dear && !self.stopper.is_patient {
            return Err(Unread::Dear);
        }
        let head = head_of(reading);
        let (stopper, python) = (&mut self.stopper, self.python.as_mut());
        let hold = || {
            let held = stopper.hold(pid, reading.tid)?;
            match wanted == Wanted::OutsideOfCalls && held.is_after_a_call() {
                true => Err(NotHeld::Calling),
                false => Ok(held),
            }
        };
        match self
            .reader
            .read_held(pid, hold, head, modules, python, words)
        {
            Ok(stack) => {
                self.counts.held += stack.held;
                Ok(self.count(stack))
            }
            Err(NotHeld::Blocked) => match activity(pid, reading.tid) {
                Activity::Blocked(_) if wanted == Wanted::OutsideOfCalls => Err(Unread::Moved),
                Activity::Blocked(blocked) => {
                    let python = self.python.as_mut();
                    let at = At::Blocked(blocked);
                    let stack = self.reader.read(pid, at, head, modules, python, words);
                    Ok(self.count(stack))
                }
                Activity::Running => Err(self.late()),
                Activity::Ended => Err(Unread::Gone),
                Activity::Hidden => Err(self.refused()),
            },
            Err(NotHeld::Calling) => Err(Unread::Moved),
            Err(NotHeld::Gone) => Err(Unread::Gone),
            Err(NotHeld::Late) => Err(self.late()),
            Err(NotHeld::Refused) => Err(self.refused()),
        }
    }

    /// Reads a thread where it blocks, and what it waits for. The words go to `out`.
    pub fn read_blocked(
        &mut self,
        pid: u32,
        reading: Reading,
        blocked: Blocked,
        modules: &[Module<'_>],
        out: ReadingWords<'_>,
    ) -> Stack {
        let head = head_of(Reading {
            state: State::WallWaiting,
            ..reading
        });
        let python = self.python.as_mut();
        let at = At::Blocked(blocked);
        let wait = |gil| {
            let wait = Wait::of(pid, &blocked, gil == Gil::Waiting);
            wait_words(wait.kind, &wait.what)
        };
        let stack = self
            .reader
            .read_with(pid, Subject { at, head }, modules, python, out, wait);
        self.count(stack);
        stack
    }

    /// Reads a thread that the kernel has sampled a moment ago, and appends its sample to `words`.
    /// Returns whether its stack led out of the known modules. `waited`: the time since it was
    /// last read.
    pub fn read_sampled(
        &mut self,
        sample: &Sample,
        reading: Reading,
        waited: Waited,
        modules: &[Module<'_>],
        words: &mut Vec<u64>,
    ) -> Result<bool, Unread> {
        let is_costly = self.counts.spent > GRACE + self.counts.ran / MOST_SPENT;
        if is_costly && !is_due(waited) {
            return Err(Unread::Moved);
        }
        let began = sys::nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID);
        let read = self.read_now(sample, reading, waited, modules, words);
        let now = sys::nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID);
        self.counts.spent += now.saturating_sub(began);
        read
    }

    fn read_now(
        &mut self,
        sample: &Sample,
        reading: Reading,
        waited: Waited,
        modules: &[Module<'_>],
        words: &mut Vec<u64>,
    ) -> Result<bool, Unread> {
        /// In a system call a thread is often where it was a moment ago.
        const CALLING_TRIES: u32 = 8;
        // In a system call it may be about to sleep, which must not be disturbed.
        let is_calling = sample.in_kernel && {
            let registers = sample.registers.as_ref();
            registers.is_none_or(|(regs, _)| is_after_a_call(sample.pid, regs.ip))
        };
        // A thread whose CPU we use now does not run, so it would stop only later.
        let is_off = sample.cpu >= 0 && sample.cpu == sys::cpu();
        let tries = match (is_calling, is_off) {
            (true, _) => CALLING_TRIES,
            (false, true) => 1,
            (false, false) => {
                let wanted = Wanted::OutsideOfCalls;
                match self.read_running(sample.pid, reading, wanted, modules, words) {
                    Err(Unread::Dear) if !is_due(waited) => return Err(Unread::Moved),
                    Err(Unread::Late | Unread::Refused | Unread::Dear) => 1,
                    read => return read,
                }
            }
        };
        let copied = self.read_copied(sample, reading, tries, modules, words);
        let (stack, own) = copied.ok_or(Unread::Gone)?;
        if stack.is_torn {
            return Err(Unread::Moved);
        }
        words.extend(own);
        Ok(stack.leads_out)
    }

    /// Reads the interpreter's frames of a running thread, for the native stack that the kernel has
    /// copied. New records go to `words`, and the sample is returned.
    fn read_copied(
        &mut self,
        sample: &Sample,
        reading: Reading,
        tries: u32,
        modules: &[Module<'_>],
        words: &mut Vec<u64>,
    ) -> Option<(Stack, Vec<u64>)> {
        let (registers, general) = sample.registers.as_ref()?;
        let head = head_of(reading);
        let at = At::Copied {
            registers: *registers,
            general,
            stack: &sample.stack,
            kernel: &sample.kernel,
            tries,
        };
        let python = self.python.as_mut();
        let mut words_of_sample = Vec::new();
        let stack = self.reader.read_with(
            sample.pid,
            Subject { at, head },
            modules,
            python,
            ReadingWords {
                words,
                sample: &mut words_of_sample,
            },
            |_| Vec::new(),
        );
        if !stack.is_torn {
            self.count(stack);
        }
        Some((stack, words_of_sample))
    }

    /// Counts a sample that was recorded without its Python frames.
    pub fn count_unreadable(&mut self) {
        self.counts.torn += 1;
        self.counts.broken += 1;
    }

    /// Whether a thread was seen to run Python.
    pub fn runs_python(&self, tid: u32) -> bool {
        let python = self.python.as_ref();
        python.is_some_and(|python| python.knows(tid))
    }

    fn count(&mut self, stack: Stack) -> bool {
        let is_whole = stack.end == End::Root && stack.python_end == PythonEnd::Whole;
        match is_whole {
            true => self.counts.whole += 1,
            false => self.counts.broken += 1,
        }
        stack.leads_out
    }

    fn late(&mut self) -> Unread {
        self.counts.late += 1;
        Unread::Late
    }

    fn refused(&mut self) -> Unread {
        self.counts.refused += 1;
        Unread::Refused
    }
}

/// Whether a thread must be read regardless of the cost.
fn is_due(waited: Waited) -> bool {
    waited.samples >= MANY && waited.nanoseconds >= LONG
}

fn head_of(reading: Reading) -> SampleHead {
    SampleHead {
        state: reading.state,
        end: End::Root,
        frames: 0,
        python: 0,
        python_end: PythonEnd::Whole,
        gil: Gil::None,
        clock: reading.clock,
        weight: reading.weight,
        task: 0,
        thread: reading.number,
        tid: reading.tid,
        span: 0,
    }
}
