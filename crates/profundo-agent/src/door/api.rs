//! The functions of the interpreter that are called, and its version.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use core::sync::atomic::{AtomicU32, Ordering};

use profundo_cpython::{DEBUG_WORDS, Layout, ThreadList, layout_from_debug_offsets};
use profundo_probe::shared::refusal;

use crate::symbols::{self, Scope};

/// An object of the interpreter's.
pub type Object = *mut c_void;
/// What is called with each object that one holds.
pub type Visit = unsafe extern "C" fn(Object, *mut c_void) -> c_int;

/// What is called, by its names in the interpreter. All of them are there from 3.8 on.
pub struct Api {
    pub add_pending_call:
        unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void) -> c_int, *mut c_void) -> c_int,
    pub gil_ensure: unsafe extern "C-unwind" fn() -> c_int,
    pub gil_release: unsafe extern "C" fn(c_int),
    pub is_initialized: unsafe extern "C" fn() -> c_int,
    pub modules: unsafe extern "C" fn() -> Object,
    pub dict_next: unsafe extern "C" fn(Object, *mut isize, *mut Object, *mut Object) -> c_int,
    pub dict_get: unsafe extern "C" fn(Object, Object) -> Object,
    pub text: unsafe extern "C" fn(Object, *mut isize) -> *const c_char,
    pub new_text: unsafe extern "C" fn(*const c_char) -> Object,
    pub size_of: unsafe extern "C" fn(Object) -> usize,
    pub find_in_type: unsafe extern "C" fn(Object, Object) -> Object,
    pub clear_error: unsafe extern "C" fn(),
    pub method_type: Object,
    pub function_type: Object,
    pub code_type: Object,
    pub frame_type: Object,
    pub cell_type: Object,
    pub weakref_type: Object,
    pub list_type: Object,
    pub tuple_type: Object,
    pub dict_type: Object,
    pub module_type: Object,
    pub set_type: Object,
    pub frozenset_type: Object,
    pub runtime: u64,
    /// Up to 3.11: how many blocks the allocator for small objects has handed out.
    pub blocks: Option<unsafe extern "C" fn() -> isize>,
    pub layout: Layout,
    pub threads: ThreadList,
}

struct Found(UnsafeCell<MaybeUninit<Api>>);

// SAFETY: written once, before the state says that it is there.
unsafe impl Sync for Found {}

static FOUND: Found = Found(UnsafeCell::new(MaybeUninit::uninit()));

mod state {
    pub const MISSING: u32 = 0;
    pub const LOOKING: u32 = 1;
    pub const THERE: u32 = 2;
}

static STATE: AtomicU32 = AtomicU32::new(state::MISSING);

/// The interpreter's functions, or why it cannot be asked.
pub fn find() -> Result<&'static Api, c_int> {
    if STATE.load(Ordering::Acquire) != state::THERE {
        let first = STATE.compare_exchange(
            state::MISSING,
            state::LOOKING,
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        match first {
            Ok(_) => match look() {
                Ok(api) => {
                    // SAFETY: only one gets here.
                    unsafe { (*FOUND.0.get()).write(api) };
                    STATE.store(state::THERE, Ordering::Release);
                }
                Err(why) => {
                    STATE.store(state::MISSING, Ordering::Release);
                    return Err(why);
                }
            },
            Err(state::THERE) => {}
            Err(_) => return Err(refusal::BUSY),
        }
    }
    // SAFETY: it was written before.
    let api = unsafe { (*FOUND.0.get()).assume_init_ref() };
    // SAFETY: the function looks at a word.
    match unsafe { (api.is_initialized)() } {
        0 => Err(refusal::NOT_RUNNING),
        _ => Ok(api),
    }
}

fn look() -> Result<Api, c_int> {
    const NAMES: [&CStr; 30] = [
        c"Py_AddPendingCall",
        c"PyGILState_Ensure",
        c"PyGILState_Release",
        c"Py_IsInitialized",
        c"PyImport_GetModuleDict",
        c"PyDict_Next",
        c"PyDict_GetItem",
        c"PyUnicode_AsUTF8AndSize",
        c"PyUnicode_FromString",
        c"_PySys_GetSizeOf",
        c"_PyType_Lookup",
        c"PyErr_Clear",
        c"PyMethodDescr_Type",
        c"PyFunction_Type",
        c"PyCode_Type",
        c"PyFrame_Type",
        c"PyCell_Type",
        c"_PyWeakref_RefType",
        c"PyList_Type",
        c"PyTuple_Type",
        c"PyDict_Type",
        c"PyModule_Type",
        c"PySet_Type",
        c"PyFrozenSet_Type",
        c"_PyRuntime",
        // From here on not every version has them.
        c"Py_Version",
        c"Py_GetVersion",
        c"_Py_GetAllocatedBlocks",
        c"_Py_IsFinalizing",
        c"Py_IsFinalizing",
    ];
    const NEEDED: usize = 25;
    let mut all = [0_usize; NAMES.len()];
    symbols::find_all(&NAMES, Scope::All, |index, symbol| {
        if let Some(place) = all.get_mut(index) {
            *place = symbol.address;
        }
    });
    if all.iter().take(NEEDED).any(|&address| address == 0) {
        return Err(refusal::NO_INTERPRETER);
    }
    let [
        add_pending_call,
        gil_ensure,
        gil_release,
        is_initialized,
        modules,
        dict_next,
        dict_get,
        text,
        new_text,
        size_of,
        find_in_type,
        clear_error,
        method_type,
        function_type,
        code_type,
        frame_type,
        cell_type,
        weakref_type,
        list_type,
        tuple_type,
        dict_type,
        module_type,
        set_type,
        frozenset_type,
        runtime,
        version,
        version_text,
        blocks,
        ..,
    ] = all;
    // SAFETY: the interpreter's, by their names.
    let minor = unsafe { crate::python::minor(version, version_text) };
    let minor = minor.ok_or(refusal::NO_INTERPRETER)?;
    let mut words = [0_u64; DEBUG_WORDS];
    for (index, word) in words.iter_mut().enumerate() {
        // SAFETY: the runtime has far more words in every version.
        *word = unsafe { (runtime as *const u64).add(index).read() };
    }
    let layout = layout_from_debug_offsets(minor, &words).map_err(|_| refusal::UNKNOWN_LAYOUT)?;
    let threads = ThreadList::of(minor, &words).map_err(|_| refusal::UNKNOWN_LAYOUT)?;
    let object = |address: usize| address as Object;
    // SAFETY: these are the types of the interpreter's functions of these names.
    unsafe {
        Ok(Api {
            add_pending_call: transmute::<usize, _>(add_pending_call),
            gil_ensure: transmute::<usize, _>(gil_ensure),
            gil_release: transmute::<usize, _>(gil_release),
            is_initialized: transmute::<usize, _>(is_initialized),
            modules: transmute::<usize, _>(modules),
            dict_next: transmute::<usize, _>(dict_next),
            dict_get: transmute::<usize, _>(dict_get),
            text: transmute::<usize, _>(text),
            new_text: transmute::<usize, _>(new_text),
            size_of: transmute::<usize, _>(size_of),
            find_in_type: transmute::<usize, _>(find_in_type),
            clear_error: transmute::<usize, _>(clear_error),
            method_type: object(method_type),
            function_type: object(function_type),
            code_type: object(code_type),
            frame_type: object(frame_type),
            cell_type: object(cell_type),
            weakref_type: object(weakref_type),
            list_type: object(list_type),
            tuple_type: object(tuple_type),
            dict_type: object(dict_type),
            module_type: object(module_type),
            set_type: object(set_type),
            frozenset_type: object(frozenset_type),
            runtime: runtime as u64,
            blocks: (blocks != 0).then(|| transmute::<usize, _>(blocks)),
            layout,
            threads,
        })
    }
}
