//! Lines, as `sys.monitoring` reports them: only in the chosen functions, so that all others run as
//! fast as ever.

use core::ffi::CStr;

use super::{Event, Local, argument, elsewhere, everywhere, number, with};
use crate::calls::api::{Calls, Object};
use crate::calls::lines;
use crate::calls::state::{State, Wanted, state};
use crate::inject::exclusive;

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

/// Events of generators that began before lines were counted.
pub const OF_RUNNING_GENERATORS: [Event; 1] = [everywhere(c"PY_RESUME", started)];

/// The events that are asked for function by function.
const LOCAL: [&CStr; 4] = [c"PY_RESUME", c"PY_RETURN", c"PY_YIELD", c"LINE"];

pub static ASKED: Local = Local::new();

/// Sets up the events of lines.
///
/// # Safety
/// The lock is held, and `module` is `sys.monitoring`.
pub unsafe fn begin(
    calls: &'static Calls,
    module: Object,
    tool: Object,
    wanted: Wanted,
) -> Option<()> {
    // SAFETY: the caller vouches.
    unsafe {
        ASKED.begin(calls, module, tool, &LOCAL)?;
        // A program that runs already has looked for the name, and cannot be left with it.
        if !wanted.is_late {
            lines::offer(calls, ask_for);
        }
    }
    Some(())
}

/// Enables the line events of a function. The lock is held.
///
/// # Safety
/// `code` is a code object.
pub unsafe fn ask_for(state: &mut State, code: u64) {
    // SAFETY: the caller vouches.
    unsafe { ASKED.ask_for(state.calls, code) };
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

/// `code, offset`.
unsafe extern "C" fn started(_: Object, arguments: *const u64, count: usize, _: Object) -> Object {
    // SAFETY: events of code are reported with it, and with the lock held.
    unsafe {
        if count & (usize::MAX >> 1) == 0 {
            return with(count, 1, |_| {});
        }
        let code = argument(arguments, 0);
        let _alone = exclusive::COUNTS.enter();
        let Some(state) = state() else {
            return ASKED.no_more();
        };
        let was_known = matches!(
            state.tree.line_tracing(code),
            profundo_probe::calls::LineTracing::Yes
        );
        if !lines::is_counted(state, code) {
            return ASKED.no_more();
        }
        lines::begin(state, code);
        let is_once = state.is_once;
        // Where the beginning of a function is reported only once, its lines may be known before.
        if !was_known || is_once {
            ask_for(state, code);
        }
        match is_once {
            true => ASKED.no_more(),
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

/// `code, line`.
unsafe extern "C" fn line(_: Object, arguments: *const u64, count: usize, _: Object) -> Object {
    // SAFETY: as above.
    unsafe {
        let mut is_once = false;
        let answer = with(count, 2, |state| {
            is_once = state.is_once;
            let number = number(argument(arguments, 1));
            lines::line(state, argument(arguments, 0), number);
        });
        match is_once {
            true => ASKED.no_more(),
            false => answer,
        }
    }
}
