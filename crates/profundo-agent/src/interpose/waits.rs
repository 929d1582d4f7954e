//! Waits on conditions, of which some are the interpreter's lock: [`waits`](crate::waits).

use core::ffi::c_int;

use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, timespec};

use crate::interpose::interpose;
use crate::waits::counted;

interpose! {
    extern "C-unwind" fn pthread_cond_wait(
        condition: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
    ) -> c_int {
        let next = pthread_cond_wait or libc::ENOSYS;
        counted(condition, || next(condition, mutex))
    }

    extern "C-unwind" fn pthread_cond_timedwait(
        condition: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
        time: *const timespec,
    ) -> c_int {
        let next = pthread_cond_timedwait or libc::ENOSYS;
        counted(condition, || next(condition, mutex, time))
    }

    extern "C-unwind" fn pthread_cond_clockwait(
        condition: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
        clock: clockid_t,
        time: *const timespec,
    ) -> c_int {
        let next = pthread_cond_clockwait or libc::ENOSYS;
        counted(condition, || next(condition, mutex, clock, time))
    }
}
