//! A copy of a native program all of whose blocks are known, made in one instant: all its threads are held, one of them is
//! borrowed for the system call that copies the process, and all go on.
//!
//! Nothing runs in the copy but the call that closes its files: it is held from its first instant on. Let go, as by our
//! own end, it ends by itself (see [`Borrowed::copy`]).
//!
//! The words that say where blocks are come to no child of the program's, which counts for itself. For the copy they do, for the
//! moment of the call; but what leads to them does not, so that a child made meanwhile, by whomever, finds none. That part is
//! read while all threads are held.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use profundo_probe::heap::seen::{SHADOW_BYTES, Words, each_leaf_seen, each_seen};
use profundo_scan::{Area, Block, Freed, Memory, Range, Unread, areas, chunks, map_lines};

use super::borrowed::{Borrowed, ask};
use super::copy::child_of;
use super::program::Program;
use super::safe_point::{Instructions, Places};
use super::{ROOM, Refused, borrow, failed, has_own_filter, headroom, map};
use crate::permits::may_be_read;
use crate::reading::{Held, Registers, Stop, Stopper, wait_for_stop};
use crate::session::{Counted, Noted, Remains, find_counted, lacks_agent};
use crate::{proc, sys};

use std::os::unix::ffi::OsStrExt;

/// The kernel's words for memory that comes to no child, and that comes to all of them.
const WIPE_ON_FORK: u64 = libc::MADV_WIPEONFORK as u64;
const KEEP_ON_FORK: u64 = libc::MADV_KEEPONFORK as u64;

/// More than any process has, and longer than anybody waits.
const ALL: u64 = u64::MAX;
const LONGEST: Duration = Duration::from_secs(3600);

/// A thread as it was when the copy was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeThread {
    /// The kernel's number of it.
    pub tid: u32,
    /// What it is called.
    pub name: String,
    /// Its stack pointer; `None` if it could not be held.
    pub stack: Option<u64>,
    /// Its registers by name.
    pub registers: Vec<(&'static str, u64)>,
}

/// A copy of a native program. It ends when this is dropped.
#[derive(Debug)]
pub struct Native {
    pid: u32,
    program: Program,
    places: Places,
    instructions: Instructions,
    /// Memory of ours in the program.
    room: u64,
    /// The copy, as the program numbers it and as we do.
    number: i64,
    copy: u32,
    /// What those that record are told of it.
    noted: Option<Noted>,
    counted: Counted,
    leading: Leading,
    memory: Option<[Memory; 2]>,
    /// What there is in it but what is ours, in the order of the addresses.
    pub areas: Vec<Area>,
    /// Its threads.
    pub threads: Vec<NativeThread>,
    /// For how long the program was held up.
    pub pause: Duration,
}

/// What leads to the words of blocks, from where it lies in the program, and where those words are.
#[derive(Debug, Default)]
struct Leading {
    words: BTreeMap<u64, Vec<u64>>,
    leaves: Vec<Range>,
    own: Vec<Range>,
}

impl Native {
    /// Copies a program, if its blocks are known. `filtered`: even if it restricts its system calls.
    pub fn copy(pid: u32, filtered: bool) -> Result<Self, Refused> {
        may_be_read(pid).map_err(Refused::Machine)?;
        let program = Program::of(pid).ok_or(Refused::Gone)?;
        if program.is_stopped() {
            return Err(Refused::Stopped);
        }
        let counted = find_counted(pid).ok_or_else(|| match lacks_agent(pid) {
            true => Refused::Agentless,
            false => Refused::Uncounted,
        })?;
        if !filtered && has_own_filter(pid) {
            return Err(Refused::Filtered);
        }
        if let Some((wanted, there)) = headroom::lacking(pid) {
            return Err(Refused::Headroom { wanted, there });
        }
        let places = Places::of(pid)?;
        let instructions = places.instructions().ok_or(Refused::Static)?;
        let mut native = Self {
            pid,
            program,
            places,
            instructions,
            room: 0,
            number: 0,
            copy: 0,
            noted: None,
            counted,
            leading: Leading::default(),
            memory: None,
            areas: Vec::new(),
            threads: Vec::new(),
            pause: Duration::ZERO,
        };
        native.make()?;
        native.look_around()?;
        Ok(native)
    }

    /// Holds all threads, and makes the copy.
    fn make(&mut self) -> Result<(), Refused> {
        let target = (&self.program, self.instructions);
        let (mut thread, since) = borrow(self.pid, target, &mut self.places)?;
        self.room = map(&mut thread, ROOM)?;
        thread.put_frame(self.room + ROOM)?;
        let mut stopper = Stopper::default();
        stopper.has_some_patience = true;
        let others = hold_others(self.pid, thread.tid(), &mut stopper);
        self.leading = Leading::of(self.pid, &self.counted)?;
        let began = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let made = copy_with(&mut thread, self.room + ROOM / 2, &self.leading.leaves);
        self.note_threads(&thread, &others);
        // It is held, whatever becomes of the others.
        drop(others);
        drop(stopper);
        drop(thread);
        self.pause = since.elapsed();
        self.number = made?;
        let copy = child_of(self.pid, self.number as i32).ok_or(Refused::CopyGone)?;
        self.copy = copy;
        self.noted = Some(Noted::copy(copy, began));
        Ok(())
    }

    fn note_threads(&mut self, thread: &Borrowed, others: &[Held]) {
        let mut known: Vec<(u32, &Registers)> = others
            .iter()
            .map(|it| (it.tid() as u32, &it.registers))
            .collect();
        known.push((thread.tid() as u32, thread.registers()));
        let find = |tid| known.iter().find(|it| it.0 == tid).map(|it| it.1);
        let threads = proc::threads(self.pid).into_iter().map(|tid| {
            let registers = find(tid);
            NativeThread {
                tid,
                name: proc::thread_name(self.pid, tid),
                stack: registers.map(|it| it.place.sp),
                registers: registers.map(named).unwrap_or_default(),
            }
        });
        self.threads = threads.collect();
    }

    /// Has the copy close its files, and looks what there is in it.
    fn look_around(&mut self) -> Result<(), Refused> {
        const PATIENCE: Duration = Duration::from_secs(10);
        /// Into the end of a handler and out of it, and into the call that closes files and out of that.
        const STEPS: usize = 4;
        let copy = self.copy;
        let tid = copy as i32;
        let is_held = || matches!(wait_for_stop(tid, PATIENCE), Some(Stop::Held { signal: _ }));
        if !is_held() {
            return Err(Refused::CopyGone);
        }
        let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL;
        ask(tid, libc::PTRACE_SETOPTIONS, 0, options as usize)?;
        // Where memory runs out, the copy is the first to go. Not every system lets us say so.
        let _ = std::fs::write(format!("/proc/{copy}/oom_score_adj"), "1000");
        for _ in 0..STEPS {
            ask(tid, libc::PTRACE_SYSCALL, 0, 0)?;
            if !is_held() {
                return Err(Refused::CopyGone);
            }
        }
        let maps = proc::read(copy, "maps");
        let stacks: Vec<u64> = self.threads.iter().filter_map(|it| it.stack).collect();
        let mut own = self.leading.own.clone();
        own.push((self.room, self.room + ROOM));
        own.sort_unstable();
        let agents = map_lines(&maps).map(|(_, line)| line.plain_path());
        let agent = agents.into_iter().find(|path| is_agent(path));
        let session = self.counted.session.as_os_str().as_bytes();
        let ours = [session, agent.unwrap_or(session)];
        self.areas = areas(&maps, &own, &stacks, &ours);
        let until = Instant::now() + LONGEST;
        self.memory = Some([
            Memory::open(copy, until, ALL),
            Memory::open(copy, until, ALL).with_pages_of(self.pid),
        ]);
        Ok(())
    }

    /// Whether it is the child of a fork: then the blocks that it has from its parent are not known.
    pub fn is_forked(&self) -> bool {
        self.counted.is_forked
    }

    /// The file that the program is recorded into, if it is into one.
    pub fn recording(&self) -> Option<PathBuf> {
        Remains::read(self.counted.session.clone()).map(|remains| remains.recording)
    }

    /// Its blocks, each with the number of the stack that it was allocated on (0: of those that have none), and where blocks
    /// were that are free.
    pub fn blocks(&mut self) -> Result<(Vec<Block>, Vec<Freed>), Refused> {
        let Some([memory, _]) = &mut self.memory else {
            return Err(Refused::CopyGone);
        };
        let (mut blocks, mut freed) = (Vec::new(), Vec::new());
        let hole = |(start, end), is_doubtful| Freed {
            start,
            end,
            is_doubtful,
        };
        let mut words = Joined {
            leading: &self.leading,
            memory,
        };
        let is_whole = each_seen(self.counted.shadow, &mut words, &mut |seen| {
            let range = (seen.address, seen.address.saturating_add(seen.size));
            match seen.site {
                Some(whose) => blocks.push(Block {
                    start: seen.address,
                    size: seen.size,
                    whose,
                }),
                None => freed.push(hole(range, true)),
            }
        });
        if !is_whole {
            return Err(Refused::CopyGone);
        }
        for area in &self.areas {
            let chunks = chunks(memory, area).map_err(|_| Refused::CopyGone)?;
            let chunks = chunks.into_iter().flatten().filter(|it| it.is_free);
            freed.extend(chunks.map(|it| hole(it.range, false)));
        }
        freed.sort_unstable();
        Ok((blocks, freed))
    }

    /// Runs `f` with all that is there of a range, piece by piece.
    pub fn each_piece(
        &mut self,
        range: Range,
        is_shared: bool,
        f: impl FnMut(u64, &[u64]),
    ) -> Result<(), Unread> {
        let [own, shared] = self.memory.as_mut().ok_or(Unread::Gone)?;
        match is_shared {
            true => shared.each_piece(range, f),
            false => own.each_piece(range, f),
        }
    }

    /// Fills `bytes` from an address on. `false`: not all of that is there.
    pub fn bytes(&self, address: u64, bytes: &mut [u8]) -> bool {
        sys::read_memory(self.copy, address, bytes) == bytes.len()
    }

    /// Ends the copy, and has the program take notice of that.
    fn end(&mut self) {
        const PATIENCE: Duration = Duration::from_secs(10);
        if self.copy != 0 {
            // SAFETY: a process that we had made and hold, so that its number is its own.
            unsafe { libc::kill(self.copy as i32, libc::SIGKILL) };
            let began = Instant::now();
            while !matches!(
                wait_for_stop(self.copy as i32, PATIENCE),
                Some(Stop::Gone) | None
            ) && began.elapsed() < PATIENCE
            {}
            self.noted = None;
        }
        let target = (&self.program, self.instructions);
        // One that has ended meanwhile has no children any more.
        if let Ok((mut thread, since)) = borrow(self.pid, target, &mut self.places) {
            if self.number > 0 {
                // Only children that send no signal at their end.
                let how = u64::from((libc::__WCLONE | libc::WNOHANG) as u32);
                let _ = thread.system(libc::SYS_wait4, [self.number as u64, 0, how, 0, 0, 0]);
            }
            let _ = thread.system(libc::SYS_munmap, [self.room, ROOM, 0, 0, 0, 0]);
            drop(thread);
            self.pause += since.elapsed();
        }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        if self.room != 0 {
            self.end();
        }
    }
}

impl Leading {
    /// What there is in a process all of whose threads are held.
    fn of(pid: u32, counted: &Counted) -> Result<Self, Refused> {
        let mut memory = Memory::open(pid, Instant::now() + LONGEST, ALL);
        let mut found = Self::default();
        let mut places = vec![(counted.shadow, SHADOW_BYTES)];
        let is_whole =
            each_leaf_seen(
                counted.shadow,
                &mut memory,
                &mut |at, bytes, is_leaf| match is_leaf {
                    true => found.leaves.push((at, at + bytes)),
                    false => places.push((at, bytes)),
                },
            );
        if !is_whole {
            return Err(Refused::Gone);
        }
        let mut words = |at, count| memory.words(at, count).map_err(|_| Refused::Gone);
        for &(at, bytes) in &places {
            found.words.insert(at, words(at, bytes / 8)?);
        }
        let [at, count] = counted.own;
        /// More than any agent has room for.
        const MANY: u64 = 1 << 16;
        let listed = words(at, count.min(MANY) * 2)?;
        let listed = listed.as_chunks::<2>().0.iter().copied();
        let listed = listed.filter(|[start, bytes]| *start != 0 && *bytes != 0);
        found.own = places
            .iter()
            .map(|&(start, bytes)| (start, start + bytes))
            .chain(listed.map(|[start, bytes]| (start, start.saturating_add(bytes))))
            .chain(found.leaves.iter().copied())
            .collect();
        found.own.sort_unstable();
        found.own.dedup();
        Ok(found)
    }
}

/// The words that lead to others as they were in the program, and all others as they are in the copy.
struct Joined<'a> {
    leading: &'a Leading,
    memory: &'a mut Memory,
}

impl Words for Joined<'_> {
    fn read(&mut self, address: u64, words: &mut [u64]) -> Option<bool> {
        let before = self.leading.words.range(..=address).next_back();
        if let Some((start, there)) = before
            && let Some(found) = there.get(((address - start) / 8) as usize..)
            && let Some(found) = found.get(..words.len())
        {
            words.copy_from_slice(found);
            return Some(true);
        }
        self.memory.read(address, words)
    }
}

/// Makes the copy, in which the leaves are as well. Its stack ends at `end`.
fn copy_with(thread: &mut Borrowed, end: u64, leaves: &[Range]) -> Result<i64, Refused> {
    let advise = |thread: &mut Borrowed, &(start, end): &Range, how: u64| {
        let answer = thread.system(libc::SYS_madvise, [start, end - start, how, 0, 0, 0])?;
        match answer {
            0 => Ok(()),
            refused => Err(failed(refused)),
        }
    };
    let mut kept = leaves.iter();
    let is_kept = kept.try_for_each(|leaf| advise(thread, leaf, KEEP_ON_FORK));
    let made = is_kept.and_then(|()| Ok(thread.copy(end)?));
    for leaf in leaves {
        advise(thread, leaf, WIPE_ON_FORK)?;
    }
    match made? {
        number if number > 0 => Ok(number),
        refused => Err(failed(refused)),
    }
}

/// Holds all threads but one, those too that come meanwhile.
fn hold_others(pid: u32, but: i32, stopper: &mut Stopper) -> Vec<Held> {
    let mut held: Vec<Held> = Vec::new();
    let mut tried = vec![but as u32];
    loop {
        let mut threads = proc::threads(pid);
        threads.retain(|tid| !tried.contains(tid));
        if threads.is_empty() {
            return held;
        }
        for tid in threads {
            tried.push(tid);
            held.extend(stopper.hold_whatever_it_does(pid, tid));
        }
    }
}

fn is_agent(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next();
    name.is_some_and(|it| it.starts_with(b"libprofundo-agent-"))
}

/// Registers by name, but the stack pointer.
fn named(registers: &Registers) -> Vec<(&'static str, u64)> {
    const NAMES: [&str; 16] = [
        "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "", "r8", "r9", "r10", "r11", "r12",
        "r13", "r14", "r15",
    ];
    let named = NAMES.into_iter().zip(registers.general.0);
    named.filter(|(name, _)| !name.is_empty()).collect()
}
