//! The functions and objects of the interpreter that spans need.
//!
//! Those that may run Python code, or wait for the interpreter's lock, may unwind: an interpreter
//! that ends does so with a thread that waits for its lock.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::inject::{Kept, table};
use crate::symbols::{self, Scope};

/// An object of the interpreter's.
pub type Object = *mut c_void;

table! {
    /// The part that every version from 3.8 on has.
    Spans {
        retain: c"Py_IncRef" as unsafe extern "C" fn(Object),
        release: c"Py_DecRef" as unsafe extern "C-unwind" fn(Object),
        new_type: c"PyType_FromSpec" as unsafe extern "C-unwind" fn(*mut TypeSpec) -> Object,
        allocate: c"PyType_GenericAlloc" as unsafe extern "C-unwind" fn(Object, isize) -> Object,
        free: c"PyObject_Free" as unsafe extern "C-unwind" fn(*mut c_void),
        new_module: c"PyModule_Create2" as unsafe extern "C-unwind" fn(*mut c_void, c_int) -> Object,
        kind: c"PyObject_Type" as unsafe extern "C-unwind" fn(Object) -> Object,
        modules: c"PyImport_GetModuleDict" as unsafe extern "C" fn() -> Object,
        text_type: c"PyUnicode_Type" as Object,
        text: c"PyUnicode_AsUTF8AndSize" as unsafe extern "C-unwind" fn(Object, *mut isize) -> *const c_char,
        to_text: c"PyObject_Str" as unsafe extern "C-unwind" fn(Object) -> Object,
        new_number: c"PyLong_FromLong" as unsafe extern "C-unwind" fn(core::ffi::c_long) -> Object,
        dict_type: c"PyDict_Type" as Object,
        dict_next: c"PyDict_Next" as unsafe extern "C" fn(Object, *mut isize, *mut Object, *mut Object) -> c_int,
        tuple_size: c"PyTuple_Size" as unsafe extern "C-unwind" fn(Object) -> isize,
        tuple_item: c"PyTuple_GetItem" as unsafe extern "C-unwind" fn(Object, isize) -> Object,
        call: c"PyObject_CallFunctionObjArgs" as unsafe extern "C-unwind" fn(Object, ...) -> Object,
        hash: c"PyObject_Hash" as unsafe extern "C-unwind" fn(Object) -> isize,
        new_variable: c"PyContextVar_New" as unsafe extern "C-unwind" fn(*const c_char, Object) -> Object,
        get: c"PyContextVar_Get" as unsafe extern "C-unwind" fn(Object, Object, *mut Object) -> c_int,
        set: c"PyContextVar_Set" as unsafe extern "C-unwind" fn(Object, Object) -> Object,
        new_context: c"PyContext_New" as unsafe extern "C-unwind" fn() -> Object,
        enter: c"PyContext_Enter" as unsafe extern "C-unwind" fn(Object) -> c_int,
        exit: c"PyContext_Exit" as unsafe extern "C-unwind" fn(Object) -> c_int,
        thread: c"PyThreadState_Get" as unsafe extern "C" fn() -> u64,
        at_exit: c"Py_AtExit" as unsafe extern "C" fn(unsafe extern "C" fn()) -> c_int,
        is_initialized: c"Py_IsInitialized" as unsafe extern "C" fn() -> c_int,
        none: c"_Py_NoneStruct" as Object,
        set_error: c"PyErr_SetString" as unsafe extern "C-unwind" fn(Object, *const c_char),
        clear_error: c"PyErr_Clear" as unsafe extern "C-unwind" fn(),
        is_error: c"PyErr_ExceptionMatches" as unsafe extern "C-unwind" fn(Object) -> c_int,
        interrupt: c"PyErr_SetInterrupt" as unsafe extern "C-unwind" fn(),
        interrupted: c"PyExc_KeyboardInterrupt" as *const Object,
        type_error: c"PyExc_TypeError" as *const Object,
    }
}

/// `PyType_Spec`.
#[repr(C)]
pub struct TypeSpec {
    pub name: *const c_char,
    pub size: c_int,
    pub item_size: c_int,
    pub flags: c_uint,
    pub slots: *mut TypeSlot,
}

/// `PyType_Slot`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TypeSlot {
    pub slot: c_int,
    pub value: *const c_void,
}

/// The numbers of slots.
pub mod slot {
    pub const CALL: i32 = 50;
    pub const DEALLOCATE: i32 = 52;
    pub const DOC: i32 = 56;
    pub const METHODS: i32 = 64;
}

/// `Py_TPFLAGS_DEFAULT`.
pub const DEFAULT_FLAGS: c_uint = 1 << 18;

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

impl Method {
    /// The end of a list.
    pub const END: Self = Self {
        name: core::ptr::null(),
        function: core::ptr::null(),
        flags: 0,
        doc: core::ptr::null(),
    };

    /// A function with these flags.
    pub const fn new(name: &'static CStr, function: *const c_void, flags: c_int) -> Self {
        Self {
            name: name.as_ptr(),
            function,
            flags,
            doc: core::ptr::null(),
        }
    }
}

/// How a function takes its arguments.
pub mod how {
    /// None: `METH_NOARGS`.
    pub const NONE: i32 = 0x4;
    /// One: `METH_O`.
    pub const ONE: i32 = 0x8;
    /// An array and its length: `METH_FASTCALL`.
    pub const ARRAY: i32 = 0x80;
}

/// `PyModuleDef`, without hooks, with a head of so many words.
#[repr(C)]
pub struct ModuleDefinition<const HEAD: usize> {
    /// The head of an object that is never freed, but for its type.
    pub head: [usize; HEAD],
    /// Words that the interpreter fills in.
    pub base: [usize; 3],
    pub name: *const c_char,
    pub doc: *const c_char,
    pub size: isize,
    pub methods: *const Method,
    pub hooks: [usize; 4],
}

table! {
    /// The function that only a build has in which threads run at the same time.
    FreeThreaded {
        set_lock: c"PyUnstable_Module_SetGIL" as unsafe extern "C-unwind" fn(Object, *const c_void) -> c_int,
    }
}

/// `Py_MOD_GIL_NOT_USED`: the module does without the interpreter's lock, and it stays off.
const WITHOUT_LOCK: *const c_void = core::ptr::without_provenance(1);

/// The table; `None` if the interpreter is not a known one.
pub fn find() -> Option<&'static Spans> {
    static FOUND: Kept<Spans> = Kept::new();
    // SAFETY: these are the types of the interpreter's functions of these names.
    let find = || unsafe { Spans::find() }.ok_or(());
    FOUND.get((), find).ok()
}

/// The size of an object's head, its type included: twice as long where threads run at the same
/// time.
static HEAD: AtomicUsize = AtomicUsize::new(SHORT_HEAD);
/// References and the type.
pub const SHORT_HEAD: usize = 16;
/// The thread, a lock and flags, two counts of references, and the type.
pub const LONG_HEAD: usize = 32;

/// The size of an object's head.
#[inline]
pub fn head() -> usize {
    HEAD.load(Ordering::Relaxed)
}

impl Spans {
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

    /// Finds how long the heads of objects are: the last word of each is its type. False: they are
    /// as in no build that is known.
    ///
    /// # Safety
    /// The lock is held.
    pub unsafe fn measure_head(&self) -> bool {
        // SAFETY: the caller vouches. `None` lies in the interpreter's data, before more.
        let (kind, words) = unsafe {
            let kind = (self.kind)(self.none);
            (self.release)(kind);
            (kind, self.none.cast::<[Object; LONG_HEAD / 8]>().read())
        };
        // SAFETY: the function of that name has this type.
        let is_free_threaded = unsafe { FreeThreaded::find() }.is_some();
        let head = match words.iter().position(|&word| word == kind) {
            Some(1) if !is_free_threaded => SHORT_HEAD,
            Some(3) if is_free_threaded => LONG_HEAD,
            _ => return false,
        };
        HEAD.store(head, Ordering::Relaxed);
        true
    }

    /// Says that a module needs no lock, in a build that would take it back for one that does.
    ///
    /// # Safety
    /// The lock is held, if there is one, and this is a module.
    pub unsafe fn do_without_lock(&self, module: Object) {
        // SAFETY: the function of that name has this type; the caller vouches for the module.
        unsafe {
            if let Some(functions) = FreeThreaded::find()
                && (functions.set_lock)(module, WITHOUT_LOCK) != 0
            {
                self.drop_error();
            }
        }
    }

    /// `None`, as a new reference.
    ///
    /// # Safety
    /// The lock is held.
    pub unsafe fn none(&self) -> Object {
        // SAFETY: the caller vouches.
        unsafe { (self.retain)(self.none) };
        self.none
    }
}

/// True if the calling thread is in the main interpreter.
///
/// # Safety
/// The lock is held.
pub unsafe fn is_main() -> bool {
    const NAMES: [&CStr; 3] = [
        c"PyInterpreterState_Get",
        // In 3.8.
        c"_PyInterpreterState_Get",
        c"PyInterpreterState_Main",
    ];
    let mut found = [0; NAMES.len()];
    symbols::find_all(&NAMES, Scope::All, |index, symbol| {
        if let Some(place) = found.get_mut(index) {
            *place = symbol.address;
        }
    });
    let [new, old, main] = found;
    // SAFETY: the interpreter's functions of these names have this type.
    let call = |address: usize| unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn() -> Object>(address)()
    };
    let get = if new != 0 { new } else { old };
    get != 0 && main != 0 && call(get) == call(main)
}

/// The type of an object.
///
/// # Safety
/// It is one.
#[inline]
pub unsafe fn type_of(object: Object) -> Object {
    // SAFETY: the caller vouches; the type is the last word of the head.
    unsafe { object.byte_add(head()).cast::<Object>().sub(1).read() }
}
