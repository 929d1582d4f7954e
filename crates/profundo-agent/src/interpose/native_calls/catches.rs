//! Exceptions that are caught: the functions in between are over, and those built by clang do not
//! report that.

use core::arch::naked_asm;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::calls::native_calls::{drop_below, local};
use crate::machine::{jump, pass_stack_second};
use crate::symbols;

/// The function that catches an exception: it is given one, and returns the thrown object.
type Catch = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

const NAME: &CStr = c"__cxa_begin_catch";

/// # Safety
/// As for the function of the C++ runtime, which a handler of an exception calls first.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __cxa_begin_catch(exception: *mut c_void) -> *mut c_void {
    naked_asm!(pass_stack_second!(), jump!("{begin}"), begin = sym begin)
}

/// # Safety
/// `exception` is an exception of a C++ runtime.
unsafe extern "C" fn begin(exception: *mut c_void, stack: u64) -> *mut c_void {
    if !local::thread_tree().is_null() {
        drop_below(stack);
    }
    // SAFETY: passed on.
    unsafe { real(exception)(exception) }
}

/// The function that freed the first exception, and the one that caught it: most are like it.
static USUAL: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// The function of the runtime that has thrown an exception: a process may have several runtimes,
/// which cannot read each other's exceptions.
///
/// # Safety
/// `exception` is an exception of a C++ runtime.
unsafe fn real(exception: *mut c_void) -> Catch {
    /// The word of an exception that has the address of the function that frees it. That function
    /// belongs to the runtime that has thrown the exception.
    const FREES: usize = 1;
    /// Set while a thread writes down the first exception's function.
    const BUSY: usize = 1;
    // SAFETY: the caller vouches.
    let frees = unsafe { exception.cast::<usize>().add(FREES).read() };
    let [known, usual] = &USUAL;
    // Acquire pairs with the release below.
    let address = match known.load(Ordering::Acquire) {
        first if first == frees && first > BUSY => usual.load(Ordering::Relaxed),
        first => {
            let found = symbols::definition_beside(NAME, frees).unwrap_or(0);
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            if first == 0 && known.compare_exchange(0, BUSY, success, failure).is_ok() {
                usual.store(found, Ordering::Relaxed);
                known.store(frees.max(BUSY), Ordering::Release);
            }
            found
        }
    };
    match address {
        // SAFETY: the caller is linked to such a function, so this cannot happen.
        0 => unsafe { libc::abort() },
        // SAFETY: it is the function of that name.
        _ => unsafe { core::mem::transmute::<usize, Catch>(address) },
    }
}
