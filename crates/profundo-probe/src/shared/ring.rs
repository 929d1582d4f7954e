//! The state of one process: its threads, its modules as the command knows them, and its samples.

use core::mem::{offset_of, size_of};
use core::slice;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use profundo_unwind::{Module, Modules, TableRef};

use crate::buffer::CHUNK_WORDS;
use crate::claims::ChunkState;
use crate::code::Listing;
use crate::counters::Counters;
use crate::records::ThreadRecord;

/// The number of chunks of a ring.
pub const CHUNKS: usize = 32;
/// The number of threads of a process that can be known.
pub const RECORDS: usize = 4096;
/// The number of executable ranges of a process.
pub const LISTED: usize = 2048;

/// The values of [`Header::state`]. The agent moves it from `BLANK` to `HELLO`, the command to
/// `READY`.
pub mod ring_state {
    /// Neither side has filled it in yet.
    pub const BLANK: u32 = 0;
    /// The agent has filled in the header and the main thread's record.
    pub const HELLO: u32 = 1;
    /// The command has listed the modules and set the clocks. A futex.
    pub const READY: u32 = 2;
    /// The command refuses: the agent does nothing more.
    pub const REFUSED: u32 = 3;
}

/// The ways in which a process gets an agent.
pub mod start_kind {
    /// The agent was loaded with the program.
    pub const EXEC: u32 = 1;
    /// The parent's agent went on in the child of a fork.
    pub const FORK: u32 = 2;
    /// The agent was loaded into the program while it ran.
    pub const LATE: u32 = 3;
}

/// The values of [`Header::trap`]. A futex: an agent that takes its permission back waits for
/// `NEVER`.
pub mod trap_state {
    /// The command uses the signal that [`Header::signal`] names.
    ///
    /// [`Header::signal`]: super::Header::signal
    pub const NEVER: u32 = 0;
    /// The agent has a handler for SIGTRAP, which has no other user.
    pub const WELCOME: u32 = 1;
    /// The program wants SIGTRAP: the command has to close the clocks that use it, open others, and
    /// answer with `NEVER`.
    pub const UNWELCOME: u32 = 2;
    /// SIGTRAP was welcome, and all clocks of the command send it: none sends the other signal.
    pub const USED: u32 = 3;
}

/// The agent's numbers at the end of its process. Written at `exit`, `_exit` and the like, and once
/// more at the very last moment before the kernel is asked to end the process; a process that is
/// killed or becomes another program by `exec` leaves it unknown.
#[derive(Debug)]
#[repr(C)]
pub struct Ends {
    /// 1 once the others are filled in.
    pub known: AtomicU32,
    /// 1 once the two times are those at the process's `exec`.
    pub at_exec: AtomicU32,
    /// User time of the process in nanoseconds.
    pub user: AtomicU64,
    /// System time.
    pub system: AtomicU64,
    /// The peak of the resident bytes. The kernel does not separate it from that of the programs
    /// that the process was before: it is this one's if it is more than `peak_before`.
    pub peak: AtomicU64,
    /// The peak of the resident bytes when the agent came.
    pub peak_before: AtomicU64,
    /// Minor page faults, of all programs that the process was.
    pub minor_faults: AtomicU64,
    /// Major page faults, of all programs that the process was.
    pub major_faults: AtomicU64,
    /// CPU time that the agent's own start took, in nanoseconds.
    pub start_cost: AtomicU64,
}

/// A pending signal of ours would still be pending in the program that its thread executes. So a
/// thread that blocks them asks for silence first: it adds one to `wanted`, then one to `asked`,
/// rings, and waits until `heard` is its value of `asked`. The command stops all clocks of the
/// process, then stores the value that it has heard. If the `exec` fails, the thread takes its wish
/// back and rings again; the clocks go on when no wishes are left.
#[derive(Debug)]
#[repr(C)]
pub struct Silence {
    /// The number of threads that want it at present.
    pub wanted: AtomicU32,
    /// The number of times it was asked for.
    pub asked: AtomicU32,
    /// The command's last value of `asked` before it stopped all clocks. A futex.
    pub heard: AtomicU32,
}

/// The agent's counts of allocations, besides the records.
#[derive(Debug)]
#[repr(C)]
pub struct MemoryCounts {
    /// Allocations that were not recorded: there was no room, or the thread was in a handler that
    /// had interrupted us.
    pub lost: AtomicU64,
    /// Blocks that were recorded but not followed, because there were too many.
    pub unfollowed: AtomicU64,
    /// Ends of blocks that could not be recorded.
    pub unfreed: AtomicU64,
    /// Bytes of the interpreter's arenas.
    pub arenas: AtomicU64,
    /// Blocks that were freed and never seen, because they are from before the agent came.
    pub strangers: AtomicU64,
    /// 1 if there was no memory to count everything in.
    pub refused: AtomicU32,
    /// Slots by which the program's files call functions of the same names as the allocator's, but
    /// others. A late agent has left them alone.
    pub slots_elsewhere: AtomicU32,
}

/// The regions of a program that records itself: see [`Regions::open`].
///
/// A program opens and closes regions more often than clocks can be opened and closed. So it tells
/// the recorder only here, and the recorder pauses when none was open for a while. The next region
/// finds [`Regions::is_idle`] and asks it to go on.
#[derive(Debug)]
#[repr(C)]
pub struct Regions {
    /// 0 where that is not told; else one more than the number of open regions. The program writes
    /// it.
    pub open: AtomicU32,
    /// 1 if the recorder has paused because none was open. The recorder writes it.
    pub is_idle: AtomicU32,
}

/// The head of a ring.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Header {
    /// [`super::MAGIC`].
    pub magic: AtomicU64,
    /// One of [`ring_state`].
    pub state: AtomicU32,
    /// One of [`start_kind`].
    pub kind: AtomicU32,
    /// The process.
    pub pid: AtomicU32,
    /// Its parent.
    pub parent: AtomicU32,
    /// After a fork: the number of the parent's ring.
    pub parent_ring: AtomicU32,
    /// The number of records ever used: those from `met` on are zero. See [`record_state`].
    ///
    /// [`record_state`]: super::record_state
    pub met: AtomicU32,
    /// 1 while samples are wanted. The command sets it.
    pub enabled: AtomicU32,
    /// The number of resumes after a pause. The command increments it.
    pub resumed: AtomicU32,
    /// 1 if a thread asks for another clock than it has. A thread sets it and rings; the command
    /// clears it when it looks.
    pub paced: AtomicU32,
    /// Set by the agent when a thread was entered or ended, or unlisted code was found; the command
    /// clears it when it looks. The doorbell is rung as well.
    pub news: AtomicU32,
    /// Set by the handler when it found code in no listed module.
    pub stale: AtomicU32,
    /// The interpreter: `major << 16 | minor << 8 | micro`; 0 where there is none (yet).
    pub python: AtomicU32,
    /// The reason why an interpreter's stacks are not read; 0 if they are. See the agent.
    pub python_refused: AtomicU32,
    /// Incremented by the command when it sees that an interpreter was mapped into the process
    /// after its agent came (an embedding program that opens libpython). The agent then looks for
    /// it, at the next interposed function that the program calls.
    pub look_for_python: AtomicU32,
    /// The reason why requested calls are not counted: an error number or a [`super::refusal`], as
    /// a negative number.
    pub calls_refused: AtomicI32,
    /// The cycle counter when the agent came.
    pub started: AtomicU64,
    /// The address of `tables` in the target.
    pub tables: AtomicU64,
    /// The mapped part of it, from its start: less than all where the program's address space is
    /// limited.
    pub table_bytes: AtomicU64,
    /// The addresses of the interpreter's evaluation loop in the target, as pairs of start and end:
    /// up to four ranges (hot, cold, clones). Zeros where unknown: handlers then take the size of
    /// the function's exported symbol. They are all the functions of the file whose name is
    /// `_PyEval_EvalFrameDefault`, or that and a point and more, or begins with `_TAIL_CALL_`. From
    /// 3.11 on a run of the loop is found by a place on the stack, and they only show whether a
    /// frame may be half pushed; before, each native frame in them is a Python frame.
    pub evaluation: [AtomicU64; 8],
    /// Losses, and the handlers' cost.
    pub counters: Counters,
    /// The numbers at the end.
    pub ends: Ends,
    /// The next code object's number, less one.
    pub codes: AtomicU32,
    /// The exit code that was passed to `exit`, or -1.
    pub exit_code: AtomicI32,
    /// Whether the command may use SIGTRAP for this process's clocks: one of [`trap_state`].
    ///
    /// [`trap_state`]: super::trap_state
    pub trap: AtomicU32,
    /// The signal of the clocks, where they do not send SIGTRAP; 0: none, because the program uses
    /// all possible ones. The agent changes it, rings, and waits for [`Header::signal_heard`].
    pub signal: AtomicU32,
    /// The signal that the command's clocks send. A futex.
    pub signal_heard: AtomicU32,
    /// 1 once the agent has left the process, because the program restricts its system calls
    /// (seccomp) and would be killed for one of ours. The clocks are of no use any more.
    pub left: AtomicU32,
    /// The silence that threads ask for when they block our signals and execute another program.
    pub silence: Silence,
    /// The words that handlers may still write for repeated walks; filled up by the command when it
    /// has drained them.
    pub rewalk_words: AtomicU32,
    /// Set by the handler when it has recorded a descriptor, which can be looked up only while it
    /// is open. The command clears it when it looks.
    pub calls: AtomicU32,
    /// 1 if the program has an allocator that comes before the agent's: its allocations are not
    /// seen.
    pub allocator_hidden: AtomicU32,
    /// 1 if the agent was loaded behind the runtime of a sanitizer: allocations are not recorded
    /// there.
    pub behind_sanitizer: AtomicU32,
    /// The regions of a program that records itself.
    pub regions: Regions,
    /// The counts of allocations.
    pub memory: MemoryCounts,
    /// The search for unreachable blocks at the end.
    pub search: super::Search,
    /// The reading of the compiler's counters.
    pub tallies: super::Tallies,
    /// The first bytes of a program's command line in the kernel's form: a NUL behind each
    /// argument. The process may end before the kernel is asked.
    pub command: [AtomicU64; COMMAND_BYTES / 8],
    /// The number of these bytes; 0 after a fork.
    pub command_bytes: AtomicU32,
}

/// The kept bytes of a command line.
pub const COMMAND_BYTES: usize = 512;

/// An executable range in the target's memory: a [`Module`] of the target's, made by another
/// process. The three slices of a [`TableRef`] are addresses and lengths in the target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ForeignModule {
    /// First address of the range.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// The address that rows and index count from.
    pub base: u64,
    /// Address and number of the rows. The address of none is 8.
    pub rows: (u64, u64),
    /// Address and number of the index's entries. The address of none is 8.
    pub index: (u64, u64),
}

/// The list of modules, twice: handlers read one while the command writes the other.
///
/// The child of a fork begins with its parent's list, copied, so table space that was ever listed
/// is never reused while the session lasts.
///
/// A handler loads `active`, adds one to `inside` of that half, loads `active` again, and starts
/// over if it has changed. The command writes the half that is not active once `inside` of it is
/// 0, then makes it active.
#[derive(Debug)]
#[repr(C)]
pub struct Listings {
    /// The current half: 0 or 1.
    pub active: AtomicU32,
    /// The number of handlers that are reading each half.
    pub inside: [AtomicU32; 2],
    /// The number of modules of each half.
    pub count: [AtomicU32; 2],
    reserved: [AtomicU32; 3],
    /// The number of each list, for walk caches. Never 0 once there is a list.
    pub generation: [AtomicU64; 2],
    /// The modules, sorted by start. Written by the command only.
    pub modules: [[core::cell::UnsafeCell<ForeignModule>; LISTED]; 2],
}

// SAFETY: the protocol above keeps the writer out of the half that is being read.
unsafe impl Sync for Listings {}

impl Listings {
    /// Runs `f` with the current list, which is not written to meanwhile. For the target: the
    /// list's memory is mapped there.
    #[inline]
    pub fn with<T>(&self, f: impl FnOnce(&Listing) -> T) -> T {
        self.with_raw(|modules, generation| {
            // SAFETY: a foreign module is a module, as is checked below, and its slices are mapped
            // for as long as we live.
            let modules = unsafe { slice::from_raw_parts(modules.as_ptr().cast(), modules.len()) };
            f(&Listing {
                modules: Modules::new(modules),
                generation,
            })
        })
    }

    /// The number of the current list.
    #[inline]
    pub fn generation(&self) -> u64 {
        let half = self.active.load(Ordering::Acquire) as usize & 1;
        let generation = self.generation.get(half);
        generation.map_or(0, |generation| generation.load(Ordering::Relaxed))
    }

    /// Runs `f` with the current list and its generation, unconverted.
    #[inline]
    pub fn with_raw<T>(&self, f: impl FnOnce(&[ForeignModule], u64) -> T) -> T {
        /// Each turn after the first has found a new list, and there are a few in a second.
        const TURNS: usize = 4;
        for _ in 0..TURNS {
            // SeqCst, all of them, pairs with the command's: it sees that we are inside the half
            // that it is about to write, or we see that the half is no longer the active one.
            let active = self.active.load(Ordering::SeqCst);
            let half = active as usize & 1;
            let (Some(inside), Some(count), Some(generation), Some(modules)) = (
                self.inside.get(half),
                self.count.get(half),
                self.generation.get(half),
                self.modules.get(half),
            ) else {
                break;
            };
            inside.fetch_add(1, Ordering::SeqCst);
            if self.active.load(Ordering::SeqCst) != active {
                inside.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let count = (count.load(Ordering::Relaxed) as usize).min(LISTED);
            // SAFETY: this half is not written to while we are counted in.
            let modules = unsafe { slice::from_raw_parts(modules.as_ptr().cast(), count) };
            let result = f(modules, generation.load(Ordering::Relaxed));
            inside.fetch_sub(1, Ordering::SeqCst);
            return result;
        }
        f(&[], u64::MAX)
    }
}

/// A ring, as it lies in its file. The words of the chunks follow at [`Ring::WORDS_AT`].
///
/// The command takes the words out by `Buffer::drain_chunk` (or `Claims::begin_read` and
/// `Claims::end_read_and_keep`) for every one of the [`CHUNKS`], every 10 to 20 ms. A chunk stays
/// its thread's while it is emptied. The records of one chunk are in the order of time; a thread
/// changes its chunk now and then, so the chunks of one turn are to be merged by the samples'
/// clocks. A record of one chunk may refer to a `Code` record of another one that was written
/// before it but is read only in the next turn.
///
/// When the process has ended (and only then), the words of a chunk that is still being written
/// to, as its state says, are good up to the number that was published.
#[derive(Debug)]
#[repr(C)]
pub struct Ring {
    /// The head.
    pub header: Header,
    /// The owners of the chunks.
    pub chunks: [ChunkState; CHUNKS],
    /// The threads.
    pub records: [ThreadRecord; RECORDS],
    /// The modules.
    pub listings: Listings,
    /// The garbage collections of the interpreter.
    pub collections: super::Collections,
}

impl Ring {
    /// The offset of the chunks' words in the file.
    pub const WORDS_AT: usize = size_of::<Ring>().next_multiple_of(4096);
    /// The size of the file.
    pub const BYTES: usize = Self::WORDS_AT + CHUNKS * CHUNK_WORDS * 8;
}

/// A [`ForeignModule`] is read as a [`Module`]: the same compiler lays out both. The assumption
/// about a slice (address, then length) is checked by the test below.
const _: () = {
    assert!(size_of::<ForeignModule>() == size_of::<Module<'static>>());
    assert!(align_of::<ForeignModule>() == align_of::<Module<'static>>());
    assert!(offset_of!(ForeignModule, end) == offset_of!(Module<'static>, end));
    assert!(
        offset_of!(ForeignModule, base)
            == offset_of!(Module<'static>, table) + offset_of!(TableRef<'static>, base)
    );
    assert!(
        offset_of!(ForeignModule, rows)
            == offset_of!(Module<'static>, table) + offset_of!(TableRef<'static>, rows)
    );
    assert!(
        offset_of!(ForeignModule, index)
            == offset_of!(Module<'static>, table) + offset_of!(TableRef<'static>, index)
    );
};

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_unwind::{Row, Rule};
    use std::mem::transmute;

    #[test]
    fn a_foreign_module_is_a_module() {
        let rows = [Row::new(0, Rule::sp(8)), Row::new(9, Rule::NONE)];
        let index = [0_u32, 2];
        let foreign = ForeignModule {
            start: 1,
            end: 2,
            base: 3,
            rows: (rows.as_ptr() as u64, 2),
            index: (index.as_ptr() as u64, 2),
        };
        // SAFETY: the layouts are equal, and the addresses are those of living slices.
        let module = unsafe { transmute::<ForeignModule, Module<'_>>(foreign) };
        let table = TableRef {
            base: 3,
            rows: &rows,
            index: &index,
        };
        let (start, end) = (1, 2);
        assert_eq!(module, Module { start, end, table });
    }
}
