//! Elapsed time: at each tick one thread or task is picked at random, wherever it is.
//!
//! A blocked thread is read where it blocks, without waking it: the kernel reports its stack
//! pointer and instruction in `/proc/self/task/T/syscall`. A running thread is only *asked*: its
//! CPU clock, which ticks in user code alone, takes the sample at its next tick. No signal is ever
//! sent to a thread that might be about to sleep, so no call of the program fails with EINTR.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use profundo_linux::random::Random;
use profundo_probe::sample::wire_end;
use profundo_probe::{
    Event, MAX_DEPTH, Probe, Slot, Subject, SystemCall, Writer, clock, regs, sys,
};
use profundo_unwind::{Memory, walk_without_frame_pointer};
use profundo_wire::{End, State};

use crate::task::{self, Picked};
use crate::{probe, proc};

/// Julia's number of tries to find a task that has not finished.
const ATTEMPTS: usize = 4;
/// The interval of refreshes of the list of threads.
const LOOK: Duration = Duration::from_millis(10);
/// The number of tries for a thread that moves while it is read.
const WALKS: usize = 3;
/// The bytes of a blocked thread's stack that are copied at once.
const STACK_COPY: usize = 32 << 10;

/// The state of the wall-clock helper.
#[derive(Debug)]
pub(crate) struct WallSampler {
    threads: Vec<u32>,
    random: Random,
    delay: Duration,
    next_sample: Instant,
    next_look: Instant,
    last_sample: Option<Instant>,
    writer: Writer,
    /// The last blocked place of each thread. One that has not run since is still there.
    known: HashMap<u32, Known>,
    /// Whether threads could not be looked at.
    is_blind: bool,
    stack: Vec<u8>,
}

/// A blocked thread's stack, leaf first.
#[derive(Debug)]
struct Known {
    blocked: Blocked,
    stack: Vec<u64>,
    end: End,
}

/// The place where a thread blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blocked {
    /// The system call's number.
    call: i64,
    /// Its stack pointer and instruction.
    sp: u64,
    ip: u64,
    /// The number of times that it had been given a CPU.
    turns: Option<u64>,
}

impl WallSampler {
    pub(crate) fn new(delay: Duration) -> Self {
        Self {
            delay,
            next_sample: Instant::now(),
            writer: Writer::default(),
            known: HashMap::new(),
            is_blind: false,
            threads: Vec::new(),
            random: Random::begin(),
            next_look: Instant::now(),
            last_sample: None,
            stack: vec![0; STACK_COPY],
        }
    }

    pub(crate) fn set_threads(&mut self, tids: Vec<u32>) {
        self.known.retain(|tid, _| tids.contains(tid));
        self.threads = tids;
    }

    pub(crate) fn is_time_to_look(&mut self, now: Instant) -> bool {
        let due = now >= self.next_look;
        if due {
            self.next_look = now + LOOK;
        }
        due
    }

    /// Samples one thread or task, if it is time.
    pub(crate) fn tick(&mut self, probe: &Probe) {
        let now = Instant::now();
        if now < self.next_sample {
            return;
        }
        self.next_sample = (self.next_sample + self.delay).max(now);
        let weight = self
            .last_sample
            .replace(now)
            .map_or(0, |last| (now - last).as_nanos() as u64);
        if weight == 0 {
            return;
        }
        for _ in 0..ATTEMPTS {
            let tasks = task::living();
            let position = self.random.below((self.threads.len() + tasks) as u64) as usize;
            let done = match self.threads.get(position) {
                Some(&tid) => self.sample_thread(probe, tid, weight),
                None => self.sample_task(probe, position - self.threads.len(), weight),
            };
            if done {
                return;
            }
        }
        let nobody = Subject::default();
        self.record(probe, nobody, weight, |_| (0, End::NoTask));
    }

    /// Returns false if the thread has ended.
    fn sample_thread(&mut self, probe: &Probe, tid: u32, weight: u64) -> bool {
        match state_of(tid) {
            ThreadState::Ended => false,
            ThreadState::Hidden => {
                self.is_blind = true;
                let subject = subject_of(probe.threads.find(tid), tid);
                self.record(probe, subject, weight, |_| (0, End::Gone));
                true
            }
            ThreadState::Running => {
                if let Some(slot) = probe.threads.find(tid) {
                    slot.want(weight);
                }
                true
            }
            ThreadState::Blocked(blocked) => {
                let Some(slot) = probe.threads.find(tid) else {
                    return true;
                };
                // It was asked while it ran and went to sleep before it could answer: this is the
                // answer.
                let asked = slot.take_wanted();
                let subject = subject_of(Some(slot), tid);
                let known = match self.known.remove(&tid) {
                    Some(known) if known.blocked == blocked && blocked.turns.is_some() => known,
                    _ => self.read_blocked(probe, tid, blocked),
                };
                self.record(probe, subject, weight + asked, |out| {
                    let depth = known.stack.len().min(out.len());
                    out[..depth].copy_from_slice(&known.stack[..depth]);
                    let is_cut = depth < known.stack.len();
                    (depth, if is_cut { End::Truncated } else { known.end })
                });
                if known.end != End::Gone {
                    self.known.insert(tid, known);
                }
                true
            }
        }
    }

    fn read_blocked(&mut self, probe: &Probe, tid: u32, blocked: Blocked) -> Known {
        let mut out = vec![0; MAX_DEPTH];
        let (depth, end) = walk_blocked(probe, tid, &blocked, &mut self.stack, &mut out);
        out.truncate(depth);
        out.shrink_to_fit();
        Known {
            blocked,
            stack: out,
            end,
        }
    }

    /// Returns false if the task has ended.
    fn sample_task(&mut self, probe: &Probe, position: usize, weight: u64) -> bool {
        match task::pick(position) {
            None => false,
            Some(Picked::Running { tid }) => self.sample_thread(probe, tid, weight),
            Some(Picked::Parked { number, park, span }) => {
                let parked = Subject {
                    task: number,
                    span,
                    ..Subject::default()
                };
                self.record(probe, parked, weight, |out| {
                    let Some(park) = park.as_ref().filter(|park| !park.stack.is_empty()) else {
                        return (0, End::ParkedBeforeSession);
                    };
                    let depth = park.stack.len().min(out.len());
                    out[..depth].copy_from_slice(&park.stack[..depth]);
                    let is_cut = depth < park.stack.len();
                    (depth, if is_cut { End::Truncated } else { park.end })
                });
                true
            }
        }
    }

    /// Whether some thread could not be looked at, which is to be reported once.
    pub(crate) fn has_gone_blind(&mut self) -> bool {
        std::mem::take(&mut self.is_blind)
    }

    /// Writes a sample on behalf of another thread, or of a parked task.
    fn record(
        &mut self,
        probe: &Probe,
        subject: Subject,
        weight: u64,
        walk: impl FnMut(&mut [u64]) -> (usize, End),
    ) {
        let state = State::WallWaiting;
        let event = Event {
            weight,
            state,
            tag: 0,
            system_call: SystemCall::Never,
            only_if_wanted: false,
        };
        probe.record_for(&mut self.writer, subject, event, clock::now(), walk);
    }
}

/// The thread with this slot, with its task and its span.
fn subject_of(slot: Option<&Slot>, tid: u32) -> Subject {
    Subject {
        thread: slot.map_or(0, Slot::number),
        tid,
        task: slot.map_or(0, Slot::task),
        span: slot.map_or(0, Slot::span),
    }
}

/// The state of a thread.
#[derive(Debug)]
pub(crate) enum ThreadState {
    Running,
    Blocked(Blocked),
    Ended,
    /// The kernel does not permit a look.
    Hidden,
}

/// The state of a thread, read without touching it.
pub(crate) fn state_of(tid: u32) -> ThreadState {
    let text = match read(tid, "syscall") {
        Ok(text) => text,
        Err(error) => match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM | libc::EMFILE | libc::ENFILE) => {
                return ThreadState::Hidden;
            }
            _ => return ThreadState::Ended,
        },
    };
    match parse(&text) {
        Some((call, sp, ip)) => ThreadState::Blocked(Blocked {
            call,
            sp,
            ip,
            turns: turns(tid),
        }),
        None if text.is_empty() && !proc::is_alive(tid) => ThreadState::Ended,
        None => ThreadState::Running,
    }
}

/// A small file of a thread.
pub(crate) fn read(tid: u32, name: &str) -> std::io::Result<String> {
    let file = File::open(format!("/proc/self/task/{tid}/{name}"))?;
    let mut text = [0; 256];
    let length = file.read_at(&mut text, 0)?;
    Ok(String::from_utf8_lossy(&text[..length]).into_owned())
}

/// The number of times that the thread has been given a CPU, where the kernel counts it: a thread
/// that ran in between and blocks at the same place again has a higher number.
pub(crate) fn turns(tid: u32) -> Option<u64> {
    let text = read(tid, "schedstat").ok()?;
    text.split_ascii_whitespace().nth(2)?.parse().ok()
}

/// `nr a b c d e f sp pc`, or `-1 sp pc` outside a system call, or `running`.
pub(crate) fn parse(line: &str) -> Option<(i64, u64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let call = words.next()?.parse().ok()?;
    let hex = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let ip = hex(words.next_back()?)?;
    let sp = hex(words.next_back()?)?;
    (sp != 0 && ip != 0).then_some((call, sp, ip))
}

/// Walks a blocked thread's stack. If it moved meanwhile, the copy may be torn: then only the place
/// where it blocks is kept.
fn walk_blocked(
    probe: &Probe,
    tid: u32,
    blocked: &Blocked,
    copy: &mut [u8],
    out: &mut [u64],
) -> (usize, End) {
    let limit = out.len().min(MAX_DEPTH);
    let out = &mut out[..limit];
    let mut blocked = blocked.clone();
    let mut depth = 0;
    for _ in 0..WALKS {
        let copied = sys::copy_checked(blocked.sp, copy);
        let mut memory = Copied::new(blocked.sp, &copy[..copied]);
        let registers = regs::of_blocked(blocked.sp, blocked.ip);
        let end;
        (depth, end) = probe.code.with(|listing| {
            walk_without_frame_pointer(registers, &listing.modules, &mut memory, out, &mut ())
        });
        match state_of(tid) {
            ThreadState::Blocked(now) if now == blocked => return (depth, wire_end(end)),
            ThreadState::Blocked(now) => blocked = now,
            _ => break,
        }
    }
    (depth.min(1), End::Gone)
}

/// A copy of the upper end of a stack. Other memory, code mostly, is copied in pieces, because a
/// search for calls reads it byte by byte.
struct Copied<'a> {
    start: u64,
    bytes: &'a [u8],
    pieces: [Piece; PIECES],
}

const PIECES: usize = 4;
const PIECE: usize = 512;

#[derive(Clone, Copy)]
struct Piece {
    start: u64,
    length: usize,
    bytes: [u8; PIECE],
}

impl<'a> Copied<'a> {
    fn new(start: u64, bytes: &'a [u8]) -> Self {
        const NONE: Piece = Piece {
            start: u64::MAX,
            length: 0,
            bytes: [0; PIECE],
        };
        Self {
            start,
            bytes,
            pieces: [NONE; PIECES],
        }
    }
}

/// The word at an address, if it lies in `bytes`, which were copied from `start`.
fn word_in(bytes: &[u8], start: u64, address: u64) -> Option<u64> {
    let offset = usize::try_from(address.wrapping_sub(start)).ok()?;
    let word = bytes.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_ne_bytes(word.try_into().ok()?))
}

impl Memory for Copied<'_> {
    fn read(&mut self, address: u64) -> Option<u64> {
        if let Some(word) = word_in(self.bytes, self.start, address) {
            return Some(word);
        }
        let start = address & !(PIECE as u64 - 1);
        let piece = &mut self.pieces[(start as usize / PIECE) % PIECES];
        if piece.start != start {
            piece.start = start;
            piece.length = sys::copy_checked(start, &mut piece.bytes);
        }
        if let Some(word) = word_in(&piece.bytes[..piece.length], start, address) {
            return Some(word);
        }
        // It crosses the end of the piece, or of the readable memory.
        let mut word = [0; 8];
        (sys::copy_checked(address, &mut word) == 8).then(|| u64::from_ne_bytes(word))
    }
}

/// The stack of a blocked thread, leaf first. `None` if it runs or has ended.
pub(crate) fn blocked_stack(tid: u32) -> Option<Vec<u64>> {
    let probe = probe::probe()?;
    let ThreadState::Blocked(blocked) = state_of(tid) else {
        return None;
    };
    let mut out = vec![0; MAX_DEPTH];
    let (depth, _) = walk_blocked(probe, tid, &blocked, &mut vec![0; STACK_COPY], &mut out);
    out.truncate(depth);
    Some(out)
}
