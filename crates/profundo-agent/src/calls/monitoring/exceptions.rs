//! Exceptions, as `sys.monitoring` reports them. Code that raises none runs as fast as ever.

use profundo_cpython::objects::exception;
use profundo_probe::calls::Course;

use super::{Event, Local, argument, elsewhere, everywhere, number, with};
use crate::calls::api::{Calls, Object};
use crate::calls::exceptions::{self, Arrival, Place, note};
use crate::calls::state::state;
use crate::inject::field;

/// The events of exceptions.
pub const EVENTS: [Event; 6] = [
    everywhere(c"RAISE", raised),
    everywhere(c"RERAISE", raised_on),
    everywhere(c"EXCEPTION_HANDLED", handled),
    everywhere(c"PY_THROW", thrown),
    everywhere(c"PY_UNWIND", left),
    elsewhere(c"LINE", line),
];

/// Lines, in functions that have a handler with several clauses.
pub static ASKED: Local = Local::new();

/// Sets up the events of exceptions.
///
/// # Safety
/// The lock is held, and `module` is `sys.monitoring`.
pub unsafe fn begin(calls: &'static Calls, module: Object, tool: Object) -> Option<()> {
    // SAFETY: the caller vouches.
    unsafe { ASKED.begin(calls, module, tool, &[c"LINE"]) }
}

/// The arguments `code, offset, exception`: the place, the exception, and its traceback or 0.
///
/// # Safety
/// `arguments` are these three.
#[inline]
unsafe fn three(arguments: *const u64) -> (Place, u64, u64) {
    // SAFETY: the caller vouches.
    unsafe {
        let exception = argument(arguments, 2);
        let place = (argument(arguments, 0), number(argument(arguments, 1)));
        (place, exception, field(exception, exception::TRACEBACK))
    }
}

unsafe extern "C" fn raised(_: Object, arguments: *const u64, count: usize, _: Object) -> Object {
    // SAFETY: exceptions are reported with these, and with the lock held.
    unsafe {
        with(count, 3, |state| {
            let (place, exception, traceback) = three(arguments);
            let arrival = Arrival {
                exception,
                traceback,
                frame: (state.calls.frame)(),
                goes_on: false,
            };
            exceptions::arrive(state, place, arrival);
        })
    }
}

unsafe extern "C" fn raised_on(
    _: Object,
    arguments: *const u64,
    count: usize,
    _: Object,
) -> Object {
    // SAFETY: as above.
    unsafe {
        with(count, 3, |state| {
            let (place, exception, traceback) = three(arguments);
            exceptions::raise_on(state, place, exception, traceback);
        })
    }
}

unsafe extern "C" fn handled(_: Object, arguments: *const u64, count: usize, _: Object) -> Object {
    // SAFETY: as above.
    unsafe {
        with(count, 3, |state| {
            let (place, exception, traceback) = three(arguments);
            let catcher = exceptions::catch(state, place, exception);
            let notes = catcher.map_or(0, |catcher| catcher.notes);
            if notes & note::CLAUSES != 0 && exceptions::asks_first(state, place.0) {
                ASKED.ask_for(state.calls, place.0);
            }
            if notes & note::GROUPS != 0 {
                state.group = (exception, traceback);
            }
        })
    }
}

/// An exception is thrown into a generator that is paused: the one that a handler has got, or a new
/// one.
unsafe extern "C" fn thrown(_: Object, arguments: *const u64, count: usize, _: Object) -> Object {
    // SAFETY: as above.
    unsafe {
        with(count, 3, |state| {
            let (_, exception, traceback) = three(arguments);
            let is_known = state.tree.course(exception) == Course::Ended;
            if is_known && traceback != 0 && traceback != state.calls.none as u64 {
                state.tree.goes_on(exception);
            }
        })
    }
}

unsafe extern "C" fn left(_: Object, arguments: *const u64, count: usize, _: Object) -> Object {
    // SAFETY: as above.
    unsafe {
        with(count, 3, |state| {
            let (_, exception, _) = three(arguments);
            exceptions::leave(state, exception);
        })
    }
}

/// `code, line`.
unsafe extern "C" fn line(_: Object, arguments: *const u64, count: usize, _: Object) -> Object {
    // SAFETY: lines are reported with these, and with the lock held.
    unsafe {
        let mut is_clause = true;
        let answer = with(count, 2, |state| {
            let number = number(argument(arguments, 1));
            is_clause = exceptions::line(state, argument(arguments, 0), number);
        });
        match is_clause && state().is_some() {
            true => answer,
            false => ASKED.no_more(),
        }
    }
}
