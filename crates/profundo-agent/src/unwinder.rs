//! The unwinder, which Rust's library calls, and those of our frames that an exception passes: the
//! program's, found at the first call. A library of our own would have to be loaded into each
//! program, which takes longer than the rest of a start; and only the unwinder that has thrown an
//! exception can read it.
//!
//! Each function jumps to the program's, with all its arguments, and leaves nothing on the stack. A
//! program without an unwinder throws nothing. Nor do we, except by a bug: a panic then loads the
//! usual one.

use core::arch::{global_asm, naked_asm};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::symbols::{self, Scope};

macro_rules! functions {
    ($($number:literal $name:literal),* $(,)?) => {
        const NAMES: &[&str] = &[$(concat!($name, "\0")),*];

        $(
            const _: () = assert!(is_at($number, concat!($name, "\0")));

            global_asm!(
                ".pushsection .text",
                concat!(".hidden ", $name),
                concat!(".globl ", $name),
                concat!(".type ", $name, ",@function"),
                concat!($name, ":"),
                ".cfi_startproc",
                crate::machine::jump_to_unwinder!(),
                ".cfi_endproc",
                concat!(".size ", $name, ", .-", $name),
                ".popsection",
                places = sym PLACES,
                number = const $number,
                find_and_jump = sym find_and_jump,
            );
        )*

        /// The addresses of the program's functions; 0 if not known yet.
        static PLACES: [AtomicUsize; NAMES.len()] = [const { AtomicUsize::new(0) }; NAMES.len()];
    };
}

functions! {
    0 "_Unwind_Resume",
    1 "_Unwind_RaiseException",
    2 "_Unwind_Backtrace",
    3 "_Unwind_DeleteException",
    4 "_Unwind_FindEnclosingFunction",
    5 "_Unwind_GetCFA",
    6 "_Unwind_GetDataRelBase",
    7 "_Unwind_GetIP",
    8 "_Unwind_GetIPInfo",
    9 "_Unwind_GetLanguageSpecificData",
    10 "_Unwind_GetRegionStart",
    11 "_Unwind_GetTextRelBase",
    12 "_Unwind_SetGR",
    13 "_Unwind_SetIP",
}

const fn is_at(number: usize, name: &str) -> bool {
    let (there, name) = (NAMES[number].as_bytes(), name.as_bytes());
    let mut at = 0;
    while at < name.len() && at < there.len() && there[at] == name[at] {
        at += 1;
    }
    at == name.len() && at == there.len()
}

/// Finds the function whose number its caller has left in a register, and jumps there with the
/// arguments that it was
/// called with.
#[unsafe(naked)]
unsafe extern "C" fn find_and_jump() {
    naked_asm!(
        ".cfi_startproc",
        crate::machine::find_unwinder!(),
        ".cfi_endproc",
        find = sym find,
    )
}

unsafe extern "C" fn find(number: usize) -> usize {
    let name = NAMES.get(number).copied().unwrap_or("\0");
    let name = CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or(c"");
    let found = address_of(name).or_else(|| {
        load();
        address_of(name)
    });
    match (found, PLACES.get(number)) {
        (Some(address), Some(place)) => {
            place.store(address, Ordering::Relaxed);
            address
        }
        _ => no_unwinder as *const () as usize,
    }
}

fn address_of(name: &CStr) -> Option<usize> {
    let mut found = None;
    symbols::find_all(&[name], Scope::All, |_, symbol| {
        found = Some(symbol.address);
    });
    found
}

/// Loads the usual unwinder, for a panic of ours in a program that has none.
fn load() {
    type Open = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
    if let Some(open) = address_of(c"dlopen") {
        // SAFETY: the C library's function of that name has that type.
        unsafe {
            let open = core::mem::transmute::<usize, Open>(open);
            open(c"libgcc_s.so.1".as_ptr(), libc::RTLD_NOW);
        }
    }
}

/// The result of all of them without an unwinder: the stack ends here.
extern "C" fn no_unwinder() -> c_int {
    const END_OF_STACK: c_int = 5;
    END_OF_STACK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_the_unwinder_is_found_and_called() {
        // Its frames are these, so it is called with a context and a function of this program's.
        extern "C" fn count(_: *mut c_void, frames: *mut c_void) -> c_int {
            // SAFETY: the number that is passed below.
            unsafe { *frames.cast::<usize>() += 1 };
            0
        }
        unsafe extern "C" {
            fn _Unwind_Backtrace(
                trace: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
                data: *mut c_void,
            ) -> c_int;
        }
        let mut frames = 0_usize;
        // SAFETY: the unwinder calls the function with the number's address.
        unsafe { _Unwind_Backtrace(count, (&raw mut frames).cast()) };
        assert!(frames > 3, "{frames}");
        let caught = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(7_u8)));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&7_u8));
    }
}
