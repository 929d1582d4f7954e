//! The interpreter in this process: part of the program, of a library that is loaded with it, or of
//! one that an embedding program opens later.
//!
//! The interpreter is searched for at the start, and then whenever a key of thread-local storage is
//! made, which each interpreter does while it starts: so a late one is found before it runs its
//! first line. The command may ask for another search when it sees an interpreter by itself.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use profundo_cpython::{Refusal, Version};
use profundo_probe::python::{Found, Range};

use crate::home::Home;
use crate::symbols::{self, Scope, Symbol};
use crate::waits;

/// The states: not searched for, being searched for, or found, with or without its stacks being
/// read.
mod state {
    pub const MISSING: u32 = 0;
    pub const SEARCHING: u32 = 1;
    pub const FOUND: u32 = 2;
}

static STATE: AtomicU32 = AtomicU32::new(state::MISSING);

/// The last of the command's requests that was answered.
static ANSWERED: AtomicU32 = AtomicU32::new(0);

/// True if no interpreter was found so far.
#[inline]
pub fn is_missing() -> bool {
    STATE.load(Ordering::Relaxed) == state::MISSING
}

/// Searches for an interpreter, unless one was found before, and calls `when_found` if there is
/// one. `is_early`: the program has not begun.
pub fn find(home: Home, is_early: bool, when_found: fn(Found)) {
    let first = STATE.compare_exchange(
        state::MISSING,
        state::SEARCHING,
        Ordering::Acquire,
        Ordering::Relaxed,
    );
    if first.is_err() {
        return;
    }
    let found = search(is_early);
    if let Some((version, found)) = found {
        // SAFETY: only one thread gets here, once.
        unsafe { home.keep_found(found) };
        when_found(found);
        let place = &home.ring().header.python;
        place.store(version.packed(), Ordering::Relaxed);
        let made = match version.of_python_3() {
            // SAFETY: as above; the names mean what they say in every CPython.
            Some(_) => unsafe { make_interpreter(home, found) },
            None => Err(Refusal::Version),
        };
        note(home, made);
    }
    let now = match found {
        Some(_) => state::FOUND,
        None => state::MISSING,
    };
    STATE.store(now, Ordering::Release);
}

/// Forgets the interpreter, which is searched for again when the agent comes back.
pub fn forget() {
    let order = (Ordering::AcqRel, Ordering::Relaxed);
    let _ = STATE.compare_exchange(state::FOUND, state::MISSING, order.0, order.1);
    ANSWERED.store(0, Ordering::Relaxed);
}

/// Sets up, in the child of a fork, the interpreter that the parent has found.
pub fn set_up_in_child(home: Home) {
    match STATE.load(Ordering::Acquire) {
        state::FOUND => {
            // SAFETY: found means that it was kept; the child has one thread.
            let made = unsafe { make_interpreter(home, home.found()) };
            note(home, made);
        }
        // Another thread of the parent's was searching.
        _ => STATE.store(state::MISSING, Ordering::Relaxed),
    }
}

/// Searches again if the command asks for it.
#[inline]
pub fn find_if_asked(home: Home, when_found: fn(Found)) {
    let asked = home.ring().header.look_for_python.load(Ordering::Relaxed);
    if asked != ANSWERED.load(Ordering::Relaxed) {
        ANSWERED.store(asked, Ordering::Relaxed);
        find(home, false, when_found);
    }
}

/// Has the interpreter's stacks read, and the waits for its locks counted, from now on.
///
/// # Safety
/// As for [`Home::make_interpreter`].
unsafe fn make_interpreter(home: Home, found: Found) -> Result<(), Refusal> {
    // SAFETY: the caller vouches. What the interpreter keeps stays readable.
    unsafe {
        let interpreter = home.make_interpreter(found)?;
        waits::watch_interpreters(interpreter.interpreters());
        home.publish_interpreter(interpreter);
    }
    Ok(())
}

/// Reports why stacks are not read, if they are not.
fn note(home: Home, made: Result<(), Refusal>) {
    let why = match made {
        Ok(()) => 0,
        Err(refusal) => refusal as u32,
    };
    home.ring()
        .header
        .python_refused
        .store(why, Ordering::Relaxed);
}

/// Searches all loaded files. `None`: there is no interpreter.
fn search(is_early: bool) -> Option<(Version, Found)> {
    const NAMES: [&CStr; 6] = [
        c"PyGILState_GetThisThreadState",
        c"PyCode_Type",
        c"_PyRuntime",
        c"_PyEval_EvalFrameDefault",
        c"Py_Version",
        c"Py_GetVersion",
    ];
    let mut symbols = [None; NAMES.len()];
    symbols::find_all(&NAMES, Scope::All, |index, symbol| {
        if let Some(place) = symbols.get_mut(index) {
            *place = Some(symbol);
        }
    });
    let [state, code_type, runtime, evaluate, number, text] = symbols;
    let range = |symbol: Option<Symbol>| {
        symbol.map_or(Range::default(), |symbol| Range {
            start: symbol.address as u64,
            end: (symbol.address + symbol.size) as u64,
        })
    };
    let state = state?.address;
    // SAFETY: the interpreter's own, by their names.
    let version = unsafe { version(number, text) }?;
    let found = Found {
        minor: version.minor,
        // SAFETY: the interpreter's function of that name has that type.
        thread_state: unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn() -> *mut c_void>(state)
        },
        code_type: code_type.map_or(0, |symbol| symbol.address as u64),
        runtime: range(runtime),
        function: range(evaluate),
        is_early: is_early || symbols::is_of_the_start(state),
    };
    Some((version, found))
}

/// The minor version of a Python 3.
///
/// # Safety
/// The addresses are those of `Py_Version` and `Py_GetVersion`, or 0.
pub unsafe fn minor(number: usize, text: usize) -> Option<u8> {
    let symbol = |address: usize| (address != 0).then_some(Symbol { address, size: 0 });
    // SAFETY: the caller vouches.
    let version = unsafe { version(symbol(number), symbol(text)) }?;
    version.of_python_3()
}

/// # Safety
/// The symbols are `Py_Version` and `Py_GetVersion`.
unsafe fn version(number: Option<Symbol>, text: Option<Symbol>) -> Option<Version> {
    if let Some(number) = number {
        // SAFETY: a constant of the interpreter's, as long as it is loaded.
        let number = unsafe { (number.address as *const u32).read() };
        return Some(Version::of_hex(number));
    }
    type GetVersion = unsafe extern "C" fn() -> *const c_char;
    // SAFETY: the function has that type. It may be called at any time, and returns a text that
    // stays; it formats it with `PyOS_snprintf`, which does not allocate.
    let text = unsafe {
        let get = core::mem::transmute::<usize, GetVersion>(text?.address);
        CStr::from_ptr(get())
    };
    Version::of_text(text.to_bytes())
}
