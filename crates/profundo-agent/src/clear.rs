//! The program's own request to discard what was recorded of it so far: the library's
//! `clear_malloc_data` looks this function up by name, and other callers may too.

use core::ffi::c_int;
use core::sync::atomic::Ordering;

use profundo_probe::sys;

use crate::{command, left, process, session};

/// A command that is not delayed needs only a part of a turn.
const PATIENCE: u64 = 2_000_000_000;
/// The interval of checks that the command still runs, in nanoseconds.
const CHECK_INTERVAL: u64 = 50_000_000;

/// Has the command discard its recording of this session, and waits for that. Returns 1 if it has,
/// 0 if no command records, or if it took too long.
#[unsafe(no_mangle)]
pub extern "C" fn profundo_clear() -> c_int {
    let control = session::control().filter(|_| !left::has_left());
    let Some(control) = control else { return 0 };
    let wanted = control
        .request
        .fetch_add(1, Ordering::AcqRel)
        .wrapping_add(1);
    let began = process::time(libc::CLOCK_MONOTONIC);
    while command::may_answer(control) {
        let heeded = control.heeded.load(Ordering::Acquire);
        if heeded.wrapping_sub(wanted) as i32 >= 0 {
            return 1;
        }
        if process::time(libc::CLOCK_MONOTONIC).saturating_sub(began) > PATIENCE {
            break;
        }
        control.doorbell.fetch_add(1, Ordering::Release);
        sys::futex_wake(&control.doorbell);
        sys::futex_wait(&control.heeded, heeded, CHECK_INTERVAL);
    }
    0
}
