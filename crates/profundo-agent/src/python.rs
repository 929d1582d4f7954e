//! The interpreter in this process: part of the program, of a library that is loaded with it, or of
//! one that an embedding program opens later.
//!
//! It is looked for at the start, and then whenever a key of thread-local storage is made, which each
//! interpreter does while it starts: so a late one is found before it runs its first line. What the
//! command sees by itself it may ask to be looked for again.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use profundo_cpython::Refusal;
use profundo_probe::python::{Found, Range};

use crate::home::{Home, home};
use crate::symbols::{self, Scope, Symbol};
use crate::{home, inject, memory, next_symbols, waits};

/// Not looked for, being looked for, or found, whether its stacks are read or not.
mod state {
    pub const MISSING: u32 = 0;
    pub const LOOKING: u32 = 1;
    pub const FOUND: u32 = 2;
}

static STATE: AtomicU32 = AtomicU32::new(state::MISSING);

/// The last of the command's requests that was attended to.
static ANSWERED: AtomicU32 = AtomicU32::new(0);

/// What an interpreter is told from others by.
#[derive(Clone, Copy)]
struct Version {
    major: u8,
    minor: u8,
    micro: u8,
}

/// Looks for an interpreter, unless one was found before. `is_early`: the program has not begun.
pub fn look(home: Home, is_early: bool) {
    let first = STATE.compare_exchange(
        state::MISSING,
        state::LOOKING,
        Ordering::Acquire,
        Ordering::Relaxed,
    );
    if first.is_err() {
        return;
    }
    let found = find(is_early);
    if let Some((version, found)) = found {
        // SAFETY: only one thread gets here, once.
        unsafe { home.keep_found(found) };
        waits::watch(found.runtime);
        memory::watch_python();
        inject::watch();
        let number = [version.major, version.minor, version.micro];
        let number = number
            .iter()
            .fold(0, |sum, &part| (sum << 8) | u32::from(part));
        home.ring().header.python.store(number, Ordering::Relaxed);
        let made = if version.major == 3 {
            // SAFETY: as above; the names mean what they say in every CPython.
            unsafe { home.make_interpreter(found) }
        } else {
            Err(Refusal::Version)
        };
        note(home, made);
    }
    let now = match found {
        Some(_) => state::FOUND,
        None => state::MISSING,
    };
    STATE.store(now, Ordering::Release);
}

/// Looks again in the child of a fork, at what the parent has found.
pub fn look_in_child(home: Home) {
    match STATE.load(Ordering::Acquire) {
        state::FOUND => {
            // SAFETY: found means that it was kept; the child has one thread.
            let made = unsafe { home.make_interpreter(home.found()) };
            note(home, made);
        }
        // Another thread of the parent's was looking.
        _ => STATE.store(state::MISSING, Ordering::Relaxed),
    }
}

/// Looks again if the command asks for it.
#[inline]
pub fn look_if_asked(home: Home) {
    let asked = home.ring().header.look_for_python.load(Ordering::Relaxed);
    if asked != ANSWERED.load(Ordering::Relaxed) {
        ANSWERED.store(asked, Ordering::Relaxed);
        look(home, false);
    }
}

/// Says why stacks are not read, if they are not.
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

/// Looks in all that is loaded. `None`: there is no interpreter.
fn find(is_early: bool) -> Option<(Version, Found)> {
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
        is_early,
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
    (version.major == 3).then_some(version.minor)
}

/// # Safety
/// The symbols are `Py_Version` and `Py_GetVersion`.
unsafe fn version(number: Option<Symbol>, text: Option<Symbol>) -> Option<Version> {
    if let Some(number) = number {
        // SAFETY: a constant of the interpreter's, as long as it is loaded.
        let number = unsafe { (number.address as *const u32).read() };
        let [major, minor, micro, _] = number.to_be_bytes();
        return Some(Version {
            major,
            minor,
            micro,
        });
    }
    type GetVersion = unsafe extern "C" fn() -> *const c_char;
    // SAFETY: the function has that type. It may be called at any time, and returns a text that
    // stays; it formats it with `PyOS_snprintf`, which does not allocate.
    let text = unsafe {
        let get = core::mem::transmute::<usize, GetVersion>(text?.address);
        CStr::from_ptr(get())
    };
    parse(text.to_bytes())
}

/// The numbers at the start of a text such as `3.8.18 (default, …`.
fn parse(text: &[u8]) -> Option<Version> {
    let mut numbers = [0_u8; 3];
    let mut at = 0;
    for &byte in text {
        match byte {
            b'0'..=b'9' => {
                let number = numbers.get_mut(at)?;
                *number = number.checked_mul(10)?.checked_add(byte - b'0')?;
            }
            b'.' if at < 2 => at += 1,
            _ => break,
        }
    }
    let [major, minor, micro] = numbers;
    (major != 0).then_some(Version {
        major,
        minor,
        micro,
    })
}

/// # Safety
/// As for `pthread_key_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_key_create(
    key: *mut c_uint,
    destructor: Option<unsafe extern "C" fn(*mut c_void)>,
) -> c_int {
    let Some(real) = next_symbols::pthread_key_create() else {
        return libc::EAGAIN;
    };
    if STATE.load(Ordering::Relaxed) == state::MISSING
        && home().is_some()
        && let Some(home) = home::current()
    {
        look(home, false);
    }
    inject::see_to_it();
    // SAFETY: the caller's arguments, passed on.
    unsafe { real(key, destructor) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_the_text() {
        let numbers = |text: &str| {
            parse(text.as_bytes()).map(|version| (version.major, version.minor, version.micro))
        };
        assert_eq!(numbers("3.8.18 (default, Oct"), Some((3, 8, 18)));
        assert_eq!(numbers("3.14.0rc1+ (main"), Some((3, 14, 0)));
        assert_eq!(numbers("2.7.18"), Some((2, 7, 18)));
        assert_eq!(numbers("PyPy"), None);
    }
}
