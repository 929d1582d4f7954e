//! The handler's knowledge of the interpreter in its process.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use profundo_cpython::{
    Chain, DEBUG_WORDS, Layout, Refusal, Start, is_in_lock, layout_from_debug_offsets, version,
};
use profundo_unwind::Regs;

use super::met_pages::word;
use super::pages::{CheckedMemory, PageCache};
use super::table::CodeTable;

/// Addresses from the first to behind the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    /// The first.
    pub start: u64,
    /// Behind the last.
    pub end: u64,
}

impl Range {
    /// True if an address lies in the range.
    #[inline]
    pub fn holds(self, address: u64) -> bool {
        self.start <= address && address < self.end
    }
}

/// The findings of a normal thread of the process by `dlsym` and `dladdr1`. Each known interpreter
/// exports all of it, stripped ones too.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// CPython 3.what: from `Py_Version` if there is one, or else from the text that
    /// `Py_GetVersion()` returns, which may be called at any time.
    pub minor: u8,
    /// `PyGILState_GetThisThreadState`. Up to 3.13 it only reads a slot of `pthread_getspecific`,
    /// and it returns null before the interpreter is initialised, after it has been finalised and
    /// on threads that it does not know: safe in a handler at any time.
    pub thread_state: unsafe extern "C" fn() -> *mut c_void,
    /// The address of `PyCode_Type`.
    pub code_type: u64,
    /// `_PyRuntime`, with the size that its symbol has (`dladdr1` with `RTLD_DL_SYMENT`).
    pub runtime: Range,
    /// `_PyEval_EvalFrameDefault`, with the size that its symbol has.
    pub function: Range,
    /// True if the library was in the process from its start, as the executable or a library that
    /// the loader loaded with it. From 3.14 on the thread state lies in thread-local storage, which
    /// a library that was loaded later may allocate when it is touched.
    pub is_early: bool,
}

/// Everything the handler needs of the interpreter. It lives as long as the process.
#[derive(Debug)]
pub struct Interpreter {
    pub(super) layout: Layout,
    found: Found,
    /// The addresses of its evaluation loop, as pairs: `Header::evaluation`. Zeros until they are
    /// known.
    evaluation: &'static [AtomicU64; 8],
    /// The known code objects.
    pub codes: CodeTable,
    pages: &'static [PageCache],
}

impl Interpreter {
    /// An interpreter from the findings. `codes` is zeroed, private memory; `pages` likewise, one
    /// for each of the probe's walk caches.
    ///
    /// # Safety
    /// `found` is true: the function and the address of `_PyRuntime` are right.
    pub unsafe fn new(
        found: Found,
        evaluation: &'static [AtomicU64; 8],
        codes: CodeTable,
        pages: &'static [PageCache],
    ) -> Result<Self, Refusal> {
        let mut words = [0; DEBUG_WORDS];
        let kept = (found.runtime.end.saturating_sub(found.runtime.start) / 8) as usize;
        if version::has_debug_offsets(found.minor) {
            for (index, word) in words.iter_mut().take(kept).enumerate() {
                // SAFETY: the word lies in `_PyRuntime`, which is mapped as long as the
                // interpreter.
                *word = unsafe {
                    (found.runtime.start as *const u64)
                        .add(index)
                        .read_volatile()
                };
            }
        }
        let layout = layout_from_debug_offsets(found.minor, &words)?;
        if layout.state.is_thread_local && !found.is_early {
            return Err(Refusal::Late);
        }
        if found.code_type == 0 || found.runtime.start == 0 {
            return Err(Refusal::Symbol);
        }
        Ok(Self {
            layout,
            found,
            evaluation,
            codes,
            pages,
        })
    }

    /// The `x` of CPython 3.x.
    pub fn minor(&self) -> u8 {
        self.layout.minor
    }

    /// The runtime's words for its newest interpreter and its first one, if interpreters may have
    /// locks of their own. Two words that can always be read.
    pub fn interpreters(&self) -> Option<u64> {
        let offset = u64::from(self.layout.interpreters_with_locks()?);
        let Range { start, end } = self.found.runtime;
        (offset + 16 <= end - start).then_some(start + offset)
    }

    /// Whether a condition variable belongs to the own lock of the calling thread's interpreter.
    /// Expensive.
    #[cold]
    pub fn is_own_lock(&self, condition: u64) -> bool {
        let state = self.thread_state();
        state != 0 && is_in_lock(&self.layout, &mut CheckedMemory, state, condition)
    }

    /// In the child of a fork, whose code objects are written anew. It is called at once, while no
    /// other thread exists.
    pub fn reset_after_fork(&self) {
        self.codes.forget();
    }

    pub(super) fn runtime(&self) -> u64 {
        self.found.runtime.start
    }

    /// The calling thread's state; 0 if it has none.
    pub(crate) fn thread_state(&self) -> u64 {
        // SAFETY: it is PyGILState_GetThisThreadState, as `new` was promised, which only looks.
        unsafe { (self.found.thread_state)() as u64 }
    }

    /// A hint that distinguishes the innermost frame of a thread and its instruction from most
    /// others; 0 where there is none.
    ///
    /// # Safety
    /// The calling thread runs with this state, or it is 0.
    #[inline]
    pub(crate) unsafe fn leaf_hint(&self, state: u64) -> u64 {
        // SAFETY: passed on.
        match unsafe { self.leaf_of(state) } {
            0 => 0,
            // Before 3.11 the instruction is half a word, and its neighbour changes as seldom.
            frame => frame ^ word(frame, self.layout.frame.instruction).rotate_left(32),
        }
    }

    /// The innermost frame of a thread; 0 where there is none. Where the interpreter was left
    /// without its notice, as by an exception of C++, it may be anything: a record on the stack
    /// names it in 3.11 and 3.12, and other calls have written there since.
    ///
    /// # Safety
    /// As for [`Self::leaf_hint`].
    #[inline]
    unsafe fn leaf_of(&self, state: u64) -> u64 {
        if state == 0 {
            return 0;
        }
        // SAFETY: the state is the thread's own.
        let of_state = |offset: u16| unsafe {
            (state.wrapping_add(offset.into()) as *const u64).read_unaligned()
        };
        match self.layout.chain {
            Chain::FrameObjects { frame, .. } | Chain::Direct { frame } => of_state(frame),
            Chain::Marked { record, frame, .. } | Chain::Shims { record, frame, .. } => {
                match of_state(record) {
                    0 => 0,
                    record => word(record, frame),
                }
            }
        }
    }

    /// As [`Self::leaf_hint`], for many frames of the thread.
    ///
    /// # Safety
    /// As for that.
    pub(crate) unsafe fn chain_hint(&self, state: u64) -> u64 {
        const MOST: usize = 64;
        let layout = &self.layout;
        // SAFETY: passed on.
        let mut frame = unsafe { self.leaf_of(state) };
        let mut hint = 0_u64;
        for _ in 0..MOST {
            if frame == 0 {
                break;
            }
            let both = frame ^ word(frame, layout.frame.instruction).rotate_left(32);
            hint = (hint.rotate_left(5) ^ both).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            frame = word(frame, layout.frame.previous);
        }
        hint
    }

    /// The page cache with this number, only for the thread that it is lent to.
    pub(super) fn pages(&self, number: Option<u32>) -> Option<&'static PageCache> {
        self.pages.get(number? as usize)
    }

    /// The addresses of the evaluation loop.
    pub(super) fn ranges(&self) -> Ranges {
        let mut ranges = [Range::default(); 4];
        for (range, pair) in ranges.iter_mut().zip(self.evaluation.chunks_exact(2)) {
            if let [start, end] = pair {
                // The writer stores the end first, so that a range is none or whole.
                range.start = start.load(Ordering::Acquire);
                range.end = end.load(Ordering::Relaxed);
                if range.start == 0 {
                    range.end = 0;
                }
            }
        }
        let is_complete = ranges.iter().any(|range| range.end != 0);
        if let (false, Some(first)) = (is_complete, ranges.first_mut()) {
            *first = self.found.function;
        }
        Ranges {
            ranges,
            is_complete,
        }
    }

    /// The inputs of a walk of frames that wait for those in another interpreter.
    pub(super) fn start_below(&self, state: u64) -> Start<'static> {
        Start {
            state,
            code_type: self.found.code_type,
            is_settled: true,
            ..Start::default()
        }
    }

    /// The inputs of a walk of the calling thread.
    pub(super) fn start<'a>(
        &self,
        state: u64,
        registers: &Regs,
        ranges: &Ranges,
        all: &'a [u64],
    ) -> Start<'a> {
        let start = start_of(&self.layout, self.found.function, ranges, registers, all);
        Start {
            state,
            code_type: self.found.code_type,
            ..start
        }
    }
}

/// The evidence of a stopped thread's registers about its frames; its state and the type of code
/// objects are left to the caller. `function` is `_PyEval_EvalFrameDefault`, and `all` the values
/// of all registers.
pub fn start_of<'a>(
    layout: &Layout,
    function: Range,
    ranges: &Ranges,
    registers: &Regs,
    all: &'a [u64],
) -> Start<'a> {
    let is_entering =
        registers.ip.wrapping_sub(function.start) < u64::from(layout.evaluation.entry_bytes);
    let is_known = ranges.is_complete || layout.evaluation.is_one_function && function.end != 0;
    Start {
        is_settled: is_known && !ranges.hold(registers.ip),
        entering: is_entering.then_some(registers.sp),
        registers: all,
        ..Start::default()
    }
}

/// The addresses of the evaluation loop.
#[derive(Debug, Clone, Copy)]
pub struct Ranges {
    ranges: [Range; 4],
    /// False if only one function of the loop is known.
    is_complete: bool,
}

impl Ranges {
    /// Ranges from pairs of the first address and the one behind the last.
    pub fn of(pairs: &[(u64, u64)]) -> Self {
        let mut ranges = [Range::default(); 4];
        for (range, &(start, end)) in ranges.iter_mut().zip(pairs) {
            *range = Range { start, end };
        }
        Self {
            ranges,
            is_complete: true,
        }
    }

    /// True if an address lies in one of the ranges.
    pub fn hold(&self, address: u64) -> bool {
        self.ranges.iter().any(|range| range.holds(address))
    }
}

/// The interpreter of a process, once there is one.
#[derive(Debug, Default)]
pub struct Interpreters(AtomicPtr<Interpreter>);

impl Interpreters {
    /// No interpreter yet.
    pub const fn new() -> Self {
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// Has handlers look at this interpreter from now on.
    pub fn publish(&self, interpreter: &'static Interpreter) {
        // Release pairs with the acquire in `get`: it is filled in when it is seen.
        self.0.store(
            core::ptr::from_ref(interpreter).cast_mut(),
            Ordering::Release,
        );
    }

    /// The interpreter.
    #[inline]
    pub fn get(&self) -> Option<&'static Interpreter> {
        // SAFETY: only `publish` stores one, and what it stores is never freed nor written to.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }
}
