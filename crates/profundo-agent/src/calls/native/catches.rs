//! Exceptions that are caught: functions on the way are over, and those that clang has built do not tell.

use core::arch::naked_asm;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use super::{drop_below, local};
use crate::symbols;

/// What catches an exception: it is given one, and says where the thrown object is.
type Catch = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

const NAME: &CStr = c"__cxa_begin_catch";

/// # Safety
/// As for the function of the C++ runtime's, which whoever catches an exception calls first.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __cxa_begin_catch(exception: *mut c_void) -> *mut c_void {
    naked_asm!("mov rsi, rsp", "jmp {begin}", begin = sym begin)
}

/// # Safety
/// `exception` is one.
unsafe extern "C" fn begin(exception: *mut c_void, stack: u64) -> *mut c_void {
    if !local::thread_tree().is_null() {
        drop_below(stack);
    }
    // SAFETY: passed on.
    unsafe { real(exception)(exception) }
}

/// What the first one was freed by, and what caught it: most are like it.
static USUAL: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// The function of the runtime that has thrown it: there may be several in a process, which do not know each other's.
///
/// # Safety
/// `exception` is one.
unsafe fn real(exception: *mut c_void) -> Catch {
    /// Where in it the address of the function stands that frees it, which is of the runtime that has thrown it.
    const FREES: usize = 1;
    /// Somebody writes down what the first one is like.
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
        // SAFETY: whoever calls is linked to one, so this cannot be.
        0 => unsafe { libc::abort() },
        // SAFETY: it is the function of that name.
        _ => unsafe { core::mem::transmute::<usize, Catch>(address) },
    }
}
