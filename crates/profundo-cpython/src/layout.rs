//! Where each version keeps what we read: one row of offsets for each minor version.
//!
//! They were computed with `offsetof` from each version's own headers, for 3.14 read in its
//! source, and hold for 64-bit Linux. Only `tstate_current` hangs on the architecture as well.

/// How the frames of a thread hang together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chain {
    /// 3.8 to 3.10: the thread state points to the leaf's frame object, and each frame has an
    /// evaluation loop of its own.
    FrameObjects {
        /// Of the frame in the thread state.
        frame: u16,
        /// What the instruction's number is multiplied by: 1, or 2 where it counts code units.
        unit: i32,
    },
    /// 3.11: through a record on the C stack, and the first frame of an evaluation loop is marked.
    Marked {
        /// Of the record's address in the thread state.
        record: u16,
        /// Of the frame, in the record.
        frame: u16,
        /// Of the record before, in the record.
        previous: u16,
        /// Of the mark, in the frame.
        is_entry: u16,
    },
    /// 3.12: through a record on the C stack; a frame without code, there too, ends each loop.
    Shims {
        /// Of the record's address in the thread state.
        record: u16,
        /// Of the frame, in the record.
        frame: u16,
        /// Of the record before, in the record.
        previous: u16,
    },
    /// 3.13 and later: the thread state points to the frame; a frame without code ends each loop.
    Direct {
        /// Of the frame in the thread state.
        frame: u16,
    },
}

/// How to find out who holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gil {
    /// Up to 3.11: the holder's thread state lies in the runtime.
    Runtime {
        /// Of the holder, in the runtime.
        holder: u16,
    },
    /// 3.12 and later: the interpreter points to its lock.
    Interpreter {
        /// Of the pointer, in the interpreter state.
        lock: u16,
    },
}

/// Where it says that garbage is being collected, which is a number of 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collecting {
    /// Nobody knows.
    Unknown,
    /// Here in the runtime.
    Runtime(u16),
    /// Here in the interpreter state.
    Interpreter(u16),
}

/// Where an object keeps its attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attributes {
    /// Up to 3.10: in a dictionary, where its type says.
    Dictionary,
    /// 3.11: as values by themselves, with a pointer of their own before the object; or in a
    /// dictionary, whose pointer stands behind that.
    Values,
    /// 3.12: as values or in a dictionary, by a pointer before the object that is odd for values.
    Tagged,
    /// 3.13 and later: as values at the object's end; or in a dictionary.
    Inline,
}

/// The offsets of one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// CPython 3.what.
    pub minor: u8,
    /// The chain of frames.
    pub chain: Chain,
    /// The lock.
    pub gil: Gil,
    /// In the runtime, of the newest interpreter, with the first one behind it; 0 before 3.12, where
    /// they share one lock.
    pub interpreters: u16,
    /// Whether garbage is being collected.
    pub collecting: Collecting,
    /// Where objects keep their attributes.
    pub attributes: Attributes,
    /// In a type, of the names of the attributes that its objects have as values.
    pub shared_keys: u16,
    /// Of what `pthread_self` says, in a thread state; 0 from 3.12 on, where nobody needs it.
    pub thread: u16,
    /// Of the interpreter state in a thread state.
    pub interpreter: u16,
    /// Of a frame's caller.
    pub previous: u16,
    /// Of a frame's code object.
    pub code: u16,
    /// Of a frame's instruction: its address from 3.11 on, before that its number.
    pub instruction: u16,
    /// Of a frame's first local variable.
    pub locals: u16,
    /// Of the byte that says whose a frame is; 0 before 3.11.
    pub owner: u16,
    /// Of a code object's flags.
    pub flags: u16,
    /// Of its first line.
    pub first_line: u16,
    /// Of the file's name.
    pub file: u16,
    /// Of its name: the qualified one from 3.11 on.
    pub name: u16,
    /// Of its line table.
    pub lines: u16,
    /// Of its instructions: from 3.11 on the first one itself, before that a pointer to bytes.
    pub instructions: u16,
    /// Of what a frame takes on the data stack, in words: its own field from 3.12 on; in 3.11 the
    /// number of locals, with the depth of the stack at `stack_size`; 0 before that.
    pub frame_size: u16,
    /// Of the depth of the evaluation stack; 0 where `frame_size` is all.
    pub stack_size: u16,
    /// How long the head of an ASCII text is. It is followed by the characters.
    pub ascii_head: u16,
    /// How long the head of any other text is.
    pub text_head: u16,
}

/// The oldest minor version that is known.
pub const OLDEST: u8 = 8;
/// The newest minor version that is known.
pub const NEWEST: u8 = 14;

/// Up to 3.10 only a few fields differ.
const fn before_3_11(
    minor: u8,
    holder: u16,
    collecting: Collecting,
    (instruction, unit): (u16, i32),
    locals: u16,
) -> Layout {
    Layout {
        minor,
        chain: Chain::FrameObjects { frame: 24, unit },
        gil: Gil::Runtime { holder },
        interpreters: 0,
        collecting,
        attributes: Attributes::Dictionary,
        shared_keys: 0,
        thread: 176,
        interpreter: 16,
        previous: 24,
        code: 32,
        instruction,
        locals,
        owner: 0,
        flags: 36,
        first_line: 40,
        file: 104,
        name: 112,
        lines: 120,
        instructions: 48,
        frame_size: 0,
        stack_size: 0,
        ascii_head: 48,
        text_head: 72,
    }
}

const PYTHON_3_11: Layout = Layout {
    minor: 11,
    chain: Chain::Marked {
        record: 56,
        frame: 8,
        previous: 16,
        is_entry: 68,
    },
    gil: Gil::Runtime { holder: 576 },
    interpreters: 0,
    collecting: Collecting::Interpreter(848),
    attributes: Attributes::Values,
    shared_keys: 872,
    thread: 152,
    interpreter: 16,
    previous: 48,
    code: 32,
    instruction: 56,
    locals: 72,
    owner: 69,
    flags: 48,
    first_line: 72,
    file: 112,
    name: 128,
    lines: 136,
    instructions: 184,
    frame_size: 76,
    stack_size: 68,
    ascii_head: 48,
    text_head: 72,
};

const PYTHON_3_12: Layout = Layout {
    minor: 12,
    chain: Chain::Shims {
        record: 56,
        frame: 0,
        previous: 8,
    },
    gil: Gil::Interpreter { lock: 384 },
    interpreters: 40,
    collecting: Collecting::Interpreter(312),
    attributes: Attributes::Tagged,
    shared_keys: 880,
    thread: 0,
    previous: 8,
    code: 0,
    owner: 70,
    first_line: 68,
    instructions: 192,
    stack_size: 0,
    ascii_head: 40,
    text_head: 56,
    ..PYTHON_3_11
};

const PYTHON_3_13: Layout = Layout {
    minor: 13,
    chain: Chain::Direct { frame: 72 },
    gil: Gil::Interpreter { lock: 16 },
    interpreters: 632,
    collecting: Collecting::Interpreter(7600),
    attributes: Attributes::Inline,
    instructions: 200,
    ..PYTHON_3_12
};

/// Its fields that the debug offsets tell are taken from there.
const PYTHON_3_14: Layout = Layout {
    minor: 14,
    collecting: Collecting::Unknown,
    locals: 80,
    owner: 74,
    instructions: 208,
    ..PYTHON_3_13
};

const LAYOUTS: [Layout; 7] = [
    before_3_11(8, 1368, Collecting::Runtime(544), (104, 1), 360),
    before_3_11(9, 568, Collecting::Interpreter(816), (104, 1), 360),
    before_3_11(10, 568, Collecting::Interpreter(816), (96, 2), 352),
    PYTHON_3_11,
    PYTHON_3_12,
    PYTHON_3_13,
    PYTHON_3_14,
];

impl Layout {
    /// The row of a minor version. 3.13 and later are to be asked for their own offsets: see
    /// [`layout_from_debug_offsets`](crate::layout_from_debug_offsets).
    pub fn of(minor: u8) -> Option<&'static Self> {
        LAYOUTS.iter().find(|layout| layout.minor == minor)
    }
}
