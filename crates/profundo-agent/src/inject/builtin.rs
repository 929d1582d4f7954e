//! The builtin `profile`, for programs that were written for kernprof, memory_profiler or Scalene:
//! a decorator that returns the function itself.
//!
//! `trace --lines` has a decorator of its own, which marks functions (`calls/lines.rs`).

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;

use super::api::Object;
use super::table::{Kept, table};

const NAME: &CStr = c"profile";

table! {
    /// The functions that this module calls.
    Calls {
        import: c"PyImport_ImportModule" as unsafe extern "C" fn(*const c_char) -> Object,
        has_attribute: c"PyObject_HasAttrString" as unsafe extern "C" fn(Object, *const c_char) -> c_int,
        set_attribute: c"PyObject_SetAttrString" as unsafe extern "C" fn(Object, *const c_char, Object) -> c_int,
        new_function: c"PyCFunction_NewEx" as unsafe extern "C" fn(*const Method, Object, Object) -> Object,
        length: c"PyTuple_Size" as unsafe extern "C" fn(Object) -> isize,
        item: c"PyTuple_GetItem" as unsafe extern "C" fn(Object, isize) -> Object,
        release: c"Py_DecRef" as unsafe extern "C" fn(Object),
        retain: c"Py_IncRef" as unsafe extern "C" fn(Object),
        clear_error: c"PyErr_Clear" as unsafe extern "C" fn(),
    }
}

/// `PyMethodDef`.
#[repr(C)]
pub(in crate::inject) struct Method {
    name: *const c_char,
    function: unsafe extern "C" fn(Object, Object, Object) -> Object,
    flags: c_int,
    doc: *const c_char,
}

// SAFETY: it is never written to.
unsafe impl Sync for Method {}

/// `METH_VARARGS | METH_KEYWORDS`.
const WITH_NAMES: c_int = 1 | 2;

static METHOD: Method = Method {
    name: NAME.as_ptr(),
    function: called,
    flags: WITH_NAMES,
    doc: c"Returns the function: all of the program is recorded (profundo).".as_ptr(),
};

fn calls() -> Option<&'static Calls> {
    static FOUND: Kept<Calls> = Kept::new();
    // SAFETY: these are the types of the interpreter's functions of these names.
    let find = || unsafe { Calls::find() }.ok_or(());
    FOUND.get((), find).ok()
}

/// Offers the name to the program, if it is free. The lock is held.
pub fn offer() {
    let Some(calls) = calls() else { return };
    // SAFETY: the lock is held; what is made is kept by the module, or released.
    unsafe {
        let module = (calls.import)(c"builtins".as_ptr());
        if module.is_null() {
            return (calls.clear_error)();
        }
        if (calls.has_attribute)(module, NAME.as_ptr()) == 0 {
            let ours = (calls.new_function)(&METHOD, null_mut(), null_mut());
            if ours.is_null() || (calls.set_attribute)(module, NAME.as_ptr(), ours) != 0 {
                (calls.clear_error)();
            }
            if !ours.is_null() {
                (calls.release)(ours);
            }
        }
        (calls.release)(module);
    }
}

/// `@profile`, and `@profile(…)` as memory_profiler has it, which returns a decorator: this one.
unsafe extern "C" fn called(_: Object, arguments: Object, _: Object) -> Object {
    let Some(calls) = calls() else {
        return null_mut::<c_void>();
    };
    // SAFETY: the interpreter calls with its lock held, and a tuple of arguments.
    unsafe {
        match (calls.length)(arguments) {
            0 => (calls.new_function)(&METHOD, null_mut(), null_mut()),
            _ => {
                let function = (calls.item)(arguments, 0);
                (calls.retain)(function);
                function
            }
        }
    }
}
