//! Up to 3.11: the function that the interpreter calls for each thread that has one set.
//!
//! It is set by writing it where the interpreter has it, since its own ways to do that tell the program's audit hooks, and know
//! only the calling thread. A thread gets it before it is made: by then the interpreter has written down that it will be.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use profundo_cpython::{Layout, is_holder};
use profundo_probe::calls::Described;
use profundo_probe::shared::refusal;

use super::api::{Calls, Object};
use super::describe::{self, There, word};
use super::frames;
use super::state::{State, Wanted, state};
use crate::inject::Api;
use crate::symbols::{self, Scope};

/// What is told.
mod event {
    pub const CALL: i32 = 0;
    pub const LINE: i32 = 2;
    pub const RETURN: i32 = 3;
    pub const C_CALL: i32 = 4;
    pub const C_EXCEPTION: i32 = 5;
    pub const C_RETURN: i32 = 6;
}

/// Of a thread's state.
mod field {
    pub const TRACING: u64 = 44;
    /// Up to 3.9 a number; then a pointer to what begins with that number.
    pub const USES_TRACING: u64 = 48;
    pub const FRAME_3_11: u64 = 56;
    /// The profiler's function, the tracer's, and the objects that they are called with, in the same order.
    pub const FUNCTIONS: u64 = 56;
    pub const FUNCTIONS_3_11: u64 = 64;
    /// Of a frame object: its code, and the instruction that it is at.
    pub const CODE: u64 = 32;
    pub const LINE: u64 = 108;
    pub const LINE_3_10: u64 = 100;
    pub const LINE_3_11: u64 = 40;
    pub const BACK: u64 = 24;
    pub const INSTRUCTION: u64 = 104;
    pub const INSTRUCTION_3_10: u64 = 96;
    /// In 3.11, the frame itself.
    pub const INNER: u64 = 24;
    /// Of a function of C's, its definition.
    pub const METHOD: u64 = 16;
}

/// Whether ours is set. `sys.getprofile()` says that nothing is: there is no object to it.
static IS_SET: AtomicBool = AtomicBool::new(false);
/// Set while we set something ourselves.
static IS_OURS: AtomicBool = AtomicBool::new(false);
/// The interpreter's runtime, for its list of threads.
static RUNTIME: AtomicU64 = AtomicU64::new(0);

/// Sets it for all threads.
///
/// # Safety
/// The lock is held.
pub unsafe fn begin(api: &'static Api, calls: &Calls, wanted: Wanted) -> Result<(), c_int> {
    // SAFETY: the caller vouches.
    unsafe {
        let own = (calls.thread)();
        let how = match wanted.has_lines {
            true => How::Traces,
            false => How::Profiles,
        };
        if word(own + how.functions_at(api.layout.minor)) != 0 {
            return Err(refusal::HAS_PROFILER);
        }
        let runtime = api.runtime;
        RUNTIME.store(runtime, Ordering::Relaxed);
        HOW.store(how as u32, Ordering::Relaxed);
        match how {
            How::Profiles => {}
            How::Traces => {
                super::lines::offer(calls, |_, _| {});
                trace_here().ok_or(refusal::NO_INTERPRETER)?;
            }
        }
        let has_frames = how == How::Profiles
            && !wanted.has_builtins
            && api.layout.minor >= frames::OLDEST
            && frames::begin();
        if !has_frames {
            IS_SET.store(true, Ordering::Release);
            set_for_all(api, calls);
        }
        watch_others(calls);
    }
    Ok(())
}

/// Sets it for all threads, in the middle of the program.
///
/// # Safety
/// The lock is held, and calls are counted.
pub unsafe fn take_over() {
    let (Ok(api), Some(calls)) = (crate::inject::api(), super::api::find()) else {
        return;
    };
    IS_SET.store(true, Ordering::Release);
    // SAFETY: the caller vouches.
    unsafe { set_for_all(api, calls) };
    let functions = How::now().functions_at(api.layout.minor);
    let mut has_others = false;
    let runtime = RUNTIME.load(Ordering::Relaxed);
    api.threads.each(&mut There, runtime, |thread, _| {
        // SAFETY: as in `set_for_all`.
        has_others |= unsafe { word(thread + functions) } != How::now().function();
    });
    if has_others {
        note_other();
    }
}

/// Somebody else is told of calls, in our place.
pub fn note_other() {
    // SAFETY: only a number of the file is written.
    if let Some(state) = unsafe { state() } {
        let header = &state.tree.file().header;
        header.is_replaced.store(1, Ordering::Relaxed);
    }
}

/// What is set for each thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum How {
    /// What is called for each call.
    Profiles = 0,
    /// What is called for each line as well.
    Traces = 1,
}

static HOW: AtomicU32 = AtomicU32::new(How::Profiles as u32);

impl How {
    fn now() -> Self {
        match HOW.load(Ordering::Relaxed) {
            0 => Self::Profiles,
            _ => Self::Traces,
        }
    }

    /// Where the function is in a thread's state; its object is two words behind.
    fn functions_at(self, minor: u8) -> u64 {
        let first = match minor {
            11 => field::FUNCTIONS_3_11,
            _ => field::FUNCTIONS,
        };
        first + self as u64 * 8
    }

    fn function(self) -> u64 {
        match self {
            Self::Profiles => told as *const () as u64,
            Self::Traces => traced as *const () as u64,
        }
    }
}

/// Has the interpreter tell of whoever sets a profiler or a tracer, which takes our place.
///
/// # Safety
/// The lock is held.
unsafe fn watch_others(calls: &Calls) {
    type Hook = unsafe extern "C" fn(*const c_char, Object, *mut c_void) -> c_int;
    type Add = unsafe extern "C" fn(Hook, *mut c_void) -> c_int;
    unsafe extern "C" fn told(event: *const c_char, _: Object, _: *mut c_void) -> c_int {
        let name = match How::now() {
            How::Profiles => c"sys.setprofile",
            How::Traces => c"sys.settrace",
        };
        // SAFETY: the interpreter tells of an event by a text of C's, with its lock held.
        unsafe {
            let is_in_place = IS_SET.load(Ordering::Relaxed) && !IS_OURS.load(Ordering::Relaxed);
            if is_in_place && CStr::from_ptr(event) == name {
                note_other();
            }
        }
        0
    }
    let mut found = 0;
    symbols::find_all(&[c"PySys_AddAuditHook"], Scope::All, |_, symbol| {
        found = symbol.address;
    });
    // SAFETY: the interpreter's function of that name has that type; no function lies at 0. Ours stays.
    unsafe {
        if let Some(add) = core::mem::transmute::<usize, Option<Add>>(found)
            && add(told, core::ptr::null_mut()) != 0
        {
            calls.drop_error();
        }
    }
}

/// Sets ours for the calling thread as the interpreter does it. Up to 3.9 it counts how many threads trace, and looks at no line
/// while none does.
///
/// # Safety
/// The lock is held.
unsafe fn trace_here() -> Option<()> {
    let set = set_trace()?;
    IS_OURS.store(true, Ordering::Relaxed);
    // SAFETY: the caller vouches; there is no object to it.
    unsafe { set(traced as *const () as u64, core::ptr::null_mut()) };
    IS_OURS.store(false, Ordering::Relaxed);
    Some(())
}

type SetTrace = unsafe extern "C" fn(u64, Object);

/// `PyEval_SetTrace`.
fn set_trace() -> Option<SetTrace> {
    let mut found = 0;
    symbols::find_all(&[c"PyEval_SetTrace"], Scope::All, |_, symbol| {
        found = symbol.address;
    });
    // SAFETY: the interpreter's function of that name has that type; no function lies at 0.
    unsafe { core::mem::transmute::<usize, Option<SetTrace>>(found) }
}

/// The interpreter has written down a thread that is about to be made. The calling thread may hold the lock, or not.
pub fn new_thread() {
    if !IS_SET.load(Ordering::Acquire) || !super::state::is_on() {
        return;
    }
    let Ok(api) = crate::inject::api() else {
        return;
    };
    // SAFETY: whether this thread has the lock is asked of the interpreter itself.
    unsafe {
        if let Some(calls) = super::api::find() {
            let own = (calls.own_thread)();
            let runtime = RUNTIME.load(Ordering::Relaxed);
            if own != 0 && is_holder(&api.layout, &mut There, runtime, own) == Some(true) {
                set_for_all(api, calls);
            }
        }
    }
}

/// # Safety
/// The lock is held.
unsafe fn set_for_all(api: &Api, calls: &Calls) {
    let minor = api.layout.minor;
    let runtime = RUNTIME.load(Ordering::Relaxed);
    api.threads.each(&mut There, runtime, |thread, _| {
        // SAFETY: the lock is held: it is a thread's state, which nobody changes meanwhile.
        unsafe { set(minor, calls, thread) };
    });
}

/// # Safety
/// The lock is held, and `thread` is a thread's state.
unsafe fn set(minor: u8, calls: &Calls, thread: u64) {
    let how = How::now();
    let functions = thread + how.functions_at(minor);
    // SAFETY: the caller vouches; these are parts of the state.
    unsafe {
        // Somebody else's, or ours.
        if word(functions) != 0 {
            return;
        }
        let put = |at: u64, value: u64| (at as *mut u64).write(value);
        put(functions, how.function());
        let own = (calls.thread)();
        if minor <= 9 && how == How::Traces && own != thread {
            // One more that traces: whoever stops tracing there is counted off.
            // What is set here, which may be somebody else's, is put back.
            let here = own + how.functions_at(minor);
            let before = [word(here), word(here + 16)];
            put(here, 0);
            put(here + 16, 0);
            let _ = trace_here();
            put(here, before[0]);
            put(here + 16, before[1]);
        }
        let is_tracing = ((thread + field::TRACING) as *const i32).read() != 0;
        let flag: u8 = match minor {
            11 => 255,
            _ => 1,
        };
        if is_tracing {
            return;
        }
        match minor {
            ..=9 => ((thread + field::USES_TRACING) as *mut i32).write(1),
            10 => {
                let frame = word(thread + field::USES_TRACING);
                (frame as *mut i32).write(i32::from(flag));
            }
            _ => {
                let frame = word(thread + field::FRAME_3_11);
                (frame as *mut u8).write(flag);
            }
        }
    }
}

/// The code object of a frame.
///
/// # Safety
/// It is a frame object.
#[inline]
unsafe fn code_of(layout: &Layout, frame: u64) -> u64 {
    // SAFETY: the caller vouches.
    unsafe {
        match layout.minor {
            11 => word(word(frame + field::INNER) + u64::from(layout.code)),
            _ => word(frame + field::CODE),
        }
    }
}

/// Whether a frame that is told of as begun goes on.
///
/// # Safety
/// It is a frame object.
#[inline]
pub unsafe fn goes_on(layout: &Layout, frame: u64) -> bool {
    /// What a function begins with, and what that becomes; with 0, at its very beginning.
    const RESUME: [u8; 2] = [151, 150];
    // SAFETY: the caller vouches.
    unsafe {
        match layout.minor {
            11 => {
                let at = word(word(frame + field::INNER) + u64::from(layout.instruction));
                let [operation, argument] = (at as *const [u8; 2]).read();
                !RESUME.contains(&operation) || argument != 0
            }
            10 => ((frame + field::INSTRUCTION_3_10) as *const i32).read() >= 0,
            _ => ((frame + field::INSTRUCTION) as *const i32).read() >= 0,
        }
    }
}

type CallerOf = unsafe extern "C" fn(u64) -> u64;

/// `PyFrame_GetBack`, where there is one. What it gives is to be released.
fn caller_of() -> Option<CallerOf> {
    let mut found = 0;
    symbols::find_all(&[c"PyFrame_GetBack"], Scope::All, |_, symbol| {
        found = symbol.address;
    });
    // SAFETY: the interpreter's function of that name has that type; no function lies at 0.
    unsafe { core::mem::transmute::<usize, Option<CallerOf>>(found) }
}

/// Notes what runs already: those functions have been called once.
///
/// # Safety
/// The lock is held.
pub unsafe fn note_running(api: &Api, calls: &Calls) {
    if frames::are_ours() {
        // Nobody will tell of their ends.
        return;
    }
    // SAFETY: the caller vouches.
    let (layout, frame) = (&api.layout, unsafe { (calls.frame)() });
    let how = How::now();
    /// Deeper than anything is when the interpreter begins.
    const DEEP: usize = 256;
    let caller_of = caller_of();
    let mut frames = [0; DEEP];
    let mut count = 0;
    let mut next = frame;
    while next != 0
        && let Some(place) = frames.get_mut(count)
    {
        // SAFETY: the caller vouches, and the callers of a frame are frames. The first one was lent to us, the others given.
        unsafe {
            *place = code_of(layout, next);
            let this = next;
            next = match layout.minor {
                11 => caller_of.map_or(0, |caller_of| caller_of(this)),
                _ => word(this + field::BACK),
            };
            if layout.minor == 11 && count > 0 {
                (calls.release)(this as Object);
            }
        }
        count += 1;
    }
    // SAFETY: the lock is held.
    let Some(state) = (unsafe { state() }) else {
        return;
    };
    for &code in frames.get(..count).unwrap_or_default().iter().rev() {
        // SAFETY: as above.
        unsafe {
            match how {
                How::Profiles => state.enter_code(code, false),
                How::Traces if super::lines::is_looked_at(state, code) => {
                    super::lines::begin(state, code);
                }
                How::Traces => {}
            }
        }
    }
}

/// Called by the interpreter.
unsafe extern "C" fn told(_: Object, frame: u64, what: c_int, argument: Object) -> c_int {
    // SAFETY: the interpreter calls with its lock held.
    let Some(state) = (unsafe { state() }) else {
        return 0;
    };
    // SAFETY: frames are told of as frame objects, and functions of C's as such.
    unsafe {
        match what {
            event::CALL => {
                let code = code_of(&state.layout, frame);
                let goes_on = goes_on(&state.layout, frame);
                state.enter_code(code, goes_on);
            }
            event::RETURN => {
                let now = state.now();
                if let Some(stack) = state.stack() {
                    let code = code_of(&state.layout, frame);
                    if !frames::is_ours(stack, code) {
                        state.tree.leave(stack, code, now);
                    }
                }
            }
            event::C_CALL if state.has_builtins => enter_function(state, argument as u64),
            event::C_RETURN | event::C_EXCEPTION if state.has_builtins => {
                let now = state.now();
                if let Some(stack) = state.stack() {
                    let method = word(argument as u64 + field::METHOD);
                    state.tree.leave(stack, method, now);
                }
            }
            _ => {}
        }
    }
    0
}

/// # Safety
/// The lock is held, and it is a function of C's.
#[inline]
unsafe fn enter_function(state: &mut State, function: u64) {
    let Some(stack) = state.stack() else { return };
    let (layout, calls, uses_cpu) = (state.layout, state.calls, state.uses_cpu());
    // SAFETY: as the caller says.
    let method = unsafe { word(function + field::METHOD) };
    let describe = |tell: &mut dyn FnMut(Described<'_>)| {
        // SAFETY: as the caller says.
        unsafe { describe::function(calls, &layout, function, tell) };
    };
    state.tree.enter(
        stack,
        (method, false),
        || super::state::time(uses_cpu),
        describe,
    );
}

/// Called by the interpreter where lines are looked at.
unsafe extern "C" fn traced(_: Object, frame: u64, what: c_int, _: Object) -> c_int {
    // SAFETY: the interpreter calls with its lock held.
    let Some(state) = (unsafe { state() }) else {
        return 0;
    };
    // SAFETY: frames are told of as frame objects.
    unsafe {
        let code = code_of(&state.layout, frame);
        match what {
            event::CALL if super::lines::is_looked_at(state, code) => {
                super::lines::begin(state, code);
            }
            event::LINE => {
                let at = match state.layout.minor {
                    11 => field::LINE_3_11,
                    10 => field::LINE_3_10,
                    _ => field::LINE,
                };
                let line = ((frame + at) as *const u32).read();
                super::lines::line(state, code, line);
            }
            event::RETURN => super::lines::end(state, code),
            _ => {}
        }
    }
    0
}
