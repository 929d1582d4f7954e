//! Entering a running interpreter: the command's requests are answered here, while the
//! interpreter's lock is held.
//!
//! The command has [`profundo_door_1`] called on some thread of the program. That only asks to be
//! let in: the interpreter calls us back between two of its instructions, or a thread of ours waits
//! for the lock like any other. The borrowed thread does nothing else, since it may be in the
//! middle of anything.

mod api;
mod asked;
mod builtin;
mod collections;
pub mod early;
pub mod exclusive;
mod memory;
mod objects;
pub mod parts;
mod table;

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use profundo_probe::shared::{Request, refusal, request_state, way, wish};
use profundo_probe::sys;

use crate::next_symbols::{self, ThreadFunction};
use crate::symbols::{self, Scope};
use crate::{calls, process};
pub use api::{Api, FreeThreaded, find as api};
pub use memory::{Checked, There, field, field_at, word};
pub use table::Kept;
pub(crate) use table::table;

/// Asks the interpreter to let us in, or withdraws that. The result is written to the request's
/// `refused`.
///
/// # Safety
/// `request` is one, and stays mapped until it is done or was taken back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profundo_door_1(request: *mut Request) {
    // SAFETY: the caller vouches.
    let fields = unsafe { &*request };
    let errno = libc_errno();
    // SAFETY: the thread's own number.
    let before = unsafe { errno.read() };
    let refused = ask(fields, request);
    fields.refused.store(refused, Ordering::Release);
    // SAFETY: as above.
    unsafe { errno.write(before) };
}

fn ask(fields: &Request, request: *mut Request) -> c_int {
    let way = fields.way.load(Ordering::Relaxed);
    if way == way::WITHDRAW {
        return match asked::withdraw(request) {
            true => 0,
            false => refusal::TOO_LATE,
        };
    }
    let api = match api::find() {
        Ok(api) => api,
        Err(why) => return why,
    };
    let is_there = match way {
        way::PENDING => asked::add(request, fields.patience.load(Ordering::Relaxed)),
        // The request may be under way or answered already, and must not be answered twice.
        _ if !asked::stands(request) => return refusal::TOO_LATE,
        _ => true,
    };
    if !is_there {
        return refusal::BUSY;
    }
    let refused = match way {
        way::PENDING => pend(api),
        _ => begin_thread(),
    };
    // With these two, the command can try another way.
    if refused != 0 && refused != refusal::FULL {
        asked::withdraw(request);
    }
    refused
}

fn libc_errno() -> *mut c_int {
    // SAFETY: takes nothing, and cannot fail.
    unsafe { libc::__errno_location() }
}

/// True if the interpreter has us in its list of pending calls already. The list is short, and
/// shared.
static IS_PENDING: AtomicBool = AtomicBool::new(false);

fn pend(api: &Api) -> c_int {
    if IS_PENDING.swap(true, Ordering::AcqRel) {
        return 0;
    }
    // SAFETY: the interpreter has begun, and the function may be called by any thread.
    match unsafe { (api.add_pending_call)(let_in, null_mut()) } {
        0 => 0,
        _ => {
            IS_PENDING.store(false, Ordering::Release);
            refusal::FULL
        }
    }
}

/// Called by the interpreter's main thread, which holds the lock.
unsafe extern "C" fn let_in(_: *mut c_void) -> c_int {
    IS_PENDING.store(false, Ordering::Release);
    asked::each(answer);
    0
}

/// The program's signals are for its own threads.
const ALL_SIGNALS: u64 = u64::MAX;

fn begin_thread() -> c_int {
    let Some(create) = create_thread() else {
        return refusal::NO_THREAD;
    };
    // SAFETY: a number or a pointer, by the C library, and never looked at before it is written.
    let mut thread = unsafe { core::mem::zeroed() };
    // SAFETY: the two types differ in what may unwind out of the function, which its caller
    // handles.
    let body = unsafe { core::mem::transmute::<Body, ThreadFunction>(thread_body) };
    // The thread has these blocked from its first instruction on.
    let before = sys::set_signal_mask(ALL_SIGNALS);
    // SAFETY: the attributes are the defaults; the thread takes no argument, and is detached.
    let refused = unsafe {
        match create(&mut thread, core::ptr::null(), body, null_mut()) {
            0 => {
                libc::pthread_detach(thread);
                0
            }
            error => -error,
        }
    };
    sys::set_signal_mask(before);
    refused
}

/// The interpreter's state of a thread of ours that holds the lock; 0: there is none.
static OWN_THREAD: AtomicU64 = AtomicU64::new(0);

/// True if it is the interpreter's state of a thread of ours. The lock is held.
pub fn is_own_thread(state: u64) -> bool {
    OWN_THREAD.load(Ordering::Relaxed) == state
}

type Body = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

type Create = unsafe extern "C-unwind" fn(
    *mut libc::pthread_t,
    *const libc::pthread_attr_t,
    ThreadFunction,
    *mut c_void,
) -> c_int;

/// The C library's function, whichever of us was loaded first.
fn create_thread() -> Option<Create> {
    if let Some(create) = next_symbols::pthread_create() {
        return Some(create);
    }
    let mut found = 0;
    symbols::find_all(&[c"pthread_create"], Scope::All, |_, symbol| {
        found = symbol.address;
    });
    // SAFETY: the C library's function of that name has that type.
    (found != 0).then(|| unsafe { core::mem::transmute::<usize, Create>(found) })
}

/// The body of our thread. An interpreter that ends may end it here while it waits for the lock,
/// and unwinds through this function.
unsafe extern "C-unwind" fn thread_body(_: *mut c_void) -> *mut c_void {
    if let Ok(api) = api::find() {
        // SAFETY: the interpreter runs; what is ensured is released.
        unsafe {
            let held = (api.gil_ensure)();
            OWN_THREAD.store(calls::current_state(), Ordering::Relaxed);
            asked::each(answer);
            OWN_THREAD.store(0, Ordering::Relaxed);
            (api.gil_release)(held);
        }
    }
    null_mut()
}

/// Answers a request. The lock is held, and the request is claimed by us alone.
fn answer(request: &Request) {
    let begun = request.state.compare_exchange(
        request_state::ASKED,
        request_state::INSIDE,
        Ordering::Acquire,
        Ordering::Relaxed,
    );
    // The command has stopped waiting for it.
    if begun.is_err() {
        return;
    }
    /// Requests are answered one at a time: two would be two copies at a time.
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
            (Ok(_), wish::SILENCE) => {
                let place = request.outlet.address.load(Ordering::Relaxed);
                collections::end(place as *mut _)
            }
            (Ok(_), wish::BEGIN) => parts::begin(request.flags.load(Ordering::Relaxed)),
            (Ok(_), wish::END) => parts::end(request.flags.load(Ordering::Relaxed)),
            (Ok(_), _) => -libc::ENOSYS,
        };
        IS_BUSY.store(false, Ordering::Release);
        answer
    };
    request.answer.store(answer, Ordering::Relaxed);
    request
        .ended
        .store(process::time(libc::CLOCK_MONOTONIC), Ordering::Relaxed);
    // Release: a command that sees it done sees the answer. From here on its memory may go.
    request.state.store(request_state::DONE, Ordering::Release);
}
