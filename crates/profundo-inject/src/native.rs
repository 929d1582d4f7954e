//! A copy of a native program whose live blocks are all known, made in one instant: all its threads
//! are held, one is borrowed for the system call that copies the process, and all resume.
//!
//! Nothing runs in the copy but the call that closes its files: it is held from its first instant
//! on. If it is resumed, as when we end, it ends by itself (see [`Borrowed::copy`]).
//!
//! The table of blocks is not inherited by children of the program, which count for themselves. The
//! copy inherits its leaves, for the moment of the call, but not the levels that lead to them, so a
//! child made meanwhile finds none. Those levels are read while all threads are held.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use profundo_linux::headroom;
use profundo_linux::proc;
use profundo_linux::sys;
use profundo_probe::heap::seen::{SHADOW_BYTES, Words, each_leaf_seen, each_seen};
use profundo_process::reading::{Held, Registers, Stop, Stopper, wait_for_stop};
use profundo_scan::{Area, Block, Freed, Memory, Range, Unread, areas, chunks, map_lines};
use profundo_session::{AnnouncedCopy, Counted, Remains, find_counted, lacks_agent};

use super::borrowed::Borrowed;
use super::borrowed::machine::named;
use super::copy::child_of;
use super::program::Program;
use super::ptrace::request;
use super::safe_point::{Instructions, Places};
use super::turn::Turn;
use super::{ROOM, Refused, borrow, failed, map, may_be_entered, may_be_filtered};

/// The advice values for memory that no child inherits, and that all children inherit.
const WIPE_ON_FORK: u64 = libc::MADV_WIPEONFORK as u64;
const KEEP_ON_FORK: u64 = libc::MADV_KEEPONFORK as u64;

/// The longest time until other commands have come in or left.
const OTHERS: Duration = Duration::from_secs(20);

/// More than any process has, and longer than any wait.
const ALL: u64 = u64::MAX;
const LONGEST: Duration = Duration::from_secs(3600);

/// A thread at the time of the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeThread {
    /// The kernel's number of the thread.
    pub tid: u32,
    /// The thread's name.
    pub name: String,
    /// The stack pointer; `None` if the thread could not be held.
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
    /// The address of our memory in the program.
    room: u64,
    /// The copy's number in the program's namespace and in ours.
    number: i64,
    copy: u32,
    /// The announcement of the copy to recorders.
    announced: Option<AnnouncedCopy>,
    counted: Counted,
    leading: Leading,
    memory: Option<[Memory; 2]>,
    /// The copy's memory, without ours, ordered by address.
    pub areas: Vec<Area>,
    /// The program's threads.
    pub threads: Vec<NativeThread>,
    /// The time for which the program was stopped.
    pub pause: Duration,
}

/// The levels of the block table above its leaves, by their addresses in the program, and the
/// leaves' ranges.
#[derive(Debug, Default)]
struct Leading {
    words: BTreeMap<u64, Vec<u64>>,
    leaves: Vec<Range>,
    agent: Vec<Range>,
}

impl Native {
    /// Copies a program, if its blocks are known. `filtered`: even if it restricts its system
    /// calls.
    pub fn copy(pid: u32, filtered: bool) -> Result<Self, Refused> {
        may_be_entered(pid)?;
        let program = Program::of(pid).ok_or(Refused::Gone)?;
        if program.is_stopped() {
            return Err(Refused::Stopped);
        }
        let counted = find_counted(pid).ok_or_else(|| match lacks_agent(pid) {
            true => Refused::Agentless,
            false => Refused::Uncounted,
        })?;
        may_be_filtered(pid, filtered)?;
        if let Some(lack) = headroom::lack(pid) {
            return Err(Refused::Headroom {
                wanted: lack.needed,
                there: lack.available,
            });
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
            announced: None,
            counted,
            leading: Leading::default(),
            memory: None,
            areas: Vec::new(),
            threads: Vec::new(),
            pause: Duration::ZERO,
        };
        native.make()?;
        native.read_copy()?;
        Ok(native)
    }

    /// Holds all threads, and makes the copy.
    fn make(&mut self) -> Result<(), Refused> {
        let turn = Turn::wait(self.pid, OTHERS);
        let _turn = turn.ok_or(Refused::NotEntered(libc::EALREADY))?;
        let (mut thread, since) =
            borrow(self.pid, &self.program, self.instructions, &mut self.places)?;
        self.room = map(&mut thread, ROOM)?;
        thread.put_frame(self.room + ROOM)?;
        let mut stopper = Stopper::default();
        stopper.has_some_patience = true;
        let others = hold_others(self.pid, thread.tid(), &mut stopper);
        self.leading = Leading::of(self.pid, &self.counted)?;
        let began = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let made = copy_with(&mut thread, self.room + ROOM / 2, &self.leading.leaves);
        self.note_threads(&thread, &others);
        // The copy is held, whatever happens to the threads.
        drop(others);
        drop(stopper);
        drop(thread);
        self.pause = since.elapsed();
        self.number = made?;
        let copy = child_of(self.pid, self.number as i32).ok_or(Refused::CopyGone)?;
        self.copy = copy;
        self.announced = Some(AnnouncedCopy::copy(copy, began));
        Ok(())
    }

    fn note_threads(&mut self, thread: &Borrowed, others: &[Held]) {
        let mut known: Vec<(u32, &Registers)> = others
            .iter()
            .map(|held| (held.tid() as u32, &held.registers))
            .collect();
        known.push((thread.tid() as u32, thread.registers()));
        let find = |tid| {
            let mut threads = known.iter();
            let found = threads.find(|(known, _)| *known == tid);
            found.map(|(_, registers)| *registers)
        };
        let threads = proc::threads(self.pid).into_iter().map(|tid| {
            let registers = find(tid);
            NativeThread {
                tid,
                name: proc::thread_name(self.pid, tid),
                stack: registers.map(|registers| registers.place.sp),
                registers: registers.map(named).unwrap_or_default(),
            }
        });
        self.threads = threads.collect();
    }

    /// Has the copy close its files, and reads its mappings.
    fn read_copy(&mut self) -> Result<(), Refused> {
        const PATIENCE: Duration = Duration::from_secs(10);
        /// The entry to and exit from the end of a handler, and those of the call that closes
        /// files.
        const STEPS: usize = 4;
        let copy = self.copy;
        let tid = copy as i32;
        let is_held = || matches!(wait_for_stop(tid, PATIENCE), Some(Stop::Held { signal: _ }));
        if !is_held() {
            return Err(Refused::CopyGone);
        }
        let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL;
        request(tid, libc::PTRACE_SETOPTIONS, 0, options as usize)?;
        // Where memory runs out, the copy is killed first. Not every system permits that setting.
        let _ = std::fs::write(format!("/proc/{copy}/oom_score_adj"), "1000");
        for _ in 0..STEPS {
            request(tid, libc::PTRACE_SYSCALL, 0, 0)?;
            if !is_held() {
                return Err(Refused::CopyGone);
            }
        }
        let maps = proc::read(copy, "maps");
        let stacks: Vec<u64> = self
            .threads
            .iter()
            .filter_map(|thread| thread.stack)
            .collect();
        let mut agent_memory = self.leading.agent.clone();
        agent_memory.push((self.room, self.room + ROOM));
        agent_memory.sort_unstable();
        let agents = map_lines(&maps).map(|(_, line)| line.plain_path());
        let agent = agents.into_iter().find(|path| is_agent(path));
        let session = self.counted.session.as_os_str().as_bytes();
        let ours = [session, agent.unwrap_or(session)];
        self.areas = areas(&maps, &agent_memory, &stacks, &ours);
        let until = Instant::now() + LONGEST;
        self.memory = Some([
            Memory::open(copy, until, ALL),
            Memory::open(copy, until, ALL).with_pages_of(self.pid),
        ]);
        Ok(())
    }

    /// Whether the program is the child of a fork: blocks from its parent are not known.
    pub fn is_forked(&self) -> bool {
        self.counted.is_forked
    }

    /// The file that the program is recorded into, if any.
    pub fn recording(&self) -> Option<PathBuf> {
        Remains::read(self.counted.session.clone()).map(|remains| remains.recording)
    }

    /// The live blocks, each with the number of its allocation's stack (0: none), and the addresses
    /// of freed blocks.
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
            let chunks = chunks.into_iter().flatten().filter(|chunk| chunk.is_free);
            freed.extend(chunks.map(|chunk| hole(chunk.range, false)));
        }
        freed.sort_unstable();
        Ok((blocks, freed))
    }

    /// Calls `f` with each mapped piece of a range.
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

    /// Reads `bytes` from an address on. `false`: not all of it is mapped.
    pub fn bytes(&self, address: u64, bytes: &mut [u8]) -> bool {
        sys::read_memory(self.copy, address, bytes) == bytes.len()
    }

    /// Ends the copy, and has the program reap it.
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
            self.announced = None;
        }
        let _turn = Turn::wait(self.pid, OTHERS);
        // A program that has ended meanwhile has no children.
        if let Ok((mut thread, since)) =
            borrow(self.pid, &self.program, self.instructions, &mut self.places)
        {
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
    /// Reads the levels from a process all of whose threads are held.
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
        let [at, count] = counted.agent_memory;
        /// More than any agent has room for.
        const MANY: u64 = 1 << 16;
        let listed = words(at, count.min(MANY) * 2)?;
        let listed = listed.as_chunks::<2>().0.iter().copied();
        let listed = listed.filter(|[start, bytes]| *start != 0 && *bytes != 0);
        found.agent = places
            .iter()
            .map(|&(start, bytes)| (start, start + bytes))
            .chain(listed.map(|[start, bytes]| (start, start.saturating_add(bytes))))
            .chain(found.leaves.iter().copied())
            .collect();
        found.agent.sort_unstable();
        found.agent.dedup();
        Ok(found)
    }
}

/// Joins the upper levels, as they were in the program, with all other memory, as it is in the
/// copy.
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

/// Makes the copy, with the leaves in it. Its stack ends at `end`.
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

/// Holds all threads but one, new ones included.
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
            held.extend(stopper.hold_in_any_state(pid, tid));
        }
    }
}

fn is_agent(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next();
    name.is_some_and(|name| name.starts_with(b"libprofundo-agent-"))
}
