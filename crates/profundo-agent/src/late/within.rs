//! A program that comes into a session by itself: `import profundo` loads this library and calls
//! its functions.
//!
//! The recorder is a process of our own beside the program. It is the child of a child that ends
//! at once, and that child sends no signal: no `wait` of the program finds either of them.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use profundo_probe::shared::Answer;
use profundo_probe::sys;

use super::running::each_name;
use super::{alone, enter, fall_silent, follow_memory, leave_once};
use crate::calls;
use crate::files;
use crate::home::{Home, home};
use crate::inject::parts;
use crate::memory;
use crate::next_symbols::{self, Strings};
use crate::{process, session};

/// The descriptor on which the recorder talks with the program.
const SOCKET: usize = 3;

/// True while the recorder has our permission to read this process.
static HAS_PERMITTED: AtomicBool = AtomicBool::new(false);

/// Starts a recorder, which gets the descriptor `socket` as its descriptor 3, and no other one.
/// Returns its process id, or a negative error number.
///
/// # Safety
/// The path and the strings end in a NUL, and both lists end in a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profundo_recorder_1(
    path: *const c_char,
    arguments: Strings,
    variables: Strings,
    socket: c_int,
) -> c_int {
    alone(|_| {
        let Some(stacks) = files::map_zeroed(2 * STACK) else {
            return -libc::ENOMEM;
        };
        let middle = stacks.as_ptr() as usize + STACK;
        let start = Start {
            path,
            arguments,
            variables,
            socket,
            stack: middle,
            recorder: AtomicI32::new(0),
            error: AtomicI32::new(0),
            began: process::time(libc::CLOCK_MONOTONIC),
        };
        let recorder = start.run(middle + STACK);
        // SAFETY: both children have ended, or have become other programs.
        unsafe { files::unmap(stacks, 2 * STACK) };
        // One that only reads what another recorder writes needs no permission.
        if recorder > 0 && !home().is_some_and(Home::records) {
            permit(recorder);
        }
        recorder
    })
}

/// Enters the session in a directory: see [`super::profundo_enter_1`]. Returns 0, or a negative
/// error number. The masks of other threads stay as they are.
///
/// # Safety
/// The texts end in a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profundo_join_1(directory: *const c_char, agent: *const c_char) -> c_int {
    // SAFETY: the caller vouches.
    let (directory, agent) = unsafe {
        (
            CStr::from_ptr(directory).to_bytes(),
            CStr::from_ptr(agent).to_bytes(),
        )
    };
    alone(|own| match enter(directory, agent, *own, &no_answer()) {
        Ok(()) => {
            note_joined();
            0
        }
        Err(error) => -error,
    })
}

/// The process that has joined by itself; 0: none.
static JOINED: AtomicU32 = AtomicU32::new(0);

/// Notes that this process has joined by itself.
pub(super) fn note_joined() {
    JOINED.store(process::process_id(), Ordering::Relaxed);
}

/// True if this process records itself. A child of it is recorded by its parent, as is one that
/// borrows its memory.
pub fn has_joined() -> bool {
    JOINED.load(Ordering::Relaxed) == process::process_id()
}

/// Begins to record allocations: see [`super::profundo_follow_memory_1`]. Returns 0, or a negative
/// error number. Python's own follow with [`profundo_begin_parts_1`].
#[unsafe(no_mangle)]
pub extern "C" fn profundo_follow_1() -> c_int {
    alone(|_| follow_memory())
}

/// The two words of [`profundo_probe::shared::Regions`] that this process and its recorder share;
/// null where it does not record itself. They are there until it leaves the session.
#[unsafe(no_mangle)]
pub extern "C" fn profundo_regions_1() -> *const AtomicU32 {
    match home().filter(|home| home.records()) {
        Some(home) => &raw const home.ring().header.regions.open,
        None => ptr::null(),
    }
}

/// Sets whether new blocks are counted, where each one is.
#[unsafe(no_mangle)]
pub extern "C" fn profundo_count_1(counts: c_int) {
    memory::count_new(counts != 0);
}

/// Parts begin in the interpreter, by the bits of [`profundo_probe::shared::part`]. The caller has
/// its lock. Returns 0, or the first refusal.
#[unsafe(no_mangle)]
pub extern "C" fn profundo_begin_parts_1(parts: u32) -> c_int {
    parts::begin(parts)
}

/// Begins to count in the interpreter, by the bits of [`profundo_probe::shared::trace_flag`]. The
/// caller has its lock. Returns 0, or a refusal. [`profundo_end_parts_1`] ends it.
#[unsafe(no_mangle)]
pub extern "C" fn profundo_begin_counts_1(wanted: u32) -> c_int {
    calls::begin_late_with(wanted)
}

/// Cuts off what was counted until now, and counts on: all that is counted is before the cut or
/// behind it. Otherwise as [`profundo_begin_counts_1`].
#[unsafe(no_mangle)]
pub extern "C" fn profundo_cut_counts_1(wanted: u32) -> c_int {
    calls::cut_late_with(wanted)
}

/// Parts end. The caller holds the interpreter's lock. Returns the number of things of ours that
/// stay and only pass calls on, or the first refusal.
#[unsafe(no_mangle)]
pub extern "C" fn profundo_end_parts_1(parts: u32) -> c_int {
    parts::end(parts)
}

/// Leaves the session. The recorder has closed its clocks. Returns 0, or a negative error number.
#[unsafe(no_mangle)]
pub extern "C" fn profundo_part_1() -> c_int {
    let answer = no_answer();
    // While a signal is on its way, or a thread in a handler.
    patiently(|| alone(|own| fall_silent(own, &answer)));
    let left = patiently(|| alone(|own| leave_once(*own, &answer)));
    JOINED.store(0, Ordering::Relaxed);
    if HAS_PERMITTED.swap(false, Ordering::Relaxed) {
        permit(0);
    }
    left
}

/// Does something again until it can be done, or for five seconds.
fn patiently(mut act: impl FnMut() -> c_int) -> c_int {
    const LONGEST: u64 = 5_000_000_000;
    static PAUSE: libc::timespec = libc::timespec {
        tv_sec: 0,
        tv_nsec: 200_000,
    };
    let until = process::time(libc::CLOCK_MONOTONIC) + LONGEST;
    loop {
        let result = act();
        let is_late = process::time(libc::CLOCK_MONOTONIC) > until;
        if result != -libc::EAGAIN || is_late {
            return result;
        }
        let pause = &raw const PAUSE as usize;
        // SAFETY: the time is ours, and nothing is written.
        unsafe { sys::call(libc::SYS_nanosleep, [pause, 0, 0, 0, 0, 0]) };
    }
}

/// An answer for which there is no command. Masks of other threads stay as they are.
pub(super) fn no_answer() -> Answer {
    // SAFETY: it is made of numbers, which may be zero.
    unsafe { core::mem::zeroed() }
}

/// Lets a process read this one, where the kernel's module Yama permits that only to parents.
fn permit(recorder: c_int) {
    HAS_PERMITTED.store(recorder != 0, Ordering::Relaxed);
    let number = libc::PR_SET_PTRACER as usize;
    // SAFETY: takes numbers. Without Yama it is an error, and nothing is to be permitted.
    unsafe { sys::call(libc::SYS_prctl, [number, recorder as usize, 0, 0, 0, 0]) };
}

/// The start of a recorder: what both children read, and where they write their results.
struct Start {
    path: *const c_char,
    arguments: Strings,
    variables: Strings,
    socket: c_int,
    /// The end of the second child's stack, which grows down.
    stack: usize,
    recorder: AtomicI32,
    error: AtomicI32,
    /// A time before any child, on the monotonic clock.
    began: u64,
}

/// Both children borrow the memory of this process while it waits, like those of `vfork`.
const BORROWED: c_int = libc::CLONE_VM | libc::CLONE_VFORK;

/// The bytes of each child's stack.
const STACK: usize = 64 << 10;

impl Start {
    /// Returns the recorder's process id, or a negative error number.
    fn run(&self, stack: usize) -> c_int {
        // SAFETY: the stack is the child's own, and this thread waits until the child has ended.
        let child = unsafe { self.clone(in_child, stack, BORROWED) };
        if child < 0 {
            return -next_symbols::errno();
        }
        reap(child);
        match self.error.load(Ordering::Relaxed) {
            0 => self.recorder.load(Ordering::Relaxed),
            error => -error,
        }
    }

    /// Makes a child that calls `f` with this.
    ///
    /// # Safety
    /// The stack is the child's own.
    unsafe fn clone(
        &self,
        f: extern "C" fn(*mut c_void) -> c_int,
        stack: usize,
        how: c_int,
    ) -> c_int {
        let this = ptr::from_ref(self).cast_mut().cast::<c_void>();
        // SAFETY: the caller vouches, and waits, so that all that `self` borrows stays.
        unsafe { libc::clone(f, stack as *mut c_void, how, this) }
    }

    /// Tells another recorder, which records this process, that the calling child is none of the
    /// program's: it is noted as a copy is.
    fn announce(&self) {
        let Some(control) = session::control() else {
            return;
        };
        let number = control.copy_count.fetch_add(1, Ordering::Relaxed);
        let number = number as usize % control.copies.len();
        if let Some(note) = control.copies.get(number) {
            // SAFETY: takes nothing.
            let pid = unsafe { sys::call(libc::SYS_getpid, [0; 6]) };
            note.pid.store(0, Ordering::Relaxed);
            note.began.store(self.began, Ordering::Release);
            note.ended.store(0, Ordering::Relaxed);
            // Release pairs with the recorder's acquire: the rest is there.
            note.pid.store(pid as u32, Ordering::Release);
        }
    }

    /// Becomes the recorder. Returns only after an error.
    fn execute(&self) -> c_int {
        self.announce();
        // SAFETY: system calls that change only this process, which shares nothing but its memory.
        // The strings end in a NUL, and the lists in a null pointer.
        unsafe {
            // A Ctrl-C at the terminal is for the program alone.
            sys::call(libc::SYS_setsid, [0; 6]);
            let socket = self.socket as usize;
            if socket == SOCKET {
                sys::call(
                    libc::SYS_fcntl,
                    [SOCKET, libc::F_SETFD as usize, 0, 0, 0, 0],
                );
            } else {
                sys::call(libc::SYS_dup3, [socket, SOCKET, 0, 0, 0, 0]);
            }
            close_from(SOCKET + 1);
            let null = c"/dev/null".as_ptr() as usize;
            let how = libc::O_RDWR as usize;
            let here = libc::AT_FDCWD as usize;
            let opened = sys::call(libc::SYS_openat, [here, null, how, 0, 0, 0]);
            if let Ok(opened) = usize::try_from(opened) {
                for standard in 0..SOCKET {
                    if opened != standard {
                        sys::call(libc::SYS_dup3, [opened, standard, 0, 0, 0, 0]);
                    }
                }
                if opened > SOCKET {
                    sys::call(libc::SYS_close, [opened, 0, 0, 0, 0, 0]);
                }
            }
            sys::set_signal_mask(0);
            let strings = [
                self.path as usize,
                self.arguments as usize,
                self.variables as usize,
            ];
            let [path, arguments, variables] = strings;
            let error = sys::call(libc::SYS_execve, [path, arguments, variables, 0, 0, 0]);
            -error as c_int
        }
    }
}

/// The first child: it starts the recorder and ends.
extern "C" fn in_child(start: *mut c_void) -> c_int {
    // SAFETY: the parent waits, and its value stays meanwhile.
    let start = unsafe { &*start.cast::<Start>() };
    start.announce();
    // SAFETY: as for the first child.
    let recorder = unsafe { start.clone(in_recorder, start.stack, BORROWED | libc::SIGCHLD) };
    match recorder {
        ..=0 => start.error.store(libc::EAGAIN, Ordering::Relaxed),
        _ => start.recorder.store(recorder, Ordering::Relaxed),
    }
    0
}

/// The second child: it becomes the recorder.
extern "C" fn in_recorder(start: *mut c_void) -> c_int {
    // SAFETY: the first child waits, and so does the parent.
    let start = unsafe { &*start.cast::<Start>() };
    start.error.store(start.execute(), Ordering::Relaxed);
    127
}

/// Closes all descriptors from one on.
fn close_from(first: usize) {
    // SAFETY: takes numbers. The descriptors are copies.
    let closed = unsafe {
        sys::call(
            libc::SYS_close_range,
            [first, u32::MAX as usize, 0, 0, 0, 0],
        )
    };
    if closed == 0 {
        return;
    }
    // Linux before 5.9.
    let _ = files::with_file(c"/proc/self/fd", libc::O_RDONLY, |folder| {
        each_name(folder, |name| {
            let number = core::str::from_utf8(name)
                .ok()
                .and_then(|name| name.parse().ok());
            if let Some(number) = number.filter(|&number| number >= first && number != folder) {
                // SAFETY: as above.
                unsafe { sys::call(libc::SYS_close, [number, 0, 0, 0, 0, 0]) };
            }
        });
    });
}

/// Takes the end of the first child, which only a caller that asks for such children sees.
fn reap(child: c_int) {
    let how = libc::__WCLONE as u32 as usize;
    // SAFETY: a child of ours, and nothing is written.
    while unsafe { sys::call(libc::SYS_wait4, [child as usize, 0, how, 0, 0, 0]) }
        == -(libc::EINTR as isize)
    {}
}
