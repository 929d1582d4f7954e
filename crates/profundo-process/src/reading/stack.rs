//! One reading of one thread: both stacks, from one instant, as the words of a sample.

use profundo_linux::sys;
use profundo_probe::MAX_DEPTH;
use profundo_probe::python::{Merge, close, pair};
use profundo_probe::regs::of_blocked;
use profundo_probe::sample::wire_end;
use profundo_unwind::{
    General, Module, Modules, Observer, Regs, walk_observed, walk_without_frame_pointer,
};
use profundo_wire::{End, Gil, PythonEnd, PythonWord, SampleHead};

use super::blocked::{Activity, Blocked, activity};
use super::held::{Held, NotHeld, Registers};
use super::memory::{PageMemory, Wanted};
use super::python::{Found, Python};
use super::variables::{MOST_WHILE_BLOCKED, MOST_WHILE_HELD};

/// The number of readings of a thread that moves meanwhile.
const READINGS: usize = 3;

/// The place where a thread is read.
#[derive(Debug)]
pub enum At<'a> {
    /// It blocks here.
    Blocked(Blocked),
    /// The kernel has copied its registers and a piece of its stack here. The thread runs on.
    Copied {
        registers: Regs,
        general: &'a General,
        stack: &'a [u8],
        /// The kernel's part of its stack, innermost first.
        kernel: &'a [u64],
        /// The number of tries until the frames match the copy.
        tries: u32,
    },
}

/// The result of a reading, without the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stack {
    pub end: End,
    pub python_end: PythonEnd,
    /// Whether the interpreter's frames do not match the native ones, and were left out.
    pub is_torn: bool,
    /// Whether a native frame lies in no module.
    pub leads_out: bool,
    /// The time for which the thread was held, in nanoseconds.
    pub held: u64,
}

/// The thread of a reading.
#[derive(Debug)]
pub struct Subject<'a> {
    /// Its state and place.
    pub at: At<'a>,
    /// The head of its sample.
    pub head: SampleHead,
}

/// The output of a reading.
#[derive(Debug)]
pub struct ReadingWords<'a> {
    /// Records of new code objects and names.
    pub words: &'a mut Vec<u64>,
    /// The sample.
    pub sample: &'a mut Vec<u64>,
}

/// Reads the threads of one process.
#[derive(Debug, Default)]
pub struct Reader {
    memory: PageMemory,
    /// The pages that the last readings of each thread used.
    wanted: std::collections::HashMap<u32, Wanted>,
    python: Vec<u64>,
    native: Vec<u64>,
    records: Vec<u64>,
    /// The range of the stack that belongs to each native frame.
    places: Vec<(u64, u64)>,
}

impl Reader {
    /// The memory, for other readings of the process.
    pub fn memory(&mut self) -> &mut PageMemory {
        &mut self.memory
    }

    /// Forgets a thread that has ended.
    pub fn forget(&mut self, tid: u32) {
        self.wanted.remove(&tid);
    }

    /// Reads a thread, and appends its sample with `head` to `words`. If the thread moved
    /// meanwhile, the sample says so.
    pub fn read(
        &mut self,
        pid: u32,
        at: At<'_>,
        head: SampleHead,
        modules: &[Module<'_>],
        python: Option<&mut Python>,
        words: &mut Vec<u64>,
    ) -> Stack {
        let mut sample = Vec::new();
        let none = |_| Vec::new();
        let out = ReadingWords {
            words,
            sample: &mut sample,
        };
        let stack = self.read_with(pid, Subject { at, head }, modules, python, out, none);
        words.append(&mut sample);
        stack
    }

    /// Reads a thread, with the sample in words of its own: records before it may depend on the
    /// thread's relation to the interpreter's lock.
    pub fn read_with(
        &mut self,
        pid: u32,
        Subject { at, head }: Subject<'_>,
        modules: &[Module<'_>],
        mut python: Option<&mut Python>,
        out: ReadingWords<'_>,
        before: impl FnOnce(Gil) -> Vec<u64>,
    ) -> Stack {
        let mut wanted = self.wanted.remove(&head.tid).unwrap_or_default();
        self.memory.begin(pid, &mut wanted);
        let modules = Modules::new(modules);
        let mut stack;
        let mut sample;
        match at {
            At::Copied {
                registers,
                general,
                stack: copy,
                kernel,
                tries,
            } => {
                let place = Place {
                    registers,
                    general: Some(general),
                    all: &[],
                    lock: None,
                    is_moving: true,
                };
                self.memory.lay_over(registers.sp, copy);
                (sample, stack) = self.once(head, place, &modules, python.as_deref_mut());
                let loops = self.loops(python.as_deref());
                if !(self.python.is_empty() && loops.is_empty())
                    || stack.python_end != PythonEnd::Whole
                {
                    let mut left = tries.max(1);
                    loop {
                        (sample, stack) = self.read_doubtful(
                            head,
                            place,
                            copy,
                            &mut wanted,
                            &modules,
                            python.as_deref_mut(),
                        );
                        left -= 1;
                        if !stack.is_torn || left == 0 {
                            break;
                        }
                    }
                    if stack.is_torn {
                        self.python.clear();
                        sample.python_end = PythonEnd::Broken;
                        sample.task = 0;
                        stack.python_end = PythonEnd::Broken;
                    }
                }
                self.put_above(kernel);
            }
            At::Blocked(mut blocked) => {
                let mut left = READINGS;
                loop {
                    let place = Place {
                        registers: of_blocked(blocked.sp, blocked.ip),
                        general: None,
                        all: &[],
                        lock: (blocked.call == libc::SYS_futex).then_some(blocked.arguments[0]),
                        is_moving: false,
                    };
                    (sample, stack) = self.once(head, place, &modules, python.as_deref_mut());
                    left -= 1;
                    match activity(pid, head.tid) {
                        Activity::Blocked(now) if now == blocked => {
                            match read_variables(
                                pid,
                                head.tid,
                                &blocked,
                                &mut self.memory,
                                python.as_deref_mut(),
                            ) {
                                Some(now) if left > 0 => blocked = now,
                                _ => break,
                            }
                        }
                        Activity::Blocked(now) if left > 0 => blocked = now,
                        _ => {
                            // It moved all the time, so the stack may be torn.
                            self.native.truncate(1);
                            self.python.clear();
                            sample.end = End::Gone;
                            stack.end = End::Gone;
                            break;
                        }
                    }
                    self.memory.read_again(&mut wanted);
                }
            }
        }
        self.memory.note(&mut wanted);
        self.wanted.insert(head.tid, wanted);
        if sample.end != End::Gone {
            out.sample.extend(before(sample.gil));
        }
        self.append(sample, out);
        stack
    }

    /// Reads a running thread: it is held while the memory that its stack probably needs is copied.
    /// If more is needed, it is held again, until all has been read.
    pub fn read_held(
        &mut self,
        pid: u32,
        mut hold: impl FnMut() -> Result<Held, NotHeld>,
        head: SampleHead,
        modules: &[Module<'_>],
        mut python: Option<&mut Python>,
        words: &mut Vec<u64>,
    ) -> Result<Stack, NotHeld> {
        let modules = Modules::new(modules);
        let mut nanoseconds = 0;
        let mut found = None;
        let keeps_variables = (python.as_ref()).is_some_and(|python| python.keeps_variables());
        let wanted = self.wanted.get(&head.tid).cloned();
        // Variables lie on pages that no earlier reading shows.
        if let Some(mut wanted) = wanted.filter(|_| !keeps_variables) {
            let held = hold()?;
            self.memory.begin(pid, &mut wanted);
            self.memory.close();
            let registers = held.registers.clone();
            nanoseconds += held.resume();
            let place = Place::of(&registers);
            let read = self.once(head, place, &modules, python.as_deref_mut());
            self.memory.note(&mut wanted);
            self.wanted.insert(head.tid, wanted);
            found = (!self.memory.is_short()).then_some(read);
        }
        let (sample, mut stack) = match found {
            Some(found) => found,
            None => {
                let held = hold()?;
                let wanted = self.wanted.entry(head.tid).or_default();
                self.memory.begin(pid, wanted);
                let place = Place::of(&held.registers);
                let read = self.once(head, place, &modules, python.as_deref_mut());
                if let Some(python) = python {
                    python.read_variables(&mut self.memory, MOST_WHILE_HELD);
                }
                nanoseconds += held.resume();
                self.memory.note(self.wanted.entry(head.tid).or_default());
                read
            }
        };
        stack.held = nanoseconds;
        let mut sample_words = Vec::new();
        let out = ReadingWords {
            words,
            sample: &mut sample_words,
        };
        self.append(sample, out);
        words.append(&mut sample_words);
        Ok(stack)
    }

    /// Puts the kernel's frames above the program's.
    fn put_above(&mut self, kernel: &[u64]) {
        // No stack of a program takes all of the room.
        let above = kernel.get(..MAX_DEPTH / 2).unwrap_or(kernel);
        if above.is_empty() {
            return;
        }
        self.native.truncate(MAX_DEPTH - above.len());
        if let Some(leaf) = self.native.first_mut() {
            // It is a caller now, and callers are looked up one byte before.
            *leaf += 1;
        }
        self.native.splice(..0, above.iter().copied());
        for word in &mut self.python {
            if let PythonWord::Entry { native: Some(at) } = PythonWord::from_word(*word) {
                let moved = usize::from(at) + above.len();
                let native = u16::try_from(moved)
                    .ok()
                    .filter(|_| moved < self.native.len());
                *word = PythonWord::Entry { native }.to_word();
            }
        }
    }

    /// Appends the new records, and the sample.
    fn append(&mut self, mut sample: SampleHead, out: ReadingWords<'_>) {
        out.words.append(&mut self.records);
        sample.frames = self.native.len() as u16;
        sample.python = self.python.len() as u16;
        out.sample.extend(sample.to_words());
        out.sample.extend_from_slice(&self.native);
        out.sample.extend_from_slice(&self.python);
    }

    /// Reads again, and compares the native stack with the interpreter's frames, which are of a
    /// later instant. The frames are used only if a second reading is the same, and if each of
    /// their runs has its native frame.
    fn read_doubtful(
        &mut self,
        head: SampleHead,
        place: Place<'_>,
        copy: &[u8],
        wanted: &mut Wanted,
        modules: &Modules<'_>,
        mut python: Option<&mut Python>,
    ) -> (SampleHead, Stack) {
        let before = self.python.clone();
        self.memory.read_again(wanted);
        self.memory.lay_over(place.registers.sp, copy);
        let (sample, mut stack) = self.once(head, place, modules, python.as_deref_mut());
        let loops = self.loops(python.as_deref());
        let ends = Ends {
            native: sample.end,
            python: stack.python_end,
        };
        let fits = fits(&self.python, ends, &loops);
        let stays = self.stays(copy, place.registers.sp);
        // A stack that was truncated because it is deep counts as whole.
        let is_broken = stack.python_end == PythonEnd::Broken;
        stack.is_torn = self.python != before || !fits || !stays || is_broken;
        (sample, stack)
    }

    /// The indices of the native frames of the evaluation loop.
    fn loops(&self, python: Option<&Python>) -> Vec<usize> {
        let Some(python) = python else {
            return Vec::new();
        };
        let ranges = &python.interpreter.evaluation;
        let is_loop = |&(index, address): &(usize, &u64)| {
            // All but the first are return addresses.
            ranges.hold(address.wrapping_sub(u64::from(index > 0)))
        };
        let native = self.native.iter().enumerate();
        native.filter(is_loop).map(|(index, _)| index).collect()
    }

    /// Whether the innermost run of the evaluation loop still is in the call that it was in when
    /// the stack was copied: if it moved on, its part of the stack has changed. A run that was in
    /// no call has only moved to another instant, whose frames are right.
    fn stays(&self, copy: &[u8], start: u64) -> bool {
        let entries = self.python.iter().map(|&word| PythonWord::from_word(word));
        let innermost = entries.into_iter().find_map(|word| match word {
            PythonWord::Entry { native } => Some(native),
            PythonWord::Frame { .. } => None,
        });
        let Some(Some(index @ 1..)) = innermost else {
            return true;
        };
        let Some(&(sp, cfa)) = self.places.get(usize::from(index)) else {
            return false;
        };
        // From the return address of its callee.
        let first = sp.wrapping_sub(8);
        let range = |address: u64| usize::try_from(address.checked_sub(start)?).ok();
        let Some(then) = range(first)
            .zip(range(cfa))
            .and_then(|(from, to)| copy.get(from..to))
        else {
            return false;
        };
        let mut now = vec![0; then.len()];
        sys::read_memory(self.memory.pid(), first, &mut now) == now.len() && now == then
    }

    fn once(
        &mut self,
        head: SampleHead,
        place: Place<'_>,
        modules: &Modules<'_>,
        python: Option<&mut Python>,
    ) -> (SampleHead, Stack) {
        self.python.clear();
        let mut sample = head;
        let mut ranges = None;
        if let Some(python) = python {
            let found = Found {
                registers: place.registers,
                all: place.all,
                lock: place.lock,
                is_moving: place.is_moving,
                now: sys::nanoseconds(libc::CLOCK_MONOTONIC),
            };
            let (frames, records) = (&mut self.python, &mut self.records);
            // The frames are all of this instant: some of their links lie on the native stack, and
            // with those of the copied instant they would make a chain that never was.
            let walked = self
                .memory
                .without_copy(|memory| python.walk(memory, &head, found, frames, records));
            sample.python_end = walked.end;
            sample.gil = walked.gil;
            sample.task = walked.task;
            let interpreter = &python.interpreter;
            ranges = Some((interpreter.layout.frame.owner == 0, interpreter.evaluation));
        }
        self.places.clear();
        let mut merge = MergeWithPlaces {
            merge: Merge::new(&mut self.python),
            places: &mut self.places,
        };
        self.native.clear();
        self.native.resize(MAX_DEPTH, 0);
        let (memory, out) = (&mut self.memory, &mut self.native[..]);
        let (depth, end) = match place.general {
            Some(general) => walk_observed(
                place.registers,
                general,
                modules,
                None,
                memory,
                out,
                &mut merge,
            ),
            None => walk_without_frame_pointer(place.registers, modules, memory, out, &mut merge),
        };
        sample.end = wire_end(end);
        self.native.truncate(depth);
        match ranges {
            Some((true, ranges)) => {
                let is_whole = sample.end == End::Root && sample.python_end == PythonEnd::Whole;
                pair(&mut self.python, &self.native, &ranges, is_whole);
            }
            Some((false, ranges)) => {
                merge.merge.finish();
                close(&mut self.python, &self.native, &ranges);
            }
            None => merge.merge.finish(),
        }
        let stack = Stack {
            end: sample.end,
            python_end: sample.python_end,
            is_torn: false,
            held: 0,
            leads_out: self
                .native
                .iter()
                .any(|&address| modules.find(address).is_none()),
        };
        (sample, stack)
    }
}

/// Reads the variables of a blocked thread's frames, if they are wanted. If the thread went on
/// meanwhile, they are forgotten; returns where it blocks then, if it does.
fn read_variables(
    pid: u32,
    tid: u32,
    blocked: &Blocked,
    memory: &mut PageMemory,
    python: Option<&mut Python>,
) -> Option<Blocked> {
    let python = python.filter(|python| python.keeps_variables())?;
    python.read_variables(memory, MOST_WHILE_BLOCKED);
    match activity(pid, tid) {
        Activity::Blocked(now) if now == *blocked => None,
        now => {
            python.forget_variables();
            match now {
                Activity::Blocked(now) => Some(now),
                _ => None,
            }
        }
    }
}

/// A walk that notes the ranges of the frames.
struct MergeWithPlaces<'a> {
    merge: Merge<'a>,
    places: &'a mut Vec<(u64, u64)>,
}

impl Observer for MergeWithPlaces<'_> {
    fn frame(&mut self, index: usize, address: u64, sp: u64, cfa: u64) {
        self.merge.frame(index, address, sp, cfa);
        // Frames are adjacent.
        self.places.push((sp, cfa));
    }
}

/// The ends of the two walks of a reading.
#[derive(Debug, Clone, Copy)]
struct Ends {
    native: End,
    python: PythonEnd,
}

/// Whether each run of the evaluation loop has its native frame, and nearly each native frame of
/// the loop a run: the innermost may just be beginning or ending. Where the native walk ended
/// early, the outer runs may have their frames beyond its end. Where the interpreter's walk ended
/// early, native frames further out than the last run belong to runs that were not read. `loops`
/// are the indices of the native frames of the loop.
fn fits(python: &[u64], ends: Ends, loops: &[usize]) -> bool {
    let mut entries = python
        .iter()
        .filter_map(|&word| match PythonWord::from_word(word) {
            PythonWord::Entry { native } => Some(native),
            PythonWord::Frame { .. } => None,
        });
    let found = entries.clone().flatten().count();
    let outermost = entries.clone().flatten().max().map(usize::from);
    let is_read = |&&index: &&usize| match ends.python {
        PythonEnd::Truncated => outermost.is_some_and(|outermost| index <= outermost),
        _ => true,
    };
    if loops.iter().filter(is_read).count() > found + 1 {
        return false;
    }
    // A loop that has called something has begun.
    if found == 0 && loops.iter().any(|&index| index > 0) {
        return false;
    }
    match ends.native {
        End::Root => entries.all(|native| native.is_some()),
        // No run with a frame may follow one without.
        _ => !entries
            .skip_while(|native| native.is_some())
            .any(|native| native.is_some()),
    }
}

/// The start of a walk.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    registers: Regs,
    /// Of a held thread only.
    general: Option<&'a General>,
    all: &'a [u64],
    lock: Option<u64>,
    is_moving: bool,
}

impl<'a> Place<'a> {
    /// The place where a held thread was stopped.
    fn of(registers: &'a Registers) -> Self {
        Self {
            registers: registers.place,
            general: Some(&registers.general),
            all: &registers.all,
            lock: None,
            is_moving: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(native: impl Into<Option<u16>>) -> u64 {
        let native = native.into();
        PythonWord::Entry { native }.to_word()
    }

    #[test]
    fn the_kernels_frames_stand_above_and_entries_move_with_their_frames() {
        let mut reader = Reader {
            native: vec![10, 20, 30],
            python: vec![entry(1), entry(None)],
            ..Reader::default()
        };
        reader.put_above(&[]);
        assert_eq!(reader.native, [10, 20, 30]);
        reader.put_above(&[1, 2]);
        assert_eq!(reader.native, [1, 2, 11, 20, 30]);
        assert_eq!(reader.python, [entry(3), entry(None)]);
        // The outermost frames make room.
        reader.native.resize(MAX_DEPTH, 7);
        reader.python = vec![entry(MAX_DEPTH as u16 - 1)];
        reader.put_above(&[1]);
        assert_eq!(
            (reader.native.len(), reader.python[0]),
            (MAX_DEPTH, entry(None))
        );
    }

    fn ends(native: End, python: PythonEnd) -> Ends {
        Ends { native, python }
    }

    #[test]
    fn runs_and_loops_go_together() {
        let frame = PythonWord::Frame {
            code: 1,
            offset: 0,
            is_call: false,
        };
        let frame = frame.to_word();
        let both = [frame, entry(0), frame, frame, entry(3)];
        let root = ends(End::Root, PythonEnd::Whole);
        let cut = ends(End::Truncated, PythonEnd::Whole);
        assert!(fits(&both, root, &[0, 3]));
        assert!(fits(&both, root, &[0, 1, 3]), "one is being entered");
        assert!(!fits(&both, root, &[0, 1, 2, 3]), "two have no run");
        let lost = [frame, entry(0), frame, entry(None)];
        assert!(!fits(&lost, root, &[0]));
        assert!(fits(&lost, cut, &[0]), "it may be further out");
        let inner = [frame, entry(None), frame, entry(3)];
        assert!(!fits(&inner, cut, &[3]));
        // A generator that was suspended when it was read leads nowhere.
        assert!(!fits(&[frame, entry(0)], root, &[0, 2, 4, 6, 8]));
        assert!(fits(&[], root, &[0]));
        assert!(!fits(&[], root, &[2]), "it has called something");
    }

    #[test]
    fn loops_beyond_a_cut_have_runs_that_were_not_read() {
        let frame = PythonWord::Frame {
            code: 1,
            offset: 0,
            is_call: true,
        };
        let frame = frame.to_word();
        let python = [frame, entry(0), frame, entry(2)];
        let loops = [0, 2, 4, 6, 8, 10];
        for end in [End::Root, End::Truncated] {
            assert!(fits(&python, ends(end, PythonEnd::Truncated), &loops));
            assert!(!fits(&python, ends(end, PythonEnd::Whole), &loops));
        }
        // The parts that were read match nevertheless.
        let apart = [frame, entry(0), frame, entry(8)];
        assert!(!fits(
            &apart,
            ends(End::Truncated, PythonEnd::Truncated),
            &loops
        ));
        let lost = [frame, entry(0), frame, entry(None)];
        assert!(!fits(&lost, ends(End::Root, PythonEnd::Truncated), &loops));
    }
}
