//! Up to 3.11: the function that the interpreter calls for each thread that has one set.
//!
//! The function is written straight into the interpreter's thread states, since the interpreter's
//! own functions for that raise audit events, and set only the calling thread's. A thread gets it
//! before it is started: its state exists by then.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use profundo_cpython::objects::c_function;
use profundo_cpython::{Beginnings, Layout, Profiler, Switch, is_holder};
use profundo_probe::calls::Described;
use profundo_probe::shared::refusal;

use super::api::{Calls, Object};
use super::describe;
use super::frames;
use super::state::{State, Wanted, state};
use super::tracing;
use crate::inject::{self, Api, There, field, word};
use crate::symbols::{self, Scope};

/// The events of a profile function.
mod event {
    pub const CALL: i32 = 0;
    pub const EXCEPTION: i32 = 1;
    pub const LINE: i32 = 2;
    pub const RETURN: i32 = 3;
    pub const C_CALL: i32 = 4;
    pub const C_EXCEPTION: i32 = 5;
    pub const C_RETURN: i32 = 6;
}

/// True if our function is set. `sys.getprofile()` returns `None`: ours has no object.
static IS_SET: AtomicBool = AtomicBool::new(false);
/// Set while we set a function ourselves.
static IS_OURS: AtomicBool = AtomicBool::new(false);
/// The interpreter's runtime, for its list of threads.
static RUNTIME: AtomicU64 = AtomicU64::new(0);

/// Sets our function for all threads, at the places that `fields` gives.
///
/// # Safety
/// The lock is held, and the interpreter is one with these fields.
pub unsafe fn begin(
    api: &'static Api,
    fields: &'static Profiler,
    calls: &Calls,
    wanted: Wanted,
) -> Result<(), c_int> {
    // SAFETY: the caller vouches.
    unsafe {
        let thread = (calls.thread)();
        let how = How::of(wanted);
        if word(thread + how.functions_at(fields)) != 0 {
            return Err(refusal::HAS_PROFILER);
        }
        let runtime = api.runtime;
        RUNTIME.store(runtime, Ordering::Relaxed);
        HOW.store(how as u32, Ordering::Relaxed);
        match how {
            How::Profiles => {}
            How::Traces => {
                set_trace().ok_or(refusal::NO_INTERPRETER)?;
                if wanted.has_lines && !wanted.is_late {
                    super::lines::offer(calls, |_, _| {});
                }
            }
        }
        // The ends of frames that run already would not be seen.
        let has_frames = how == How::Profiles
            && !wanted.is_late
            && !wanted.has_builtins
            && fields.has_frame_evaluation
            && frames::begin();
        if !has_frames {
            IS_SET.store(true, Ordering::Release);
            set_for_all(api, fields, calls);
        }
        // What watches cannot be taken back.
        if !wanted.is_late {
            watch_others(calls);
        }
    }
    Ok(())
}

/// True if another tool's function is set for a thread of a program that runs already.
///
/// # Safety
/// As for [`begin`].
pub unsafe fn is_taken(api: &Api, fields: &Profiler, wanted: Wanted) -> bool {
    let functions = How::of(wanted).functions_at(fields);
    let mut is_taken = false;
    api.layout
        .threads
        .each(&mut There, api.runtime, |thread, _| {
            // SAFETY: as in `set_for_all`.
            is_taken |= wanted.is_late && unsafe { word(thread + functions) } != 0;
        });
    is_taken
}

/// True if a function of either kind is set for the calling thread. One that was set without an
/// object is not seen by `sys.getprofile` and `sys.gettrace`.
///
/// # Safety
/// As for [`begin`].
pub unsafe fn is_watched(fields: &Profiler, calls: &Calls) -> bool {
    // SAFETY: the caller vouches; these are parts of the state.
    unsafe {
        let thread = (calls.thread)();
        let set = [How::Profiles, How::Traces].map(|how| word(thread + how.functions_at(fields)));
        set != [0; 2]
    }
}

/// Takes our function back from all threads.
///
/// # Safety
/// The lock is held, and the interpreter is one with these fields.
pub unsafe fn end(api: &Api, fields: &Profiler, calls: &Calls) {
    // SAFETY: the caller vouches.
    unsafe {
        frames::end();
        if !IS_SET.swap(false, Ordering::AcqRel) {
            return;
        }
        let (how, mut has_others) = (How::now(), false);
        let current = (calls.thread)();
        api.layout
            .threads
            .each(&mut There, api.runtime, |thread, _| {
                if !unset(fields, current, how, thread) {
                    let pointer = word(api.layout.threads.pointer_at(thread));
                    has_others |= state().is_some_and(|state| state.knows(pointer));
                }
            });
        set_switch(fields, current);
        if has_others {
            note_other();
        }
    }
}

/// Takes our function back from a thread. `false`: it has another one.
///
/// # Safety
/// The lock is held, by the thread with the state `current`.
unsafe fn unset(fields: &Profiler, current: u64, how: How, thread: u64) -> bool {
    let functions = thread + how.functions_at(fields);
    // SAFETY: the caller vouches; it is a part of the state.
    unsafe {
        if word(functions) != how.function() {
            return false;
        }
        put(functions, 0);
        count_tracing(fields, current, how, Step::Fewer);
        set_switch(fields, thread);
    }
    true
}

/// Calls `f` while our function is set for the calling thread as well, which may be one of ours.
///
/// # Safety
/// As for [`end`].
pub unsafe fn with_current(fields: &Profiler, calls: &Calls, f: impl FnOnce()) {
    // SAFETY: the caller vouches.
    unsafe {
        let current = (calls.thread)();
        let is_lent = inject::is_own_thread(current);
        if is_lent {
            set(fields, calls, current);
        }
        f();
        if is_lent {
            unset(fields, current, How::now(), current);
        }
    }
}

/// Sets our function for all threads of a running program.
///
/// # Safety
/// The lock is held, and calls are counted.
pub unsafe fn take_over() {
    let (Ok(api), Some(calls)) = (inject::api(), super::api::find()) else {
        return;
    };
    let Some(fields) = api.layout.profiler else {
        return;
    };
    IS_SET.store(true, Ordering::Release);
    // SAFETY: the caller vouches.
    unsafe { set_for_all(api, fields, calls) };
    let functions = How::now().functions_at(fields);
    let mut has_others = false;
    let runtime = RUNTIME.load(Ordering::Relaxed);
    api.layout.threads.each(&mut There, runtime, |thread, _| {
        // SAFETY: as in `set_for_all`.
        has_others |= unsafe { word(thread + functions) } != How::now().function();
    });
    if has_others {
        note_other();
    }
}

/// Notes that another tool has replaced our function.
pub fn note_other() {
    // SAFETY: only a number of the file is written.
    if let Some(state) = unsafe { state() } {
        let header = &state.tree.file().header;
        header.is_replaced.store(1, Ordering::Relaxed);
    }
}

/// The kind of function that is set for each thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum How {
    /// A profile function, called for each call.
    Profiles = 0,
    /// A trace function, called for each line as well.
    Traces = 1,
}

static HOW: AtomicU32 = AtomicU32::new(How::Profiles as u32);

impl How {
    fn of(wanted: Wanted) -> Self {
        match wanted.has_calls() {
            true => Self::Profiles,
            false => Self::Traces,
        }
    }

    fn now() -> Self {
        match HOW.load(Ordering::Relaxed) {
            0 => Self::Profiles,
            _ => Self::Traces,
        }
    }

    /// The place of the function in a thread's state.
    fn functions_at(self, fields: &Profiler) -> u64 {
        u64::from(fields.functions) + self as u64 * 8
    }

    fn function(self) -> u64 {
        match self {
            Self::Profiles => profiled as *const () as u64,
            Self::Traces => traced as *const () as u64,
        }
    }
}

/// Watches for a profiler or a tracer that replaces our function.
///
/// # Safety
/// The lock is held.
unsafe fn watch_others(calls: &Calls) {
    type Hook = unsafe extern "C" fn(*const c_char, Object, *mut c_void) -> c_int;
    type Add = unsafe extern "C" fn(Hook, *mut c_void) -> c_int;
    unsafe extern "C" fn audited(event: *const c_char, _: Object, _: *mut c_void) -> c_int {
        let name = match How::now() {
            How::Profiles => c"sys.setprofile",
            How::Traces => c"sys.settrace",
        };
        // SAFETY: the interpreter passes the event's name as a C string, with its lock held.
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
    // SAFETY: the interpreter's function of that name has that type; no function lies at 0. Ours
    // stays.
    unsafe {
        if let Some(add) = core::mem::transmute::<usize, Option<Add>>(found)
            && add(audited, core::ptr::null_mut()) != 0
        {
            calls.drop_error();
        }
    }
}

/// A change of the number of threads that trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    More,
    Fewer,
}

/// Has an interpreter that counts the threads which trace count one more or one fewer: by its own
/// function, which changes only the calling thread's. That one's, which may be another tool's, is
/// put back.
///
/// # Safety
/// The lock is held, and the calling thread has the state `current`.
unsafe fn count_tracing(fields: &Profiler, current: u64, how: How, step: Step) {
    let Some(set) = set_trace().filter(|_| fields.counts_tracing_threads && how == How::Traces)
    else {
        return;
    };
    let (ours, nothing) = (how.function(), 0);
    let (before, after) = match step {
        Step::More => (nothing, ours),
        Step::Fewer => (ours, nothing),
    };
    let here = current + how.functions_at(fields);
    // SAFETY: the caller vouches; these are parts of the state. Ours has no object.
    unsafe {
        let kept = [word(here), word(here + Profiler::TO_OBJECT)];
        put(here, before);
        put(here + Profiler::TO_OBJECT, 0);
        IS_OURS.store(true, Ordering::Relaxed);
        set(after, core::ptr::null_mut());
        IS_OURS.store(false, Ordering::Relaxed);
        put(here, kept[0]);
        put(here + Profiler::TO_OBJECT, kept[1]);
    }
}

/// Writes a word of a thread's state.
///
/// # Safety
/// It is one, and the lock is held.
unsafe fn put(at: u64, value: u64) {
    // SAFETY: the caller vouches.
    unsafe { (at as *mut u64).write(value) };
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

/// Called when the interpreter has made the state of a new thread. The calling thread may hold the
/// lock, or not.
pub fn new_thread() {
    if !IS_SET.load(Ordering::Acquire) || !super::state::is_on() {
        return;
    }
    let Ok(api) = inject::api() else {
        return;
    };
    let Some(fields) = api.layout.profiler else {
        return;
    };
    // SAFETY: whether this thread has the lock is asked of the interpreter itself.
    unsafe {
        if let Some(calls) = super::api::find() {
            let thread = (calls.own_thread)();
            let runtime = RUNTIME.load(Ordering::Relaxed);
            if thread != 0 && is_holder(&api.layout, &mut There, runtime, thread) == Some(true) {
                set_for_all(api, fields, calls);
            }
        }
    }
}

/// # Safety
/// The lock is held, and the interpreter is one with these fields.
unsafe fn set_for_all(api: &Api, fields: &Profiler, calls: &Calls) {
    let runtime = RUNTIME.load(Ordering::Relaxed);
    api.layout.threads.each(&mut There, runtime, |thread, _| {
        if !inject::is_own_thread(thread) {
            // SAFETY: the lock is held: it is a thread's state, which no other thread changes.
            unsafe { set(fields, calls, thread) };
        }
    });
}

/// # Safety
/// The lock is held, and `thread` is a thread's state, which has these fields.
unsafe fn set(fields: &Profiler, calls: &Calls, thread: u64) {
    let how = How::now();
    let functions = thread + how.functions_at(fields);
    // SAFETY: the caller vouches; these are parts of the state.
    unsafe {
        // Another tool's function, or ours.
        if word(functions) != 0 {
            return;
        }
        put(functions, how.function());
        let current = (calls.thread)();
        count_tracing(fields, current, how, Step::More);
        set_switch(fields, thread);
        set_switch(fields, current);
    }
}

/// Has the evaluation loop call a thread's functions, if it has any.
///
/// # Safety
/// The lock is held, and `thread` is a thread's state, which has these fields.
unsafe fn set_switch(fields: &Profiler, thread: u64) {
    let at = |offset: u16| thread + u64::from(offset);
    let of = |how: How| thread + how.functions_at(fields);
    // SAFETY: the caller vouches; these are parts of the state.
    unsafe {
        // A thread that runs such a function sets the switch itself, when it returns.
        if (at(fields.tracing) as *const i32).read() != 0 {
            return;
        }
        let is_on = word(of(How::Profiles)) != 0 || word(of(How::Traces)) != 0;
        match fields.switch {
            Switch::State(place) => (at(place) as *mut i32).write(i32::from(is_on)),
            Switch::Record(place) => (word(at(place)) as *mut i32).write(i32::from(is_on)),
            Switch::RecordMask(place) => {
                let mask = if is_on { u8::MAX } else { 0 };
                (word(at(place)) as *mut u8).write(mask);
            }
        }
    }
}

/// The code object of a frame.
///
/// # Safety
/// `frame` is a frame object.
#[inline]
unsafe fn code_of(layout: &Layout, frame: u64) -> u64 {
    // SAFETY: the caller vouches.
    unsafe { word(evaluated(layout, frame) + u64::from(layout.frame.code)) }
}

/// The frame that a frame object stands for, which before 3.11 is itself.
///
/// # Safety
/// `frame` is a frame object.
#[inline]
unsafe fn evaluated(layout: &Layout, frame: u64) -> u64 {
    match layout.objects.frame_of_object {
        // SAFETY: the caller vouches.
        Some(place) => unsafe { word(frame + u64::from(place)) },
        None => frame,
    }
}

/// True if a frame whose beginning is reported resumes.
///
/// # Safety
/// `frame` is a frame object.
#[inline]
pub unsafe fn goes_on(layout: &Layout, frame: u64) -> bool {
    // SAFETY: the caller vouches.
    unsafe {
        let place = evaluated(layout, frame) + u64::from(layout.frame.instruction);
        match layout.profiler.and_then(|fields| fields.beginnings) {
            Some(Beginnings { resume, .. }) => {
                let [operation, argument] = (word(place) as *const [u8; 2]).read();
                !resume.contains(&operation) || argument != 0
            }
            None => (place as *const i32).read() >= 0,
        }
    }
}

type CallerOf = unsafe extern "C" fn(u64) -> u64;

/// `PyFrame_GetBack`, where there is one. The result is a new reference.
fn caller_of() -> Option<CallerOf> {
    let mut found = 0;
    symbols::find_all(&[c"PyFrame_GetBack"], Scope::All, |_, symbol| {
        found = symbol.address;
    });
    // SAFETY: the interpreter's function of that name has that type; no function lies at 0.
    unsafe { core::mem::transmute::<usize, Option<CallerOf>>(found) }
}

/// Notes the functions that run already: each has been called once.
///
/// # Safety
/// The lock is held.
pub unsafe fn note_running(api: &Api, calls: &Calls) {
    if frames::are_ours() {
        // Their ends will not be reported.
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
        // SAFETY: the caller vouches, and the callers of a frame are frames. The first one is
        // borrowed, the others are new references.
        unsafe {
            *place = code_of(layout, next);
            let this = next;
            next = match layout.has_frame_objects() {
                true => word(this + u64::from(layout.frame.previous)),
                false => caller_of.map_or(0, |caller_of| caller_of(this)),
            };
            if !layout.has_frame_objects() && count > 0 {
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
                How::Traces if state.has_lines && super::lines::is_counted(state, code) => {
                    super::lines::begin(state, code);
                }
                How::Traces => {}
            }
        }
    }
}

/// The profile function: called by the interpreter.
unsafe extern "C" fn profiled(_: Object, frame: u64, what: c_int, argument: Object) -> c_int {
    // SAFETY: the interpreter calls with its lock held.
    let Some(state) = (unsafe { state() }) else {
        return 0;
    };
    // SAFETY: frames arrive as frame objects, and C functions as function objects.
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
                    let method = field(argument as u64, c_function::METHOD);
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
    let uses_cpu = state.uses_cpu();
    let State {
        tree,
        calls,
        layout,
        ..
    } = state;
    // SAFETY: as the caller says.
    let method = unsafe { field(function, c_function::METHOD) };
    let describe = |report: &mut dyn FnMut(Described<'_>)| {
        // SAFETY: as the caller says.
        unsafe { describe::function(calls, layout, function, report) };
    };
    tree.enter(
        stack,
        method,
        false,
        || super::state::time(uses_cpu),
        describe,
    );
}

/// The trace function: called by the interpreter where lines or exceptions are counted.
unsafe extern "C" fn traced(_: Object, frame: u64, what: c_int, argument: Object) -> c_int {
    // SAFETY: the interpreter calls with its lock held.
    let Some(state) = (unsafe { state() }) else {
        return 0;
    };
    let Some(fields) = state.layout.profiler else {
        return 0;
    };
    // SAFETY: frames arrive as frame objects.
    unsafe {
        let code = code_of(&state.layout, frame);
        let line = || ((frame + u64::from(fields.line)) as *const u32).read();
        if state.has_exceptions {
            match what {
                event::CALL => tracing::begin(state),
                event::EXCEPTION => {
                    tracing::exception(state, fields, frame, code, argument as u64);
                }
                event::LINE => tracing::begin_line(state, frame, code, line()),
                event::RETURN => tracing::end(state, frame, argument as u64),
                _ => {}
            }
        }
        if state.has_lines {
            match what {
                event::CALL if super::lines::is_counted(state, code) => {
                    super::lines::begin(state, code);
                }
                event::LINE => super::lines::line(state, code, line()),
                event::RETURN => super::lines::end(state, code),
                _ => {}
            }
        }
    }
    0
}
