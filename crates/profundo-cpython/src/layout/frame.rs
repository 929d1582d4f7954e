//! Frames and the chain that links them.

/// The links between the frames of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chain {
    /// 3.8 to 3.10: the thread state points to the leaf's frame object, and each frame has an
    /// evaluation loop of its own.
    FrameObjects {
        /// Of the frame in the thread state.
        frame: u16,
        /// The factor of the instruction's number: 1, or 2 where it counts code units.
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

/// The parts of `_PyInterpreterFrame`; before 3.11 of `PyFrameObject`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterpreterFrame {
    /// Of its caller.
    pub previous: u16,
    /// Of its code object.
    pub code: u16,
    /// Of its function; not before 3.11.
    pub function: u16,
    /// Of its instruction: its address from 3.11 on, before that its number.
    pub instruction: u16,
    /// Of the global variables.
    pub globals: u16,
    /// Of the dictionary of its variables, if it has one, as that of a class or a module.
    pub namespace: u16,
    /// Of its first local variable.
    pub locals: u16,
    /// Of the byte with its owner; 0 before 3.11.
    pub owner: u16,
}
