//! The functions that `sys.setprofile` and `sys.settrace` set for a thread, up to 3.11. 3.12 and
//! later have `sys.monitoring` for that.

/// The place of the functions in a thread's state, and of the switch for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profiler {
    /// In a thread's state, `c_profilefunc`; `c_tracefunc` is behind it, then the objects that both
    /// are called with.
    pub functions: u16,
    /// In a thread's state, `tracing`: whether it runs one of them.
    pub tracing: u16,
    /// The switch that has the evaluation loop call them.
    pub switch: Switch,
    /// Whether the interpreter counts the threads that trace, and reports no line while none does.
    pub counts_tracing_threads: bool,
    /// Whether another function may be set to evaluate frames
    /// (`_PyInterpreterState_SetEvalFrameFunc`).
    pub has_frame_evaluation: bool,
    /// Whether the first interpreter is a part of the runtime, so that it is never unmapped.
    pub has_static_interpreter: bool,
    /// In a frame object, `f_lineno`, which is up to date while a line is reported.
    pub line: u16,
    /// The instructions that say whether a frame has run before. `None`: it has if the number of
    /// its instruction is not negative.
    pub beginnings: Option<Beginnings>,
    /// The blocks of a frame that runs, which name its handlers of exceptions.
    pub blocks: Option<Blocks>,
    /// In a code object, the table of handlers (`co_exceptiontable`), where there are no blocks.
    pub handlers: Option<u16>,
}

impl Profiler {
    /// The offset from a function to the object that it is called with.
    pub const TO_OBJECT: u64 = 16;
}

/// `use_tracing`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// Up to 3.9: a number of 32 bits in the thread's state, here.
    State(u16),
    /// 3.10: a number of 32 bits at the start of the record that the thread's state points to from
    /// here.
    Record(u16),
    /// 3.11: a byte at the start of that record, all whose bits are to be set.
    RecordMask(u16),
}

/// The first instructions of functions and generators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beginnings {
    /// `RESUME`, and its specialisation; with the argument 0 it is the very beginning of a
    /// function.
    pub resume: [u8; 2],
    /// `RETURN_GENERATOR`, the last instruction of a generator's frame when it is made.
    pub return_generator: u8,
}

/// In a thread's state of 3.11, `cframe`: the record on the C stack.
pub(super) const RECORD_3_11: u16 = 56;

/// The blocks of a frame object: `f_blockstack`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Their number, in 32 bits: `f_iblock`.
    pub count: u16,
    /// The first one. Each has three numbers of 32 bits: its kind, its handler, a level.
    pub first: u16,
    /// The bytes for which a handler counts as one.
    pub unit: u32,
}

impl Blocks {
    /// The size of a block.
    pub const BYTES: u64 = 12;
    /// The most blocks of a frame.
    pub const MOST: u32 = 20;
    /// The kind of a block with a handler: `SETUP_FINALLY`.
    pub const HAS_HANDLER: u32 = 122;
}

pub(super) const PYTHON_3_8: Profiler = Profiler {
    functions: 56,
    tracing: 44,
    switch: Switch::State(48),
    counts_tracing_threads: true,
    has_frame_evaluation: false,
    has_static_interpreter: false,
    line: 108,
    beginnings: None,
    blocks: Some(Blocks {
        count: 112,
        first: 120,
        unit: 1,
    }),
    handlers: None,
};

pub(super) const PYTHON_3_9: Profiler = Profiler {
    has_frame_evaluation: true,
    ..PYTHON_3_8
};

pub(super) const PYTHON_3_10: Profiler = Profiler {
    switch: Switch::Record(48),
    counts_tracing_threads: false,
    line: 100,
    blocks: Some(Blocks {
        count: 104,
        first: 112,
        unit: 2,
    }),
    ..PYTHON_3_9
};

pub(super) const PYTHON_3_11: Profiler = Profiler {
    functions: 64,
    switch: Switch::RecordMask(RECORD_3_11),
    has_static_interpreter: true,
    line: 40,
    beginnings: Some(Beginnings {
        resume: [151, 150],
        return_generator: 75,
    }),
    blocks: None,
    handlers: Some(40),
    ..PYTHON_3_10
};
