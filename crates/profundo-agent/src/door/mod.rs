//! The door into a running interpreter: what the command asks of it is done here, while the interpreter's lock is held.
//!
//! The command has [`profundo_door_1`] called on some thread of the program. That only asks to be let in: the interpreter
//! calls us back between two instructions of its own, or a thread of ours waits for the lock like anybody else.
//! Nothing is done on the thread that was borrowed, which may be in the middle of anything.

mod api;
mod collections;
mod early;
mod objects;

pub use early::watch;

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering};

use profundo_probe::shared::{Request, refusal, request_state, way, wish};
use profundo_probe::sys;

use crate::process;
use crate::real::{self, ThreadFunction};
use crate::symbols::{self, Scope};
use api::Api;

/// Asks the interpreter to let us in. Returns 0, or why it cannot be asked.
///
/// # Safety
/// `request` is one, stays mapped for as long as the program lives, and its state is `ASKED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profundo_door_1(request: *mut Request) -> c_int {
    // SAFETY: the caller vouches.
    let asked = unsafe { &*request };
    let errno = libc_errno();
    // SAFETY: the thread's own number.
    let before = unsafe { errno.read() };
    let answer = match api::find() {
        Err(why) => why,
        Ok(api) => match asked.way.load(Ordering::Relaxed) {
            way::PENDING => pend(api, request),
            _ => begin_thread(request),
        },
    };
    // SAFETY: as above.
    unsafe { errno.write(before) };
    answer
}

fn libc_errno() -> *mut c_int {
    // SAFETY: takes nothing, and cannot fail.
    unsafe { libc::__errno_location() }
}

fn pend(api: &Api, request: *mut Request) -> c_int {
    // SAFETY: the interpreter has begun, and the function may be called by any thread.
    match unsafe { (api.add_pending_call)(let_in, request.cast()) } {
        0 => 0,
        _ => refusal::FULL,
    }
}

/// Called by the interpreter's main thread, which holds the lock.
unsafe extern "C" fn let_in(request: *mut c_void) -> c_int {
    // SAFETY: it was handed over for this.
    unsafe { answer(&*request.cast::<Request>()) };
    0
}

fn begin_thread(request: *mut Request) -> c_int {
    let Some(create) = create_thread() else {
        return refusal::NO_THREAD;
    };
    let mut thread = 0;
    // SAFETY: the attributes are the usual ones; the thread gets what it expects. Nobody waits for it.
    unsafe {
        match create(&mut thread, core::ptr::null(), thread_body, request.cast()) {
            0 => {
                libc::pthread_detach(thread);
                0
            }
            error => -error,
        }
    }
}

type Create = unsafe extern "C-unwind" fn(
    *mut libc::pthread_t,
    *const libc::pthread_attr_t,
    ThreadFunction,
    *mut c_void,
) -> c_int;

/// The C library's, whichever of us was loaded first.
fn create_thread() -> Option<Create> {
    if let Some(create) = real::pthread_create() {
        return Some(create);
    }
    let mut found = 0;
    symbols::find_all(&[c"pthread_create"], Scope::All, |_, symbol| {
        found = symbol.address;
    });
    // SAFETY: the C library's function of that name has that type.
    (found != 0).then(|| unsafe { core::mem::transmute::<usize, Create>(found) })
}

unsafe extern "C" fn thread_body(request: *mut c_void) -> *mut c_void {
    /// The program's signals are for its own threads.
    const ALL: u64 = u64::MAX;
    sys::set_signal_mask(ALL);
    if let Ok(api) = api::find() {
        // SAFETY: the interpreter runs; what is ensured is released.
        unsafe {
            let held = (api.gil_ensure)();
            answer(&*request.cast::<Request>());
            (api.gil_release)(held);
        }
    }
    null_mut()
}

/// Does what is asked. The lock is held.
fn answer(request: &Request) {
    let entered = request.state.compare_exchange(
        request_state::ASKED,
        request_state::INSIDE,
        Ordering::Acquire,
        Ordering::Relaxed,
    );
    if entered.is_err() {
        return;
    }
    /// Two at a time would be two copies at a time.
    static IS_BUSY: AtomicBool = AtomicBool::new(false);
    request
        .began
        .store(process::time(libc::CLOCK_MONOTONIC), Ordering::Relaxed);
    let answer = if IS_BUSY.swap(true, Ordering::Acquire) {
        refusal::BUSY
    } else {
        let answer = match (api::find(), request.wish.load(Ordering::Relaxed)) {
            (Err(why), _) => why,
            (Ok(api), wish::OBJECTS) => objects::copy(api, request),
            (Ok(_), wish::COLLECTIONS) => {
                let place = request.outlet.address.load(Ordering::Relaxed);
                collections::begin(place as *mut _)
            }
            (Ok(_), wish::SILENCE) => collections::end(),
            (Ok(_), _) => -libc::ENOSYS,
        };
        IS_BUSY.store(false, Ordering::Release);
        answer
    };
    request.answer.store(answer, Ordering::Relaxed);
    request
        .ended
        .store(process::time(libc::CLOCK_MONOTONIC), Ordering::Relaxed);
    // Release: whoever sees it done sees the answer.
    let before = request.state.swap(request_state::DONE, Ordering::AcqRel);
    if before == request_state::CANCELLED {
        match request.wish.load(Ordering::Relaxed) {
            wish::OBJECTS => objects::discard(answer),
            _ => {
                collections::end();
            }
        }
    }
}
