//! The functions and objects of the interpreter that counting calls needs.

use core::ffi::{CStr, c_char, c_int, c_void};

use crate::inject::{Kept, table};

/// An object of the interpreter's.
pub type Object = *mut c_void;

table! {
    /// The part that every version from 3.8 on has.
    Calls {
        import: c"PyImport_ImportModule" as unsafe extern "C" fn(*const c_char) -> Object,
        attribute: c"PyObject_GetAttrString" as unsafe extern "C" fn(Object, *const c_char) -> Object,
        set_attribute: c"PyObject_SetAttrString" as unsafe extern "C" fn(Object, *const c_char, Object) -> c_int,
        system: c"PySys_GetObject" as unsafe extern "C" fn(*const c_char) -> Object,
        new_function: c"PyCFunction_NewEx" as unsafe extern "C" fn(*const Method, Object, Object) -> Object,
        new_text: c"PyUnicode_FromString" as unsafe extern "C" fn(*const c_char) -> Object,
        new_number: c"PyLong_FromLong" as unsafe extern "C" fn(core::ffi::c_long) -> Object,
        number: c"PyLong_AsLong" as unsafe extern "C" fn(Object) -> core::ffi::c_long,
        length: c"PyTuple_Size" as unsafe extern "C" fn(Object) -> isize,
        item: c"PyTuple_GetItem" as unsafe extern "C" fn(Object, isize) -> Object,
        call: c"PyObject_CallFunctionObjArgs" as unsafe extern "C" fn(Object, ...) -> Object,
        find_in_type: c"_PyType_Lookup" as unsafe extern "C" fn(Object, Object) -> Object,
        retain: c"Py_IncRef" as unsafe extern "C" fn(Object),
        release: c"Py_DecRef" as unsafe extern "C" fn(Object),
        clear_error: c"PyErr_Clear" as unsafe extern "C" fn(),
        is_error: c"PyErr_ExceptionMatches" as unsafe extern "C" fn(Object) -> c_int,
        interrupt: c"PyErr_SetInterrupt" as unsafe extern "C" fn(),
        interrupted: c"PyExc_KeyboardInterrupt" as *const Object,
        handled: c"PyErr_GetExcInfo" as unsafe extern "C" fn(*mut Object, *mut Object, *mut Object),
        generator_exit: c"PyExc_GeneratorExit" as *const Object,
        end_of_async: c"PyExc_StopAsyncIteration" as *const Object,
        thread: c"PyThreadState_Get" as unsafe extern "C" fn() -> u64,
        own_thread: c"PyGILState_GetThisThreadState" as unsafe extern "C" fn() -> u64,
        frame: c"PyEval_GetFrame" as unsafe extern "C" fn() -> u64,
        none: c"_Py_NoneStruct" as Object,
        code_type: c"PyCode_Type" as Object,
        text_type: c"PyUnicode_Type" as Object,
        function_type: c"PyCFunction_Type" as Object,
        method_type: c"PyMethodDescr_Type" as Object,
    }
}

impl Calls {
    /// Clears an exception that one of our calls raised. A Ctrl-C that was raised meanwhile is
    /// raised again in the program.
    ///
    /// # Safety
    /// The lock is held.
    #[cold]
    pub unsafe fn drop_error(&self) {
        // SAFETY: the caller vouches.
        unsafe {
            let is_interrupt = (self.is_error)(self.interrupted.read()) != 0;
            (self.clear_error)();
            if is_interrupt {
                (self.interrupt)();
            }
        }
    }
}

/// `PyMethodDef`.
#[repr(C)]
pub struct Method {
    pub name: *const c_char,
    pub function: *const c_void,
    pub flags: c_int,
    pub doc: *const c_char,
}

// SAFETY: it is never written to.
unsafe impl Sync for Method {}

/// The table; `None` if the interpreter is not a known one.
pub fn find() -> Option<&'static Calls> {
    static FOUND: Kept<Calls> = Kept::new();
    // SAFETY: these are the types of the interpreter's functions of these names.
    let find = || unsafe { Calls::find() }.ok_or(());
    FOUND.get((), find).ok()
}

/// An attribute of an object: a new reference, or null.
///
/// # Safety
/// The lock is held.
pub unsafe fn attribute(calls: &Calls, object: Object, name: &CStr) -> Object {
    // SAFETY: the caller vouches.
    unsafe {
        let found = (calls.attribute)(object, name.as_ptr());
        if found.is_null() {
            calls.drop_error();
        }
        found
    }
}
