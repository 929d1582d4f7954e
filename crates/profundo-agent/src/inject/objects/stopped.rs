//! The copy of a process whose threads run Python at the same time.
//!
//! The interpreter stops all its threads while it shows the collector's objects. At the first one
//! the copy is made: so it is made at an instant at which no other thread is in the middle of
//! anything of the interpreter's. In the copy the interpreter goes on, and shows the others.

use core::ffi::{c_int, c_void};

use super::Failure;
use super::pages::Pages;
use crate::inject::api::{FreeThreaded, Object};
use crate::symbols::{self, Scope};

struct Visit {
    /// The answer of the system call; `None`: it was not made so far.
    made: Option<isize>,
    seconds: u32,
    found: Result<Pages<u64>, Failure>,
    /// The function by which the interpreter forgets the threads that wait in its locks; 0: none.
    forget_waiting: usize,
}

/// Makes the copy, as [`make`](super::make) does. In the copy, all objects that the collector knows
/// come with it.
pub fn make(
    functions: &FreeThreaded,
    seconds: u32,
) -> (isize, Option<Result<Pages<u64>, Failure>>) {
    let mut forget_waiting = 0;
    symbols::find_all(&[c"_PyParkingLot_AfterFork"], Scope::All, |_, symbol| {
        forget_waiting = symbol.address;
    });
    let mut visit = Visit {
        made: None,
        seconds,
        found: Ok(Pages::new()),
        forget_waiting,
    };
    // SAFETY: the interpreter runs, and the calling thread is one of its own; what is passed
    // outlives the call.
    unsafe { (functions.visit_tracked)(meet, (&raw mut visit).cast()) };
    // The collector knows modules at least.
    let made = visit.made.unwrap_or(-(libc::EFAULT as isize));
    (made, (made == 0).then_some(visit.found))
}

/// Called for each object, while all other threads of the interpreter's are stopped.
unsafe extern "C" fn meet(object: Object, visit: *mut c_void) -> c_int {
    // SAFETY: it comes from `make`.
    let visit = unsafe { &mut *visit.cast::<Visit>() };
    if visit.made.is_none() {
        let made = super::make(visit.seconds);
        visit.made = Some(made);
        if made == 0 && visit.forget_waiting != 0 {
            // The copy has no other threads, and must not wait for one. SAFETY: the function of
            // that name has this type, and is for a process that has one thread.
            unsafe {
                core::mem::transmute::<usize, unsafe extern "C" fn()>(visit.forget_waiting)();
            }
        }
    }
    if visit.made != Some(0) {
        return 0;
    }
    if let Ok(found) = &mut visit.found
        && let Err(failure) = found.push(object as u64)
    {
        visit.found = Err(failure);
    }
    c_int::from(visit.found.is_ok())
}
