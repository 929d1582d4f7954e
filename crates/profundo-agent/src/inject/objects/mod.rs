//! A copy of the process that goes through all objects and reports them, while the program goes on.
//!
//! The copy is made by the bare system call: none of the program's own preparations for a fork run.
//! It is a child that no `wait` of the program's finds, and its end sends no signal. It has one
//! thread, which holds the interpreter's lock, so the objects are as they are between two
//! instructions of the interpreter, and stay so. Should it crash or hang, only the command notices.

mod counts;
mod frames;
mod holders;
mod names;
mod outlet;
mod pages;
mod roots;
mod rows;
mod search;
mod stopped;
mod types;

use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicI32, Ordering};

use profundo_probe::shared::Request;
use profundo_probe::sys;
use profundo_wire::graph::{End, end_words};

use super::api::Api;
use crate::memory;
use outlet::Out;
use pages::Pages;
use search::Search;

/// The reason why a search ends early: an error number, or a refusal.
pub type Failure = c_int;

/// The process id of the last copy. The lock of the interpreter guards it.
static LAST: AtomicI32 = AtomicI32::new(0);

/// Makes the copy. Returns its process id, or a negative error number.
pub fn copy(api: &'static Api, request: &Request) -> c_int {
    forget_last();
    // None of the program's handlers runs in the copy.
    let before = sys::set_signal_mask(u64::MAX);
    let seconds = request.seconds.load(Ordering::Relaxed);
    let (made, found) = match &api.free_threaded {
        None => (make(seconds), None),
        Some(functions) => stopped::make(functions, seconds),
    };
    if made != 0 {
        sys::set_signal_mask(before);
    }
    match made {
        0 => {
            serve(api, request, found);
            exit(0)
        }
        made => {
            LAST.store(made as c_int, Ordering::Relaxed);
            made as c_int
        }
    }
}

/// Makes the copy: 0 in it, and its process id in the process itself, or a negative error number.
/// The copy lives for so many seconds at most.
fn make(seconds: u32) -> isize {
    // SAFETY: neither memory nor descriptors are shared, the stack is the copy's own, and no signal
    // is sent at its end.
    let made = unsafe { sys::call(libc::SYS_clone, [0; 6]) };
    if made == 0 {
        settle(seconds);
    }
    made
}

/// Reaps the last copy, in case the command that had it made was killed.
fn forget_last() {
    let last = LAST.swap(0, Ordering::Relaxed);
    if last > 0 {
        // Only children that send no signal at their end are reaped: never one of the program's
        // own.
        let how = libc::__WCLONE as u32 as usize | libc::WNOHANG as usize;
        // SAFETY: nothing is written.
        unsafe { sys::call(libc::SYS_wait4, [last as usize, 0, how, 0, 0, 0]) };
    }
}

fn exit(code: usize) -> ! {
    loop {
        // SAFETY: ends the process, which is ours.
        unsafe { sys::call(libc::SYS_exit_group, [code, 0, 0, 0, 0, 0]) };
    }
}

/// In the copy: goes through the objects, and reports them. `found`: those that the collector
/// knows, where it has no lists of them.
fn serve(api: &'static Api, request: &Request, found: Option<Result<Pages<u64>, Failure>>) {
    memory::forget_in_copy();
    let Some(mut out) = Out::new(&request.outlet) else {
        return;
    };
    let flags = request.flags.load(Ordering::Relaxed);
    let found = found.transpose();
    let end = match found.and_then(|found| Search::run(api, flags, found, &mut out)) {
        Ok(end) => end,
        Err(failure) => End {
            failure: failure.unsigned_abs(),
            ..End::default()
        },
    };
    out.put(end_words(end).as_slice());
    out.finish();
}

/// The reader of a pipe of the program's waits until every writer has closed it.
fn close_files() {
    const ALL: usize = u32::MAX as usize;
    /// The highest descriptor that is closed where the kernel has no call for all of them.
    const MOST: usize = 4096;
    // SAFETY: the copy has descriptors of its own, and uses none of them.
    unsafe {
        if sys::call(libc::SYS_close_range, [0, ALL, 0, 0, 0, 0]) < 0 {
            for file in 0..MOST {
                sys::call(libc::SYS_close, [file, 0, 0, 0, 0, 0]);
            }
        }
    }
}

/// Keeps the process from disturbing others: it ends by itself, dies of an error without a core
/// dump, and is the OOM killer's first choice.
fn settle(seconds: u32) {
    /// All signals but those below.
    const BLOCKED: u64 = u64::MAX;
    const DEADLY: [i32; 7] = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGILL,
        libc::SIGFPE,
        libc::SIGABRT,
        libc::SIGTRAP,
        libc::SIGALRM,
    ];
    let mut blocked = BLOCKED;
    for signal in DEADLY {
        // The kernel's own structure: the handler, flags, the restorer and the mask.
        let action = [libc::SIG_DFL as u64, 0, 0, 0];
        let action = action.as_ptr() as usize;
        // SAFETY: the action is the default one.
        unsafe {
            sys::call(
                libc::SYS_rt_sigaction,
                [signal as usize, action, 0, 8, 0, 0],
            );
        }
        blocked &= !(1 << (signal - 1));
    }
    sys::set_signal_mask(blocked);
    close_files();
    let limit = [0_u64, 0];
    let timer = [0_u64, 0, u64::from(seconds.max(1)), 0];
    // SAFETY: what is pointed to is ours, and of the kernel's layout; the path ends in a NUL.
    unsafe {
        let core = libc::RLIMIT_CORE as usize;
        sys::call(
            libc::SYS_prlimit64,
            [0, core, limit.as_ptr() as usize, 0, 0, 0],
        );
        let real = libc::ITIMER_REAL as usize;
        sys::call(
            libc::SYS_setitimer,
            [real, timer.as_ptr() as usize, 0, 0, 0, 0],
        );
    }
    // The OOM killer's first choice.
    write_to_kernel(c"/proc/self/oom_score_adj", b"1000");
    // A program that gets core dumps by a pipe gets them whatever the limit says: then the dump is
    // empty.
    write_to_kernel(c"/proc/self/coredump_filter", b"0");
}

/// Writes to one of the kernel's files about this process. The descriptor is not closed, since the
/// copy ends soon.
fn write_to_kernel(path: &CStr, text: &[u8]) {
    let here = libc::AT_FDCWD as usize;
    let write = (libc::O_WRONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: the path ends in a NUL, and the text is as long as is said.
    unsafe {
        let path = path.as_ptr() as usize;
        let file = sys::call(libc::SYS_openat, [here, path, write, 0, 0, 0]);
        if file >= 0 {
            let at = text.as_ptr() as usize;
            sys::call(libc::SYS_write, [file as usize, at, text.len(), 0, 0, 0]);
        }
    }
}
