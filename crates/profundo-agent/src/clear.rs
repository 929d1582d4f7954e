//! The program's own wish that what was recorded of it so far be forgotten: the library's `clear_malloc_data` asks for
//! it by this function's name, as anybody may who finds it.

use core::ffi::c_int;
use core::sync::atomic::Ordering;

use profundo_probe::sys;

use crate::{left, process, session};

/// A command that is not held up does it within a part of a turn.
const PATIENCE: u64 = 2_000_000_000;
/// So often it is looked whether the command is still there.
const LOOK: u64 = 50_000_000;

/// Has the command forget what it has recorded of this session, and waits until it has. Returns 1 if it has, 0 if
/// nobody records, or if it took too long.
#[unsafe(no_mangle)]
pub extern "C" fn profundo_clear() -> c_int {
    let control = session::control().filter(|_| !left::has_left());
    let Some(control) = control else { return 0 };
    let wanted = control
        .request
        .fetch_add(1, Ordering::AcqRel)
        .wrapping_add(1);
    let began = process::time(libc::CLOCK_MONOTONIC);
    while session::is_alive(control) {
        let heeded = control.heeded.load(Ordering::Acquire);
        if heeded.wrapping_sub(wanted) as i32 >= 0 {
            return 1;
        }
        if process::time(libc::CLOCK_MONOTONIC).saturating_sub(began) > PATIENCE {
            break;
        }
        control.doorbell.fetch_add(1, Ordering::Release);
        sys::futex_wake(&control.doorbell);
        sys::futex_wait(&control.heeded, heeded, LOOK);
    }
    0
}
