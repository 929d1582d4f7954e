//! The two functions that a program built with `-finstrument-functions` calls. A library that it is
//! linked to may define them too, to trace it: ours interpose that, and pass every call on to it.

use core::arch::naked_asm;
use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::calls::native_calls::{enter, leave};
use crate::start;
use crate::symbols::{self, Scope};

/// The type of both: the arguments are the function and the call site.
type Hook = unsafe extern "C" fn(u64, u64);

/// The library's functions; 0: there is none.
static NEXT_ENTER: AtomicUsize = AtomicUsize::new(UNKNOWN);
static NEXT_EXIT: AtomicUsize = AtomicUsize::new(UNKNOWN);
/// Not looked up yet.
const UNKNOWN: usize = 1;

/// # Safety
/// Called by a function that begins, with its own address.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __cyg_profile_func_enter(function: u64, _site: u64) {
    // The library comes first: its time is the caller's then.
    naked_asm!(
        ".cfi_startproc",
        crate::machine::report_enter!(),
        ".cfi_endproc",
        next = sym NEXT_ENTER,
        pass_on = sym pass_on_enter,
        enter = sym enter,
    )
}

/// # Safety
/// Called by a function that ends, with its own address.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __cyg_profile_func_exit(function: u64, _site: u64) {
    naked_asm!(
        ".cfi_startproc",
        crate::machine::report_leave!(),
        ".cfi_endproc",
        next = sym NEXT_EXIT,
        leave = sym leave,
        pass_on = sym pass_on_exit,
    )
}

unsafe extern "C" fn pass_on_enter(function: u64, site: u64) {
    // SAFETY: passed on.
    unsafe { pass_on(&NEXT_ENTER, function, site) };
}

unsafe extern "C" fn pass_on_exit(function: u64, site: u64) {
    // SAFETY: as above.
    unsafe { pass_on(&NEXT_EXIT, function, site) };
}

/// # Safety
/// The arguments are those of such a function.
#[inline(always)]
unsafe fn pass_on(next: &AtomicUsize, function: u64, site: u64) {
    if next.load(Ordering::Relaxed) == UNKNOWN {
        find_next();
    }
    match next.load(Ordering::Relaxed) {
        0 => {}
        // SAFETY: it is the function of that name.
        address => unsafe { core::mem::transmute::<usize, Hook>(address)(function, site) },
    }
}

/// Looks up the functions that would be called without us. The C library's do nothing.
#[cold]
#[inline(never)]
fn find_next() {
    // A library that was initialised before us may have called it.
    start::ensure();
    let names: [&CStr; 2] = [c"__cyg_profile_func_enter", c"__cyg_profile_func_exit"];
    let mut found = [0; 2];
    symbols::find_all(&names, Scope::Interposed, |index, symbol| {
        if let Some(place) = found.get_mut(index) {
            *place = symbol.address;
        }
    });
    let empty = symbols::range_of(libc::__errno_location as *const () as usize);
    let is_empty =
        |address: usize| empty.is_some_and(|(start, end)| (start..end).contains(&(address as u64)));
    for (next, address) in [&NEXT_ENTER, &NEXT_EXIT].into_iter().zip(found) {
        let address = if is_empty(address) { 0 } else { address };
        next.store(address, Ordering::Relaxed);
    }
}
