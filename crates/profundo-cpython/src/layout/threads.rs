//! Thread states and the lists of them.

/// The anchors of the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadList {
    /// In the runtime, of the newest interpreter.
    pub(crate) interpreters: u16,
    /// In an interpreter, of the one before it.
    pub(crate) next_interpreter: u16,
    /// In an interpreter, of its newest state.
    pub(crate) states: u16,
    /// In a state, of the one before it.
    pub(crate) next_state: u16,
    /// In a state, of its thread.
    pub(crate) thread: Thread,
    /// In an interpreter, of the dictionary `sys.modules`.
    pub(crate) modules: u16,
}

/// The field by which a state identifies its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thread {
    /// By its `pthread_self`, here.
    Pointer(u16),
    /// By the kernel's number, here.
    Number(u16),
}

/// The parts of `PyThreadState`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadState {
    /// Of the thread's `pthread_self`; 0 from 3.12 on, where it is not needed.
    pub thread: u16,
    /// Of the interpreter state.
    pub interpreter: u16,
    /// Whether the interpreter has the calling thread's state in thread-local storage (from 3.14
    /// on), which a library that was loaded at run time may allocate when it is touched.
    pub is_thread_local: bool,
}
