//! Files that are loaded while the agent is in a program that it has come into late: their slots
//! lead to our functions before the caller goes on.
//!
//! The loader looks at its caller: at where that says its files are, and at what it may see. So
//! ours jump to the loader's functions, which return to the program. They call it only where the
//! caller cannot matter, and then look at the new file before they return. Elsewhere the new file
//! is looked at when the same thread next asks the loader for something, mostly for a function of
//! that file. A file that the C library loads by itself is looked at when the next one is loaded.

use core::arch::naked_asm;
use core::ffi::{CStr, c_char, c_int, c_void};

use crate::late::{self, slots};
use crate::memory::local::local;
use crate::next_symbols;
use crate::symbols::{self, Scope};

/// A decision: the real function, and 1 if it is to be called.
#[repr(C)]
struct Decided {
    real: usize,
    is_called: usize,
}

/// # Safety
/// As for the function of the C library.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlopen() {
    naked_asm!(
        ".cfi_startproc",
        crate::machine::decide_and_jump!(),
        ".cfi_endproc",
        decide = sym decide,
        load = sym load,
    )
}

/// Functions that jump to the loader's, after they have looked for new files.
macro_rules! asking {
    ($($name:ident, $real:ident;)*) => {$(
        /// # Safety
        /// As for the function of the C library.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                crate::machine::jump_to_result!("{real}"),
                ".cfi_endproc",
                real = sym $real,
            )
        }
    )*};
}

asking! {
    dlsym, real_dlsym;
    dlvsym, real_dlvsym;
    dlmopen, real_dlmopen;
}

extern "C" fn real_dlsym() -> usize {
    look();
    next_symbols::dlsym().map_or(missing as *const () as usize, |real| real as usize)
}

extern "C" fn real_dlvsym() -> usize {
    look();
    next_symbols::dlvsym().map_or(missing as *const () as usize, |real| real as usize)
}

extern "C" fn real_dlmopen() -> usize {
    look_at_all();
    // Files of other namespaces are out of sight, but this one may be the program's own.
    local().pass_is_due(true);
    next_symbols::dlmopen().map_or(missing as *const () as usize, |real| real as usize)
}

/// In the place of a function that the C library does not have.
extern "C" fn missing() -> *mut c_void {
    core::ptr::null_mut()
}

extern "C" fn decide(name: *const c_char, caller: usize) -> Decided {
    look_at_all();
    // SAFETY: the program's own argument: a string, or null.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) });
    let is_called = slots::are_ours() && !is_callers_matter(name, caller);
    if !is_called {
        local().pass_is_due(true);
    }
    Decided {
        real: next_symbols::dlopen().map_or(missing as *const () as usize, |real| real as usize),
        is_called: is_called.into(),
    }
}

/// True if the loader might look for a file elsewhere for this caller than for us. We say nothing
/// about where files are, like most callers.
fn is_callers_matter(name: Option<&CStr>, caller: usize) -> bool {
    let Some(name) = name.map(CStr::to_bytes) else {
        return false;
    };
    if name.contains(&b'$') {
        return true;
    }
    if name.contains(&b'/') {
        return false;
    }
    let (mut matters, mut is_first) = (false, true);
    symbols::each(Scope::All, |object| {
        // What the executable says by `RPATH` holds for all.
        let is_executable = core::mem::take(&mut is_first);
        matters |= object.has_inherited_path && !is_executable;
        matters |= object.has_run_path && object.contains(caller);
        matters
    });
    matters
}

unsafe extern "C-unwind" fn load(name: *const c_char, mode: c_int) -> *mut c_void {
    let Some(real) = next_symbols::dlopen() else {
        return core::ptr::null_mut();
    };
    // SAFETY: the program's own arguments.
    let file = unsafe { real(name, mode) };
    if !file.is_null() {
        local().pass_is_due(!slots::take_again());
        late::note_loaded();
    }
    file
}

/// Looks at the files that the calling thread has loaded, and at those that another thread was
/// loading at the last look. Returns whether there were any.
fn look() -> bool {
    let is_due = local().pass_is_due(false) || slots::are_unfinished();
    if is_due {
        local().pass_is_due(!slots::take_again());
    }
    is_due
}

/// Looks at all new files.
fn look_at_all() {
    if !look() {
        slots::take_if_new();
    }
}
