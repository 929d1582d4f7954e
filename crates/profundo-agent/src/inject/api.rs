//! The interpreter's functions that we call, and its version.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ops::Deref;

use profundo_cpython::{DEBUG_WORDS, Layout, layout_from_debug_offsets, version};
use profundo_probe::shared::refusal;

use super::table::{Kept, table};
use crate::symbols::{self, Scope};

/// An object of the interpreter's.
pub type Object = *mut c_void;
/// The callback for each object that another one holds.
pub type Visit = unsafe extern "C" fn(Object, *mut c_void) -> c_int;
/// The callback by which the interpreter lets us in.
pub type Pending = unsafe extern "C" fn(*mut c_void) -> c_int;

table! {
    /// The part that every version from 3.8 on has.
    Functions {
        add_pending_call: c"Py_AddPendingCall" as unsafe extern "C" fn(Pending, *mut c_void) -> c_int,
        gil_ensure: c"PyGILState_Ensure" as unsafe extern "C-unwind" fn() -> c_int,
        gil_release: c"PyGILState_Release" as unsafe extern "C" fn(c_int),
        is_initialized: c"Py_IsInitialized" as unsafe extern "C" fn() -> c_int,
        modules: c"PyImport_GetModuleDict" as unsafe extern "C" fn() -> Object,
        dict_next: c"PyDict_Next" as unsafe extern "C" fn(Object, *mut isize, *mut Object, *mut Object) -> c_int,
        dict_get: c"PyDict_GetItem" as unsafe extern "C" fn(Object, Object) -> Object,
        text: c"PyUnicode_AsUTF8AndSize" as unsafe extern "C" fn(Object, *mut isize) -> *const c_char,
        new_text: c"PyUnicode_FromString" as unsafe extern "C" fn(*const c_char) -> Object,
        size_of: c"_PySys_GetSizeOf" as unsafe extern "C" fn(Object) -> usize,
        find_in_type: c"_PyType_Lookup" as unsafe extern "C" fn(Object, Object) -> Object,
        clear_error: c"PyErr_Clear" as unsafe extern "C" fn(),
        number: c"PyLong_AsLongAndOverflow" as unsafe extern "C" fn(Object, *mut c_int) -> c_long,
        method_type: c"PyMethodDescr_Type" as Object,
        function_type: c"PyFunction_Type" as Object,
        code_type: c"PyCode_Type" as Object,
        frame_type: c"PyFrame_Type" as Object,
        generator_type: c"PyGen_Type" as Object,
        coroutine_type: c"PyCoro_Type" as Object,
        async_generator_type: c"PyAsyncGen_Type" as Object,
        number_type: c"PyLong_Type" as Object,
        cell_type: c"PyCell_Type" as Object,
        weakref_type: c"_PyWeakref_RefType" as Object,
        list_type: c"PyList_Type" as Object,
        tuple_type: c"PyTuple_Type" as Object,
        dict_type: c"PyDict_Type" as Object,
        module_type: c"PyModule_Type" as Object,
        set_type: c"PySet_Type" as Object,
        frozenset_type: c"PyFrozenSet_Type" as Object,
        runtime: c"_PyRuntime" as u64,
    }
}

/// The interpreter.
pub struct Api {
    functions: Functions,
    /// Up to 3.11: the number of blocks that the allocator for small objects has handed out.
    pub blocks: Option<unsafe extern "C" fn() -> isize>,
    pub layout: Layout,
    /// The functions of a build that can run without the lock.
    pub free_threaded: Option<FreeThreaded>,
}

/// The callback for each object that the collector knows; 0 ends the visit.
pub type VisitTracked = unsafe extern "C" fn(Object, *mut c_void) -> c_int;

table! {
    /// The functions that only a build needs that can run without the lock.
    FreeThreaded {
        visit_tracked: c"PyUnstable_GC_VisitObjects" as unsafe extern "C" fn(VisitTracked, *mut c_void),
        disable_collector: c"PyGC_Disable" as unsafe extern "C" fn() -> c_int,
        lock: c"PyMutex_Lock" as unsafe extern "C" fn(*mut u8),
        unlock: c"PyMutex_Unlock" as unsafe extern "C" fn(*mut u8),
    }
}

impl Deref for Api {
    type Target = Functions;

    fn deref(&self) -> &Functions {
        &self.functions
    }
}

/// The interpreter's functions, or why it cannot be used.
pub fn find() -> Result<&'static Api, c_int> {
    static FOUND: Kept<Api> = Kept::new();
    let api = FOUND.get(refusal::BUSY, search)?;
    // SAFETY: the function reads a word.
    match unsafe { (api.is_initialized)() } {
        0 => Err(refusal::NOT_RUNNING),
        _ => Ok(api),
    }
}

fn search() -> Result<Api, c_int> {
    const OTHERS: [&CStr; 3] = [c"Py_Version", c"Py_GetVersion", c"_Py_GetAllocatedBlocks"];
    // SAFETY: these are the types of the interpreter's functions of these names.
    let functions = unsafe { Functions::find() }.ok_or(refusal::NO_INTERPRETER)?;
    let mut found = [0_usize; OTHERS.len()];
    symbols::find_all(&OTHERS, Scope::All, |index, symbol| {
        if let Some(place) = found.get_mut(index) {
            *place = symbol.address;
        }
    });
    let [number, version_text, blocks] = found;
    // SAFETY: the interpreter's, by their names.
    let minor = unsafe { crate::python::minor(number, version_text) };
    let minor = minor.ok_or(refusal::NO_INTERPRETER)?;
    let mut words = [0_u64; DEBUG_WORDS];
    // Before 3.13 the runtime has no such list, and may be shorter.
    if version::has_debug_offsets(minor) {
        for (index, word) in words.iter_mut().enumerate() {
            // SAFETY: a runtime that begins with its offsets is far longer than their list.
            *word = unsafe { (functions.runtime as *const u64).add(index).read() };
        }
    }
    let layout = layout_from_debug_offsets(minor, &words).map_err(|_| refusal::UNKNOWN_LAYOUT)?;
    let free_threaded = match layout.is_free_threaded() {
        // SAFETY: these are the types of the interpreter's functions of these names.
        true => Some(unsafe { FreeThreaded::find() }.ok_or(refusal::FREE_THREADED)?),
        false => None,
    };
    super::memory::note_head(&layout);
    super::exclusive::begin(free_threaded);
    Ok(Api {
        functions,
        free_threaded,
        // SAFETY: the interpreter's function of that name has this type; no function lies at 0.
        blocks: unsafe {
            core::mem::transmute::<usize, Option<unsafe extern "C" fn() -> isize>>(blocks)
        },
        layout,
    })
}
