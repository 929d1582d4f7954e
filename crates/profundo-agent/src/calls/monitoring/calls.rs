//! Calls, as `sys.monitoring` reports them.

use core::sync::atomic::{AtomicPtr, Ordering};
use core::{ffi::c_void, ptr::null_mut};

use profundo_cpython::objects::{c_function, method_descriptor, object};
use profundo_probe::calls::Described;

use super::{Event, argument, elsewhere, everywhere, with};
use crate::calls::api::{Calls, Object};
use crate::calls::describe;
use crate::calls::state::{State, time};
use crate::inject::field;

/// The events of calls.
pub const EVENTS: [Event; 6] = [
    everywhere(c"PY_START", started),
    everywhere(c"PY_RESUME", resumed),
    everywhere(c"PY_THROW", resumed),
    everywhere(c"PY_RETURN", left),
    everywhere(c"PY_YIELD", left),
    everywhere(c"PY_UNWIND", left),
];

/// The events of calls of C functions.
pub const OF_BUILTINS: [Event; 3] = [
    everywhere(c"CALL", called),
    elsewhere(c"C_RETURN", returned),
    elsewhere(c"C_RAISE", returned),
];

/// The object that stands for a missing argument.
pub static MISSING: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// The type of C functions that know their class.
pub static METHOD_WITH_CLASS: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// `code, offset`.
unsafe extern "C" fn started(_: Object, arguments: *const u64, count: usize, _: Object) -> Object {
    // SAFETY: events of code are reported with it.
    unsafe {
        with(count, 1, |state| {
            state.enter_code(argument(arguments, 0), false)
        })
    }
}

/// `code, offset`, and possibly an exception.
unsafe extern "C" fn resumed(_: Object, arguments: *const u64, count: usize, _: Object) -> Object {
    // SAFETY: as above.
    unsafe {
        with(count, 1, |state| {
            state.enter_code(argument(arguments, 0), true)
        })
    }
}

/// `code, offset`, and the result.
unsafe extern "C" fn left(_: Object, arguments: *const u64, count: usize, _: Object) -> Object {
    // SAFETY: as above.
    unsafe {
        with(count, 1, |state| {
            let now = state.now();
            if let Some(stack) = state.stack() {
                state.tree.leave(stack, argument(arguments, 0), now);
            }
        })
    }
}

/// The object that identifies a called C function.
#[derive(Clone, Copy)]
enum Called {
    Function(u64),
    Method(u64),
}

/// `code, offset, function, first argument`. Classes and the like are left out, as all profilers
/// do.
///
/// # Safety
/// `arguments` are these four.
#[inline]
unsafe fn builtin(calls: &Calls, arguments: *const u64) -> Option<(u64, Called)> {
    // SAFETY: the caller vouches.
    unsafe {
        let function = argument(arguments, 2);
        let of_type = field(function, object::TYPE);
        if of_type == calls.method_type as u64 {
            let is_there = argument(arguments, 3) != MISSING.load(Ordering::Relaxed) as u64;
            return is_there.then(|| {
                (
                    field(function, method_descriptor::METHOD),
                    Called::Method(function),
                )
            });
        }
        let is_function = of_type == calls.function_type as u64
            || of_type == METHOD_WITH_CLASS.load(Ordering::Relaxed) as u64;
        is_function.then(|| {
            (
                field(function, c_function::METHOD),
                Called::Function(function),
            )
        })
    }
}

unsafe extern "C" fn called(_: Object, arguments: *const u64, count: usize, _: Object) -> Object {
    // SAFETY: calls are reported with these.
    unsafe {
        with(count, 4, |state| {
            let Some((key, called)) = builtin(state.calls, arguments) else {
                return;
            };
            let Some(stack) = state.stack() else { return };
            let uses_cpu = state.uses_cpu();
            let State {
                tree,
                calls,
                layout,
                ..
            } = state;
            let describe = |report: &mut dyn FnMut(Described<'_>)| match called {
                Called::Function(function) => describe::function(calls, layout, function, report),
                Called::Method(method) => describe::method(method, report),
            };
            tree.enter(stack, key, false, || time(uses_cpu), describe);
        })
    }
}

unsafe extern "C" fn returned(_: Object, arguments: *const u64, count: usize, _: Object) -> Object {
    // SAFETY: as above.
    unsafe {
        with(count, 4, |state| {
            let now = state.now();
            if let Some((key, _)) = builtin(state.calls, arguments)
                && let Some(stack) = state.stack()
            {
                state.tree.leave(stack, key, now);
            }
        })
    }
}
