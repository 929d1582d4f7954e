//! Recording the interpreter's garbage collections, by the list of functions that it calls before
//! and after each.
//!
//! Our callback is a C function, so it costs a microsecond or two. The size of the heap is asked
//! for as well, unless that would take more than a fiftieth of the time.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use profundo_probe::shared::{Collections, KEPT, refusal};
use profundo_wire::recording::Collection;

use super::api::Object;
use super::table::{Kept, table};
use crate::{home, proc, process};

/// The place where collections are recorded; null: in the ring of the process.
static PLACE: AtomicPtr<Collections> = AtomicPtr::new(null_mut());
/// Our callback as an object of the interpreter's.
static OURS: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

table! {
    /// The functions that this module calls.
    Calls {
        import: c"PyImport_ImportModule" as unsafe extern "C" fn(*const c_char) -> Object,
        attribute: c"PyObject_GetAttrString" as unsafe extern "C" fn(Object, *const c_char) -> Object,
        system: c"PySys_GetObject" as unsafe extern "C" fn(*const c_char) -> Object,
        new_function: c"PyCFunction_NewEx" as unsafe extern "C" fn(*const Method, Object, Object) -> Object,
        append: c"PyList_Append" as unsafe extern "C" fn(Object, Object) -> c_int,
        index: c"PySequence_Index" as unsafe extern "C" fn(Object, Object) -> isize,
        delete: c"PySequence_DelItem" as unsafe extern "C" fn(Object, isize) -> c_int,
        item: c"PyTuple_GetItem" as unsafe extern "C" fn(Object, isize) -> Object,
        in_dict: c"PyDict_GetItemString" as unsafe extern "C" fn(Object, *const c_char) -> Object,
        text: c"PyUnicode_AsUTF8" as unsafe extern "C" fn(Object) -> *const c_char,
        number: c"PyLong_AsLong" as unsafe extern "C" fn(Object) -> c_long,
        call: c"PyObject_CallObject" as unsafe extern "C" fn(Object, Object) -> Object,
        release: c"Py_DecRef" as unsafe extern "C" fn(Object),
        retain: c"Py_IncRef" as unsafe extern "C" fn(Object),
        clear_error: c"PyErr_Clear" as unsafe extern "C" fn(),
        none: c"_Py_NoneStruct" as Object,
    }
}

/// `PyMethodDef`.
#[repr(C)]
pub struct Method {
    name: *const c_char,
    function: unsafe extern "C" fn(Object, Object) -> Object,
    flags: c_int,
    doc: *const c_char,
}

// SAFETY: it is never written to.
unsafe impl Sync for Method {}

/// `METH_VARARGS`.
const WITH_ARGUMENTS: c_int = 1;

static METHOD: Method = Method {
    name: c"profundo_collections".as_ptr(),
    function: called,
    flags: WITH_ARGUMENTS,
    doc: core::ptr::null(),
};

fn calls() -> Option<&'static Calls> {
    static FOUND: Kept<Calls> = Kept::new();
    // SAFETY: these are the types of the interpreter's functions of these names.
    let find = || unsafe { Calls::find() }.ok_or(());
    FOUND.get((), find).ok()
}

impl Calls {
    /// `gc.callbacks`, a new reference.
    unsafe fn list(&self) -> Option<Object> {
        // SAFETY: the lock is held.
        unsafe {
            let module = (self.import)(c"gc".as_ptr());
            if module.is_null() {
                (self.clear_error)();
                return None;
            }
            let list = (self.attribute)(module, c"callbacks".as_ptr());
            (self.release)(module);
            if list.is_null() {
                (self.clear_error)();
                return None;
            }
            Some(list)
        }
    }
}

/// True if the command that reads the collections has not looked for so long that it must have been
/// killed.
fn is_forgotten() -> bool {
    /// In nanoseconds.
    const LONG: u64 = 60_000_000_000;
    let place = PLACE.load(Ordering::Acquire);
    // SAFETY: the command that set it keeps it mapped.
    let looked = (!place.is_null()).then(|| unsafe { (*place).visited.load(Ordering::Relaxed) });
    looked.is_some_and(|looked| now().saturating_sub(looked) > LONG)
}

/// Begins to record collections. The lock is held. Returns 0, or a refusal.
pub fn begin(place: *mut Collections) -> c_int {
    let Some(calls) = calls() else {
        return refusal::NO_INTERPRETER;
    };
    let is_recording = !OURS.load(Ordering::Acquire).is_null();
    // Collections are recorded for another command, which would get no more.
    if is_recording && !is_forgotten() {
        return refusal::BUSY;
    }
    if !place.is_null() {
        // SAFETY: the command keeps it mapped.
        unsafe { (*place).visited.store(now(), Ordering::Relaxed) };
    }
    PLACE.store(place, Ordering::Release);
    if is_recording {
        return 0;
    }
    // SAFETY: the lock is held; what is made is kept for ever.
    unsafe {
        let ours = (calls.new_function)(&METHOD, null_mut(), null_mut());
        let list = calls.list();
        let (false, Some(list)) = (ours.is_null(), list) else {
            (calls.clear_error)();
            return -libc::ENOMEM;
        };
        let appended = (calls.append)(list, ours);
        (calls.release)(list);
        if appended != 0 {
            (calls.clear_error)();
            return -libc::ENOMEM;
        }
        OURS.store(ours, Ordering::Release);
    }
    if let (true, Some(home)) = (place.is_null(), home::current()) {
        let looked = &home.ring().collections.visited;
        looked.store(now(), Ordering::Relaxed);
        home.ring_bell();
    }
    0
}

/// Stops recording collections at this place. The lock is held.
pub fn end(place: *mut Collections) -> c_int {
    if PLACE.load(Ordering::Acquire) != place {
        return 0;
    }
    PLACE.store(null_mut(), Ordering::Release);
    let ours = OURS.swap(null_mut(), Ordering::AcqRel);
    let (false, Some(calls)) = (ours.is_null(), calls()) else {
        return 0;
    };
    // SAFETY: the lock is held; the object is ours.
    unsafe {
        if let Some(list) = calls.list() {
            let index = (calls.index)(list, ours);
            if index < 0 || (calls.delete)(list, index) != 0 {
                (calls.clear_error)();
            }
            (calls.release)(list);
        }
        (calls.release)(ours);
    }
    0
}

/// The start of the collection that is under way, and the heap then. One at a time: the lock is
/// held.
static BEGAN: AtomicU64 = AtomicU64::new(0);
static BLOCKS: AtomicU64 = AtomicU64::new(0);
static RESIDENT: AtomicU64 = AtomicU64::new(0);
/// The time at which the heap may be asked for again.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Called by the interpreter, with the phase and a dictionary.
unsafe extern "C" fn called(_: Object, arguments: Object) -> Object {
    let Some(calls) = calls() else {
        return null_mut();
    };
    // SAFETY: the program may call this too, with any arguments: each is checked. References are
    // borrowed.
    unsafe {
        let (phase, info) = match ((calls.item)(arguments, 0), (calls.item)(arguments, 1)) {
            (phase, info) if !phase.is_null() && !info.is_null() => ((calls.text)(phase), info),
            _ => (core::ptr::null(), null_mut()),
        };
        if phase.is_null() {
            (calls.clear_error)();
        } else if is_forgotten() {
            BEGAN.store(0, Ordering::Relaxed);
        } else if CStr::from_ptr(phase) == c"start" {
            let is_full = number(calls, info, c"generation") >= 2;
            let (blocks, resident) = heap(calls, is_full);
            BLOCKS.store(blocks, Ordering::Relaxed);
            RESIDENT.store(resident, Ordering::Relaxed);
            BEGAN.store(now(), Ordering::Relaxed);
        } else {
            finished(calls, info);
        }
        (calls.retain)(calls.none);
    }
    calls.none
}

fn now() -> u64 {
    process::time(libc::CLOCK_MONOTONIC)
}

/// # Safety
/// The lock is held, and `info` is an object.
unsafe fn finished(calls: &Calls, info: Object) {
    let ended = now();
    let began = BEGAN.swap(0, Ordering::Relaxed);
    if began == 0 {
        return;
    }
    // SAFETY: the caller vouches.
    let number = |name| unsafe { number(calls, info, name) };
    let before = [
        BLOCKS.load(Ordering::Relaxed),
        RESIDENT.load(Ordering::Relaxed),
    ];
    let (blocks, resident) = match before {
        [0, 0] => (0, 0),
        // SAFETY: the lock is held.
        _ => unsafe { measure_heap(calls) },
    };
    let collection = Collection {
        began,
        pause: ended - began,
        generation: number(c"generation"),
        collected: number(c"collected"),
        uncollectable: number(c"uncollectable"),
        blocks: [before[0], blocks],
        resident: [before[1], resident],
    };
    let place = PLACE.load(Ordering::Acquire);
    if !place.is_null() {
        // SAFETY: the command that set it keeps it mapped.
        unsafe { &*place }.add(collection);
    } else if let Some(home) = home::current() {
        let written = home.ring().collections.add(collection);
        ring(home, written, ended);
    }
}

/// A number in a dictionary.
///
/// # Safety
/// The lock is held, and `info` is an object.
unsafe fn number(calls: &Calls, info: Object, name: &CStr) -> u64 {
    // SAFETY: the caller vouches; what is found is borrowed.
    unsafe {
        let found = (calls.in_dict)(info, name.as_ptr());
        let number = match found.is_null() {
            true => -1,
            false => (calls.number)(found),
        };
        if number < 0 {
            (calls.clear_error)();
        }
        number.max(0) as u64
    }
}

/// Wakes the command, soon enough and not too often.
fn ring(home: crate::home::Home, written: u64, now: u64) {
    const OFTEN: u64 = 20_000_000;
    static RUNG: AtomicU64 = AtomicU64::new(0);
    let is_time = now.saturating_sub(RUNG.load(Ordering::Relaxed)) > OFTEN;
    if is_time || written.is_multiple_of(KEPT as u64 / 4) {
        RUNG.store(now, Ordering::Relaxed);
        home.ring_bell();
    }
}

/// The size of the heap, unless it was asked for a moment ago. Collections of all objects are rare,
/// and take longer than that.
///
/// # Safety
/// The lock is held.
unsafe fn heap(calls: &Calls, is_full: bool) -> (u64, u64) {
    /// The reciprocal of the share of time that it may take.
    const PART: u64 = 50;
    let began = now();
    if !is_full && began < NEXT.load(Ordering::Relaxed) {
        return (0, 0);
    }
    // SAFETY: the caller vouches.
    let found = unsafe { measure_heap(calls) };
    let ended = now();
    // The size is asked for twice per collection.
    NEXT.store(ended + (ended - began) * 2 * PART, Ordering::Relaxed);
    found
}

/// # Safety
/// The lock is held.
unsafe fn measure_heap(calls: &Calls) -> (u64, u64) {
    // SAFETY: the lock is held; what is found is borrowed, and what is called gives a new number.
    let blocks = unsafe {
        let function = (calls.system)(c"getallocatedblocks".as_ptr());
        let found = match function.is_null() {
            true => null_mut(),
            false => (calls.call)(function, null_mut()),
        };
        if found.is_null() {
            (calls.clear_error)();
            0
        } else {
            let blocks = (calls.number)(found).max(0) as u64;
            (calls.release)(found);
            blocks
        }
    };
    (blocks, resident())
}

/// The bytes that the process has in memory.
fn resident() -> u64 {
    const PAGE: u64 = 4096;
    let mut room = [0; 96];
    let text = proc::read(c"/proc/self/statm", &mut room);
    let second = text.split(|&byte| byte == b' ').nth(1).unwrap_or_default();
    second
        .iter()
        .filter(|byte| byte.is_ascii_digit())
        .fold(0, |sum: u64, byte| sum * 10 + u64::from(byte - b'0'))
        * PAGE
}
