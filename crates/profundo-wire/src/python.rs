//! The interpreter's half of a sample: its stack as words, and what its lock was doing.

/// The state of the interpreter's lock, seen from the sampled thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Gil {
    /// The thread has no interpreter state, or the state is unknown.
    #[default]
    None = 0,
    /// The thread held the lock.
    Held = 1,
    /// The thread was waiting for the lock.
    Waiting = 2,
    /// The thread had released the lock: native code that runs beside Python.
    Released = 3,
    /// The thread held the lock and was collecting garbage.
    Collecting = 4,
}

/// The reason why the walk of the interpreter's stack ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum PythonEnd {
    /// At the first frame of the thread: the stack is whole. Also used where there is no Python.
    #[default]
    Whole = 0,
    /// At the depth limit.
    Truncated = 1,
    /// At memory that cannot be read, or at something that is no frame.
    Broken = 2,
}

impl Gil {
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        [
            Self::None,
            Self::Held,
            Self::Waiting,
            Self::Released,
            Self::Collecting,
        ]
        .into_iter()
        .find(|gil| *gil as u8 == code)
    }
}

impl PythonEnd {
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        [Self::Whole, Self::Truncated, Self::Broken]
            .into_iter()
            .find(|end| *end as u8 == code)
    }
}

/// One word of the interpreter's stack, leaf first.
///
/// ```text
///   63  62  61                    32 31                     0
/// ┌───┬───┬────────────────────────┬────────────────────────┐
/// │ 0 │ c │ number of the code     │ offset of instruction  │  a frame
/// ├───┼───┴────────────────────────┼────────────────────────┤
/// │ 1 │                            │ native frame + 1, or 0 │  an entry
/// └───┴────────────────────────────┴────────────────────────┘
/// ```
///
/// An entry follows the frames that one run of the evaluation loop carries, and names the
/// native frame of that run. The frames of the run take that frame's place; what is native below
/// it was called by them, what is above it called them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PythonWord {
    /// A frame.
    Frame {
        /// The number under which the code object was recorded, below 2^30; 0 if it could not be
        /// recorded.
        code: u32,
        /// The instruction that runs, in bytes from the first; negative before the first.
        offset: i32,
        /// Whether that instruction calls something.
        is_call: bool,
    },
    /// The end of one run of the evaluation loop.
    Entry {
        /// The index among the native frames, from the leaf; `None` where it was not found.
        native: Option<u16>,
    },
}

const ENTRY: u64 = 1 << 63;
const CALL: u64 = 1 << 62;

impl PythonWord {
    /// The encoded word.
    #[inline]
    pub fn to_word(self) -> u64 {
        match self {
            Self::Frame {
                code,
                offset,
                is_call,
            } => {
                let call = if is_call { CALL } else { 0 };
                call | u64::from(code & 0x3FFF_FFFF) << 32 | u64::from(offset as u32)
            }
            Self::Entry { native } => ENTRY | native.map_or(0, |index| u64::from(index) + 1),
        }
    }

    /// The meaning of a word; every word has one.
    #[inline]
    pub fn from_word(word: u64) -> Self {
        if word & ENTRY != 0 {
            let native = (word as u32).checked_sub(1).map(|index| index as u16);
            return Self::Entry { native };
        }
        Self::Frame {
            code: (word >> 32) as u32 & 0x3FFF_FFFF,
            offset: word as u32 as i32,
            is_call: word & CALL != 0,
        }
    }
}

/// Bits of a frame's address in a task's number.
const FRAME_BITS: u32 = 34;

/// The number of an asynchronous task, for a sample whose thread runs one.
///
/// The task that a thread of the interpreter's runs is known by its outermost coroutine: of all the
/// frames on the thread's stack that run an `async def` function, the one nearest the root. An
/// event loop resumes a task by that frame, and whatever the task awaits lies above it, so the
/// number is the same whenever the task runs. It is made of the number of the function's code
/// object, by which the reader names the task, and of the frame's address, which distinguishes
/// tasks of one function. An address may be that of another task later, so where the task has a
/// name of its own, its hash `name` goes into the number, too; else that is 0. `code` 0 makes 0: no
/// task.
pub fn python_task(code: u32, frame: u64, name: u64) -> u64 {
    // Frames begin at multiples of eight.
    let which = (frame >> 3 ^ name) & ((1 << FRAME_BITS) - 1);
    match code & 0x3FFF_FFFF {
        0 => 0,
        code => u64::from(code) << FRAME_BITS | which,
    }
}

/// The number of the code object that names a task of the interpreter; 0 for another number.
pub fn python_task_code(task: u64) -> u32 {
    (task >> FRAME_BITS) as u32
}
