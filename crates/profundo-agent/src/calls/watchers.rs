//! Other tools that would see what we run in the interpreter: the measurement of what counting
//! costs is left out where there is one.

use core::ffi::{c_long, c_void};
use core::ptr::null_mut;

use super::api::{Calls, Object, attribute};
use super::profile;
use crate::inject::Api;

/// True if there is such a tool.
///
/// # Safety
/// The lock is held, and nothing is counted yet.
pub unsafe fn has_any(api: &Api, calls: &Calls) -> bool {
    // SAFETY: the caller vouches.
    unsafe {
        match api.layout.profiler {
            Some(fields) => profile::is_watched(fields, calls),
            None => has_functions(calls) || has_tools(calls),
        }
    }
}

/// From 3.12 on: true if the calling thread has a profile function or a trace function.
///
/// # Safety
/// The lock is held.
unsafe fn has_functions(calls: &Calls) -> bool {
    [c"gettrace", c"getprofile"].iter().any(|name| {
        // SAFETY: the caller vouches; what `sys` has is borrowed.
        unsafe {
            let get = (calls.system)(name.as_ptr());
            get.is_null() || answers(calls, get, null_mut())
        }
    })
}

/// From 3.12 on: true if a tool has a number in `sys.monitoring`, or gets events of all code.
/// Functions that were set without an object, for any thread, get such events too.
///
/// # Safety
/// The lock is held.
unsafe fn has_tools(calls: &Calls) -> bool {
    const TOOLS: c_long = 6;
    // SAFETY: the caller vouches; what `sys` has is borrowed, and the rest is released.
    unsafe {
        let module = (calls.system)(c"monitoring".as_ptr());
        if module.is_null() {
            return false;
        }
        let get = attribute(calls, module, c"get_tool");
        if get.is_null() {
            return true;
        }
        let is_taken = (0..TOOLS).any(|tool| {
            let number = (calls.new_number)(tool);
            let is_taken = answers(calls, get, number);
            (calls.release)(number);
            is_taken
        });
        (calls.release)(get);
        is_taken || has_events(calls, module)
    }
}

/// True if events of all code are reported to anybody. The interpreter's own tests ask by a
/// function without documentation, which may be missing.
///
/// # Safety
/// The lock is held, and `module` is `sys.monitoring`.
unsafe fn has_events(calls: &Calls, module: Object) -> bool {
    // SAFETY: the caller vouches; the lists of arguments end with a null pointer.
    unsafe {
        let get = attribute(calls, module, c"_all_events");
        if get.is_null() {
            return false;
        }
        let events = (calls.call)(get, null_mut::<c_void>());
        (calls.release)(get);
        if events.is_null() {
            calls.drop_error();
            return true;
        }
        let count = attribute(calls, events, c"__len__");
        (calls.release)(events);
        if count.is_null() {
            return true;
        }
        let number = (calls.call)(count, null_mut::<c_void>());
        (calls.release)(count);
        if number.is_null() {
            calls.drop_error();
            return true;
        }
        let has_some = (calls.number)(number) != 0;
        (calls.release)(number);
        has_some
    }
}

/// True unless a function returns `None`. It gets one argument, or none if that is null.
///
/// # Safety
/// The lock is held, and both are objects.
unsafe fn answers(calls: &Calls, function: Object, argument: Object) -> bool {
    // SAFETY: the caller vouches. The list of arguments ends with a null pointer.
    unsafe {
        let found = (calls.call)(function, argument, null_mut::<c_void>());
        match found.is_null() {
            true => calls.drop_error(),
            false => (calls.release)(found),
        }
        // `None` is not freed.
        found != calls.none
    }
}
