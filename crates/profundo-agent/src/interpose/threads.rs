//! New threads: each begins in a few instructions of ours, which jump to the program's function and
//! leave nothing on the stack.

use core::arch::naked_asm;
use core::ffi::{c_int, c_uint, c_void};
use core::ptr;

use libc::{pthread_attr_t, pthread_t};

use crate::inject::early;
use crate::interpose::interpose;
use crate::next_symbols::{ThrdFunction, ThreadFunction};
use crate::signals::blocked;
use crate::thread_starts::{Begun, Start};
use crate::{c_library, calls, command, home, lifecycle, python, session, start, threads};

interpose! {
    extern "C" fn pthread_create(
        thread: *mut pthread_t,
        attributes: *const pthread_attr_t,
        function: ThreadFunction,
        argument: *mut c_void,
    ) -> c_int {
        let next = pthread_create or libc::EAGAIN;
        let wider = c_library::with_room_for_handlers(attributes);
        let attributes = wider.as_ref().map_or(attributes, ptr::from_ref);
        with_start(function as usize, argument, |start| match start {
            Some(start) => next(thread, attributes, first, start),
            None => next(thread, attributes, function, argument),
        })
    }

    extern "C" fn thrd_create(
        thread: *mut pthread_t,
        function: ThrdFunction,
        argument: *mut c_void,
    ) -> c_int {
        let next = thrd_create or THRD_ERROR;
        // The result of `first` is whatever the program's function has left in the register, so its
        // type does not matter.
        let first = core::mem::transmute::<ThreadFunction, ThrdFunction>(first);
        with_start(function as usize, argument, |start| match start {
            Some(start) => next(thread, first, start),
            None => next(thread, function, argument),
        })
    }

    /// Each interpreter makes a key while it starts: so a late one is found before it runs its
    /// first line.
    extern "C" fn pthread_key_create(
        key: *mut c_uint,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> c_int {
        let next = pthread_key_create or libc::EAGAIN;
        if python::is_missing()
            && home::home().is_some()
            && let Some(home) = home::current()
        {
            python::find(home, false, lifecycle::python_found);
        }
        early::reinstall();
        next(key, destructor)
    }
}

/// The result of a `thrd_create` that fails.
const THRD_ERROR: c_int = 2;

/// Enters the calling thread, which was just made.
unsafe extern "C" fn begin(place: *const Start) -> Begun {
    // SAFETY: `pthread_create` below passes the address of a place, which stays.
    let begun = unsafe { (*place).take() };
    if let Some(home) = home::current() {
        blocked::begin_thread();
        threads::enter_current(home);
        home.ring_bell();
    }
    begun
}

/// The thread's first function: it jumps to the program's, so that its caller is the C library, as
/// without us.
#[unsafe(naked)]
unsafe extern "C" fn first(place: *mut c_void) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        crate::machine::begin_thread!(),
        ".cfi_endproc",
        begin = sym begin,
    )
}

/// Makes a thread that enters itself or, where that is not possible, a plain one.
fn with_start(
    function: usize,
    argument: *mut c_void,
    make: impl FnOnce(Option<*mut c_void>) -> c_int,
) -> c_int {
    start::ensure();
    let home = home::current();
    if let Some(home) = home {
        python::find_if_asked(home, lifecycle::python_found);
    }
    calls::new_thread();
    let place = home
        .filter(|_| session::control().is_some_and(command::has_not_ended))
        .and_then(|home| home.starts().put(function, argument));
    let result = make(place.map(|place| ptr::from_ref(place).cast_mut().cast()));
    if result != 0
        && let Some(place) = place
    {
        place.take();
    }
    result
}
