//! Lines, as `sys.monitoring` reports them: only in the chosen functions, so that all others run as
//! fast as ever.

use core::ffi::{CStr, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicI64, AtomicPtr, Ordering};

use profundo_cpython::objects::int;

use super::{Event, argument, attribute, elsewhere, everywhere, with};
use crate::calls::api::{Calls, Object};
use crate::calls::lines;
use crate::calls::state::{State, state};

/// The events of lines.
pub const EVENTS: [Event; 7] = [
    everywhere(c"PY_START", started),
    everywhere(c"PY_THROW", resumed),
    everywhere(c"PY_UNWIND", left),
    elsewhere(c"PY_RESUME", resumed),
    elsewhere(c"PY_RETURN", left),
    elsewhere(c"PY_YIELD", left),
    elsewhere(c"LINE", line),
];

/// The events that are asked for function by function.
const LOCAL: [&CStr; 4] = [c"PY_RESUME", c"PY_RETURN", c"PY_YIELD", c"LINE"];

/// `sys.monitoring`'s function for that, our tool number, and the events as one number; the answer
/// that disables further events of a place.
static SET: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static TOOL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static WANTED: AtomicI64 = AtomicI64::new(0);
static DISABLE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Sets up the events of lines.
///
/// # Safety
/// The lock is held, and `module` is `sys.monitoring`.
pub unsafe fn begin(calls: &'static Calls, module: Object, tool: Object) -> Option<()> {
    // SAFETY: the caller vouches; what is kept stays.
    unsafe {
        let set = attribute(calls, module, c"set_local_events");
        let disable = attribute(calls, module, c"DISABLE");
        let events = attribute(calls, module, c"events");
        if set.is_null() || disable.is_null() || events.is_null() {
            return None;
        }
        let mut wanted = 0;
        for name in LOCAL {
            let number = attribute(calls, events, name);
            if number.is_null() {
                return None;
            }
            wanted |= (calls.number)(number);
            (calls.release)(number);
        }
        (calls.release)(events);
        (calls.retain)(tool);
        TOOL.store(tool, Ordering::Relaxed);
        WANTED.store(wanted, Ordering::Relaxed);
        DISABLE.store(disable, Ordering::Relaxed);
        SET.store(set, Ordering::Release);
        lines::offer(calls, ask_for);
    }
    Some(())
}

/// Enables the line events of a function. The lock is held.
///
/// # Safety
/// `code` is a code object.
unsafe fn ask_for(state: &mut State, code: u64) {
    let calls = state.calls;
    let nothing: Object = null_mut();
    let (set, tool) = (SET.load(Ordering::Acquire), TOOL.load(Ordering::Relaxed));
    // SAFETY: the caller vouches. The list of arguments ends with a null pointer.
    unsafe {
        let wanted = (calls.new_number)(WANTED.load(Ordering::Relaxed));
        let answer = (calls.call)(set, tool, code as Object, wanted, nothing);
        match answer.is_null() {
            true => calls.drop_error(),
            false => (calls.release)(answer),
        }
        (calls.release)(wanted);
    }
}

/// Notes that a function runs already.
///
/// # Safety
/// `code` is a code object, and the lock is held.
pub unsafe fn note_running(state: &mut State, code: u64) {
    // SAFETY: the caller vouches.
    unsafe {
        if lines::is_counted(state, code) {
            lines::begin(state, code);
            ask_for(state, code);
        }
    }
}

/// The answer that disables further events of this place.
fn no_more() -> Object {
    DISABLE.load(Ordering::Relaxed)
}

/// `code, offset`.
unsafe extern "C" fn started(_: Object, arguments: *const u64, count: usize, _: Object) -> Object {
    // SAFETY: events of code are reported with it, and with the lock held.
    unsafe {
        if count & (usize::MAX >> 1) == 0 {
            return with(count, 1, |_| {});
        }
        let code = argument(arguments, 0);
        let Some(state) = state() else {
            return no_more();
        };
        let was_known = matches!(
            state.tree.line_tracing(code),
            profundo_probe::calls::LineTracing::Yes
        );
        if !lines::is_counted(state, code) {
            return no_more();
        }
        lines::begin(state, code);
        let is_once = state.is_once;
        // Where the beginning of a function is reported only once, its lines may be known before.
        if !was_known || is_once {
            ask_for(state, code);
        }
        match is_once {
            true => no_more(),
            false => with(count, 1, |_| {}),
        }
    }
}

/// `code, offset`, and possibly an exception.
unsafe extern "C" fn resumed(_: Object, arguments: *const u64, count: usize, _: Object) -> Object {
    // SAFETY: as above.
    unsafe {
        with(count, 1, |state| {
            let code = argument(arguments, 0);
            if matches!(
                state.tree.line_tracing(code),
                profundo_probe::calls::LineTracing::Yes
            ) {
                lines::begin(state, code);
            }
        })
    }
}

/// `code, offset`, and the result.
unsafe extern "C" fn left(_: Object, arguments: *const u64, count: usize, _: Object) -> Object {
    // SAFETY: as above.
    unsafe { with(count, 1, |state| lines::end(state, argument(arguments, 0))) }
}

/// A small number.
///
/// # Safety
/// `object` is a number of Python's from 0 to 2 to the 30, without the end.
#[inline]
unsafe fn number(object: u64) -> u32 {
    // SAFETY: the caller vouches: it has one digit.
    unsafe { ((object + int::DIGITS) as *const u32).read() }
}

/// `code, line`.
unsafe extern "C" fn line(_: Object, arguments: *const u64, count: usize, _: Object) -> Object {
    // SAFETY: as above.
    unsafe {
        let is_once = state().is_some_and(|state| state.is_once);
        let answer = with(count, 2, |state| {
            let number = number(argument(arguments, 1));
            lines::line(state, argument(arguments, 0), number);
        });
        match is_once {
            true => no_more(),
            false => answer,
        }
    }
}
