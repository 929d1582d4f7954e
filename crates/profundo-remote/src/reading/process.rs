//! The threads of one process, read whenever the recorder says so, and the account of how that went.

use profundo_cpython::Refusal;
use profundo_unwind::Module;
use profundo_wire::{End, Gil, PythonEnd, SampleHead, State, wait_words};

use super::blocked::{Blocked, Look, is_after_a_call, look};
use super::held::{NotHeld, Stopper};
use super::interpreter::{Interpreter, minor_in_name};
use super::python::Python;
use super::stack::{At, Reader, Stack};
use super::wait::Wait;
use crate::modules::ModuleList;
use crate::options::Options;
use crate::perf::Sample;
use crate::sys;
use crate::unsettled::Waited;

/// Nanoseconds that they may be held before that is reckoned; and that reading may take of a CPU.
const GRACE: u64 = 2_000_000;
/// Reading takes at most one part in so many of the CPU time that the threads use. It takes more only where stacks
/// are very deep: then one reading stands for several samples.
const MOST_SPENT: u64 = 8;

/// Samples of a thread that were not read since one was, beyond which it is read by any means: a thread that goes on
/// meanwhile, though it is more often found where it stays for long; and one whose stack takes long to read.
const MANY: u32 = 5;
/// The same in nanoseconds: both must have passed.
const LONG: u64 = 100_000_000;

/// What a reading stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) tid: u32,
    /// The thread's number in the recording.
    pub(crate) number: u32,
    /// The cycle counter.
    pub(crate) clock: u64,
    pub(crate) weight: u64,
    /// What it was doing.
    pub(crate) state: State,
}

/// Why there is no stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// The thread has ended.
    Gone,
    /// It could not be held in time.
    Late,
    /// Threads were held for so long already that this one is not.
    Dear,
    /// It has gone on since it was sampled, and is somewhere else now.
    Moved,
    /// The kernel does not permit it, or a debugger has the thread.
    Refused,
}

/// Where a thread is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Where it is found, asleep or not.
    Any,
    /// Where it runs the program's code. A thread that is to stop stops at the end of the system call that it is
    /// in: if those were read, calls of a microsecond would seem to take most of the time.
    OutsideOfCalls,
}

/// How readings went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) whole: u64,
    /// Those of which something is missing.
    pub(crate) broken: u64,
    /// Those of which the interpreter's frames were left out, because they may be of another instant.
    pub(crate) torn: u64,
    pub(crate) late: u64,
    pub(crate) refused: u64,
    /// How long threads were held, in nanoseconds, and how long they had run by then.
    pub(crate) held: u64,
    pub(crate) ran: u64,
    /// How long threads were held at most that stopped too late to be read, in nanoseconds. On a busy machine most of it
    /// is time in which they had no CPU, so it says nothing about whether a reading is too dear.
    pub(crate) held_late: u64,
    /// CPU time that reading the threads has taken.
    pub(crate) spent: u64,
}

impl Counts {
    /// With those of another process.
    pub(crate) fn add(&mut self, other: Self) {
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
pub(crate) struct Process {
    reader: Reader,
    python: Option<Python>,
    stopper: Stopper,
    /// Whether something inside the process is sampling it, too.
    has_agent: bool,
    /// Threads are held for at most one part in so many of the time that they run: where the machine is so
    /// busy that we wait for a CPU while a thread waits for us, they are read while they go on.
    most_held: u64,
    /// Why the interpreter's stacks are not read.
    pub(crate) refusal: Option<Refusal>,
    /// The version of that interpreter, as 3.6; empty if its file does not tell.
    pub(crate) refused_version: String,
    pub(crate) counts: Counts,
}

impl Default for Process {
    fn default() -> Self {
        Self::held_at_most(Options::default().most_held)
    }
}

impl Process {
    /// One whose threads are held for at most one part in so many of the time that they run.
    pub(crate) fn held_at_most(one_in: u64) -> Self {
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

    /// One that has an agent, which gives numbers of its own to what it meets.
    pub(crate) fn beside_an_agent() -> Self {
        Self {
            has_agent: true,
            ..Self::default()
        }
    }

    /// Looks for an interpreter, if none is known. Returns it when it is new.
    pub(crate) fn look_for_python(&mut self, pid: u32, list: &ModuleList) -> Option<&Interpreter> {
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
                let minor = module.and_then(|it| minor_in_name(&it.info.path));
                self.refused_version = minor.map_or(String::new(), |minor| format!("3.{minor}"));
                None
            }
        }
    }

    /// Whether the interpreter's stacks are read.
    pub(crate) fn has_python(&self) -> bool {
        self.python.is_some()
    }

    /// A thread has ended.
    pub(crate) fn forget(&mut self, tid: u32) {
        self.reader.forget(tid);
        if let Some(python) = &mut self.python {
            python.forget(tid);
        }
    }

    /// Every thread is to be read once, however long that takes.
    pub(crate) fn be_patient(&mut self) {
        self.stopper.is_patient = true;
    }

    /// What cannot be read at once is waited for, for a while: nothing else tells where it runs.
    pub(crate) fn have_some_patience(&mut self) {
        self.stopper.has_some_patience = true;
    }

    /// Lets go of threads that stopped too late to be read. Returns whether some have still to stop: until
    /// then this is to be called often, for who stops goes on only then.
    pub(crate) fn let_late_ones_go(&mut self) -> bool {
        let has_more = self.stopper.let_late_ones_go();
        self.counts.held_late += self.stopper.take_held_late();
        has_more
    }

    /// Reads a thread that ran a moment ago, and appends its sample to `words`. Returns whether its
    /// stack led out of the known modules.
    pub(crate) fn read_running(
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
            Err(NotHeld::Blocked) => match look(pid, reading.tid) {
                Look::Blocked(_) if wanted == Wanted::OutsideOfCalls => Err(Unread::Moved),
                Look::Blocked(blocked) => {
                    let python = self.python.as_mut();
                    let at = At::Blocked(blocked);
                    let stack = self.reader.read(pid, at, head, modules, python, words);
                    Ok(self.count(stack))
                }
                Look::Running => Err(self.late()),
                Look::Ended => Err(Unread::Gone),
                Look::Hidden => Err(self.refused()),
            },
            Err(NotHeld::Calling) => Err(Unread::Moved),
            Err(NotHeld::Gone) => Err(Unread::Gone),
            Err(NotHeld::Late) => Err(self.late()),
            Err(NotHeld::Refused) => Err(self.refused()),
        }
    }

    /// Reads a thread where it blocks, and says what it waits for. What is told with it goes to `words`,
    /// and the sample to `own`.
    pub(crate) fn read_blocked(
        &mut self,
        pid: u32,
        reading: Reading,
        blocked: Blocked,
        modules: &[Module<'_>],
        (words, own): (&mut Vec<u64>, &mut Vec<u64>),
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
            .read_with(pid, (at, head), modules, python, (words, own), wait);
        self.count(stack);
        stack
    }

    /// Reads a thread that the kernel has sampled a moment ago, and appends its sample to `words`. Returns whether
    /// its stack led out of the known modules. `waited` says for how long it has not been read.
    pub(crate) fn read_sampled(
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
        /// In a system call a thread often is where it was a moment ago, once more.
        const CALLING_TRIES: u32 = 8;
        // In a call of the kernel's it may be about to sleep, which nobody is to disturb.
        let is_calling = sample.in_kernel && {
            let registers = sample.registers.as_ref();
            registers.is_none_or(|(regs, _)| is_after_a_call(sample.pid, regs.ip))
        };
        // One whose CPU is ours now does not run, so it could only be held later.
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

    /// Reads the interpreter's frames of a thread that goes on meanwhile, for the native stack that the
    /// kernel has copied. What is told with it goes to `words`, and the sample is returned.
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
        let mut own = Vec::new();
        let stack = self.reader.read_with(
            sample.pid,
            (at, head),
            modules,
            python,
            (words, &mut own),
            |_| Vec::new(),
        );
        if !stack.is_torn {
            self.count(stack);
        }
        Some((stack, own))
    }

    /// A sample was recorded without its Python frames.
    pub(crate) fn count_unreadable(&mut self) {
        self.counts.torn += 1;
        self.counts.broken += 1;
    }

    /// Whether a thread was seen to run Python.
    pub(crate) fn runs_python(&self, tid: u32) -> bool {
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

/// Whether a thread is to be read by any means.
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
    }
}
