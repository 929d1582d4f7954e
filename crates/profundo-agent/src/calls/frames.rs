//! Up to 3.11, where C functions are not counted: the interpreter has every frame evaluated by our
//! function, which hands it to the interpreter's own.
//!
//! With a profile function set, an interpreter of these versions checks at each instruction whether
//! there is an event to report, which costs more than all else. But 3.11 alone uses no machine
//! stack for a call from Python to Python; with our function it does, and earlier versions use a
//! little more. So once a thread has used a quarter of its stack this ends for good, and a profile
//! function counts the calls from then on.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use profundo_cpython::{Layout, flag, owner};
use profundo_probe::sys;

use super::api::Object;
use super::profile;
use super::state::{is_on, state};
use crate::inject::{Kept, table, word};
use crate::process;

/// Takes a thread's state, a frame, and whether an exception is thrown into it. A thread that is
/// ended meanwhile unwinds through it.
type Evaluate = unsafe extern "C-unwind" fn(u64, u64, c_int) -> Object;

table! {
    /// The interpreter's functions for it, and those that describe a thread's stack.
    Evaluation {
        interpreter: c"PyInterpreterState_Get" as unsafe extern "C" fn() -> u64,
        set_by: c"_PyInterpreterState_GetEvalFrameFunc" as unsafe extern "C" fn(u64) -> u64,
        set: c"_PyInterpreterState_SetEvalFrameFunc" as unsafe extern "C" fn(u64, Evaluate),
        evaluate: c"_PyEval_EvalFrameDefault" as Evaluate,
        own_thread: c"pthread_self" as unsafe extern "C" fn() -> libc::pthread_t,
        attributes: c"pthread_getattr_np" as unsafe extern "C" fn(libc::pthread_t, *mut libc::pthread_attr_t) -> c_int,
        stack: c"pthread_attr_getstack" as unsafe extern "C" fn(*const libc::pthread_attr_t, *mut *mut c_void, *mut usize) -> c_int,
        forget: c"pthread_attr_destroy" as unsafe extern "C" fn(*mut libc::pthread_attr_t) -> c_int,
    }
}

static FOUND: Kept<Evaluation> = Kept::new();
/// The interpreter's own way to evaluate a frame.
static DEFAULT: AtomicUsize = AtomicUsize::new(0);
/// The interpreter whose frames we evaluate; 0: none.
static INTERPRETER: AtomicU64 = AtomicU64::new(0);

fn found() -> Option<&'static Evaluation> {
    // SAFETY: these are the types of the functions of these names.
    let find = || unsafe { Evaluation::find() }.ok_or(());
    FOUND.get((), find).ok()
}

/// Has the interpreter's frames evaluated by us. `false`: it cannot be done, or another tool
/// evaluates them.
///
/// # Safety
/// The lock is held.
pub unsafe fn begin() -> bool {
    let Some(found) = found() else { return false };
    // SAFETY: the caller vouches.
    unsafe {
        let interpreter = (found.interpreter)();
        let default = found.evaluate as *const () as u64;
        if (found.set_by)(interpreter) != default {
            return false;
        }
        DEFAULT.store(default as usize, Ordering::Release);
        INTERPRETER.store(interpreter, Ordering::Release);
        (found.set)(interpreter, evaluate);
    }
    true
}

/// True if frames are evaluated by us.
pub fn are_ours() -> bool {
    INTERPRETER.load(Ordering::Relaxed) != 0
}

/// True if another tool has replaced our function.
pub fn were_taken(layout: &Layout) -> bool {
    let interpreter = INTERPRETER.load(Ordering::Relaxed);
    // SAFETY: the first interpreter is a part of the runtime, and never unmapped; nothing but a
    // word of it is read. Otherwise it may be gone by now.
    interpreter != 0
        && layout
            .profiler
            .is_some_and(|fields| fields.has_static_interpreter)
        && found().is_some_and(|found| unsafe {
            (found.set_by)(interpreter) != evaluate as *const () as u64
        })
}

/// Leaves frames to the interpreter, which reports calls from now on.
///
/// # Safety
/// The lock is held.
#[cold]
unsafe fn retire() {
    // SAFETY: the caller vouches.
    unsafe {
        if end() && is_on() {
            profile::take_over();
        }
    }
}

/// Leaves frames to the interpreter. `false`: they were not ours.
///
/// # Safety
/// The lock is held.
pub unsafe fn end() -> bool {
    let interpreter = INTERPRETER.swap(0, Ordering::Relaxed);
    let Some(found) = found().filter(|_| interpreter != 0) else {
        return false;
    };
    // SAFETY: the caller vouches. A function that another tool has set is left alone.
    unsafe {
        if (found.set_by)(interpreter) == evaluate as *const () as u64 {
            (found.set)(interpreter, found.evaluate);
        }
    }
    true
}

/// Called by the interpreter for each frame that it begins or resumes.
unsafe extern "C-unwind" fn evaluate(thread: u64, frame: u64, throws: c_int) -> Object {
    // SAFETY: it was stored before this function could be called, and is such a function.
    let default =
        unsafe { core::mem::transmute::<usize, Evaluate>(DEFAULT.load(Ordering::Relaxed)) };
    // SAFETY: the interpreter calls with its lock held, and with a frame.
    let code = unsafe { enter(frame) };
    // SAFETY: handed on as it came.
    let result = unsafe { default(thread, frame, throws) };
    if code != 0 {
        // SAFETY: the interpreter holds its lock again.
        if let Some(state) = unsafe { state() } {
            let now = state.now();
            if let Some(stack) = state.stack() {
                state.tree.leave(stack, code, now);
            }
        }
    }
    result
}

/// Notes that a frame begins, or goes on. Returns its code object; 0: it does not count, or is
/// counted elsewhere.
///
/// # Safety
/// `frame` is a frame, and the lock is held.
#[inline(always)]
unsafe fn enter(frame: u64) -> u64 {
    let here = 0_u8;
    let place = &raw const here as u64;
    // SAFETY: the caller vouches.
    unsafe {
        let Some(state) = state() else {
            retire();
            return 0;
        };
        if !state.has_stack_left(frame, place) {
            retire();
            return 0;
        }
        let code = word(frame + u64::from(state.layout.frame.code));
        let Some(goes_on) = goes_on(&state.layout, frame, code) else {
            return 0;
        };
        state.enter_code(code, goes_on);
        if let Some(top) = state.stack().and_then(|stack| stack.open.top_mut()) {
            top.place = OURS;
        }
        code
    }
}

/// Marks a call whose end we see.
const OURS: u32 = 1;

/// True if we evaluate the frame of the innermost call: then its end, which the interpreter reports
/// as well, is seen here.
#[inline]
pub fn is_ours(stack: &profundo_probe::calls::Stack, code: u64) -> bool {
    let top = stack.open.top();
    top.is_some_and(|top| top.place == OURS && top.key == code)
}

/// True if the frame resumes its code, false if it begins it. `None`: it only makes its generator.
///
/// # Safety
/// `frame` is a frame of this code object.
#[inline]
unsafe fn goes_on(layout: &Layout, frame: u64, code: u64) -> Option<bool> {
    /// Of a code object: it makes a generator, a coroutine, or an asynchronous generator.
    const MAKES_GENERATOR: u32 = flag::GENERATOR | flag::COROUTINE | flag::ASYNC_GENERATOR;
    let Some(beginnings) = layout.profiler.and_then(|fields| fields.beginnings) else {
        // SAFETY: the caller vouches, and such a frame is an object. It does not run to make a
        // generator.
        return Some(unsafe { profile::goes_on(layout, frame) });
    };
    // SAFETY: the caller vouches; these are parts of both.
    unsafe {
        let flags = ((code + u64::from(layout.code.flags)) as *const u32).read();
        if flags & MAKES_GENERATOR == 0 {
            return Some(false);
        }
        let of = ((frame + u64::from(layout.frame.owner)) as *const u8).read();
        let last = word(frame + u64::from(layout.frame.instruction));
        (of == owner::GENERATOR).then(|| (last as *const u8).read() != beginnings.return_generator)
    }
}

/// The part of the calling thread's stack on which we evaluate frames: where it begins, and how
/// long it is.
#[cold]
pub fn part_of_stack(place: u64) -> (u64, u64) {
    /// The size where the first thread's stack has no limit.
    const USUAL: u64 = 8 << 20;
    /// The bytes that are assumed to lie above the first frame met.
    const ABOVE: u64 = 64 << 10;
    const NOTHING: (u64, u64) = (0, 1);
    if sys::thread_id() == process::process_id() {
        let size = process::stack_limit().unwrap_or(USUAL);
        let part = size.min(USUAL) / 4;
        return (place.saturating_sub(part), part + ABOVE);
    }
    let Some(found) = found() else { return NOTHING };
    let mut attributes = core::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut lowest, mut size) = (core::ptr::null_mut(), 0);
    // SAFETY: the first call fills the attributes in, unless it fails.
    unsafe {
        if (found.attributes)((found.own_thread)(), attributes.as_mut_ptr()) != 0 {
            return NOTHING;
        }
        (found.stack)(attributes.as_ptr(), &mut lowest, &mut size);
        (found.forget)(attributes.as_mut_ptr());
    }
    let size = size as u64;
    (lowest as u64 + size / 4 * 3, size / 4)
}
