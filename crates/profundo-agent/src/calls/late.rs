//! Counting that begins while the program runs, and ends before the program does.
//!
//! The command asks for both, and the interpreter's lock is held. Calls that run already are not
//! counted: they stand in the tree so that the calls that they make have their callers. From one
//! moment on all calls of all threads are counted, because no other thread runs Python while the
//! lock is held. In the end the interpreter is as it was before.

use core::ffi::{c_int, c_void};
use core::ops::ControlFlow;
use core::ptr::null_mut;
use core::slice;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use profundo_cpython::{Layout, Memory, Owner, Start, Step, walk};
use profundo_probe::calls::{Described, Pile, Run, Stack};
use profundo_probe::shared::{CALLS_FILE, CUT_CALLS_FILE};
use profundo_probe::sys;

use super::api::{Calls, Object};
use super::state::{State, Wanted, state};
use super::{describe, lines, monitoring, profile};
use crate::home;
use crate::inject::{self, Api, Checked, FreeThreaded, There, exclusive, word};
use crate::{command, files, session};

/// Begins to count what the command requests. The interpreter's lock is held. Returns 0, or a
/// refusal.
pub fn begin() -> c_int {
    begin_with(super::wanted())
}

/// Begins to count what a program requests of itself, by these
/// [`trace_flag`](profundo_probe::shared::trace_flag)s. Other processes of the session count
/// nothing. Otherwise as [`begin`].
pub fn begin_with(wanted: u32) -> c_int {
    let Some(home) = home::current() else {
        return -libc::ESRCH;
    };
    // Those of a command that was killed.
    end();
    let number = home.ring_number().load(Ordering::Relaxed);
    let begun = super::begin_with(number, wanted, true);
    super::report_refusal(home, begun.err().unwrap_or(0));
    if begun.is_err() {
        end();
    }
    begun.err().unwrap_or(0)
}

/// Cuts off what was counted until now, and counts on by these flags: no other thread runs Python
/// meanwhile, so all that is counted is before the cut or behind it. Otherwise as [`begin_with`].
pub fn cut_with(wanted: u32) -> c_int {
    end();
    if let Some(home) = home::current() {
        cut_off(home.ring_number().load(Ordering::Relaxed));
    }
    begin_with(wanted)
}

/// Gives the file of this ring the name of one that was cut off.
fn cut_off(number: u32) {
    let (mut room, mut other) = ([0; session::PATH], [0; session::PATH]);
    let paths = (
        session::file_of(&mut room, CALLS_FILE, number),
        session::file_of(&mut other, CUT_CALLS_FILE, number),
    );
    if let (Some(from), Some(to)) = paths {
        // SAFETY: both end in a NUL. Without such a file nothing was counted.
        unsafe {
            let here = libc::AT_FDCWD as usize;
            let (from, to) = (from.as_ptr() as usize, to.as_ptr() as usize);
            sys::call(libc::SYS_renameat2, [here, from, here, to, 0, 0]);
        }
    }
}

/// Ends the counting, and takes back all that was set for it. The interpreter's lock is held.
pub fn end() -> c_int {
    let was_open = {
        let _alone = exclusive::COUNTS.enter();
        super::state::end()
    };
    if let (Ok(api), Some(calls)) = (inject::api(), super::api::find()) {
        // SAFETY: the caller has the lock.
        unsafe {
            match api.layout.profiler {
                Some(fields) => profile::end(api, fields, calls),
                None => monitoring::end(calls),
            }
        }
    }
    let _alone = exclusive::COUNTS.enter();
    // SAFETY: as above; nothing is reported any more.
    unsafe { super::state::give_back(was_open) };
    0
}

/// Ends the counting soon if the command was killed. The interpreter's lock is held, in the middle
/// of a call.
#[cold]
pub fn end_if_forgotten() {
    static IS_PENDING: AtomicBool = AtomicBool::new(false);
    /// Called by the interpreter's main thread, which holds the lock.
    unsafe extern "C" fn pending(_: *mut c_void) -> c_int {
        IS_PENDING.store(false, Ordering::Relaxed);
        // Another command may have come.
        if is_forgotten() {
            end();
        }
        0
    }
    if !is_forgotten() || IS_PENDING.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: the interpreter has begun, and the function may be called by any thread.
    let is_asked =
        inject::api().is_ok_and(|api| unsafe { (api.add_pending_call)(pending, null_mut()) == 0 });
    if !is_asked {
        IS_PENDING.store(false, Ordering::Relaxed);
    }
}

fn is_forgotten() -> bool {
    !session::control().is_some_and(command::is_alive)
}

/// The most frames of a thread that are noted.
const DEEP: usize = 16_384;

/// In a build that can run without the lock: has the interpreter stop all its threads, discards
/// what they have counted until now, and notes the calls that run already. Lines of these are
/// counted when their functions begin the next time: to ask for them would start the threads again.
///
/// # Safety
/// The calling thread is one of the interpreter's, and calls are counted from now on.
pub unsafe fn note_stopped(
    functions: &FreeThreaded,
    api: &Api,
    calls: &'static Calls,
    wanted: Wanted,
) {
    struct Noting<'a>(&'a Api, &'static Calls, Wanted);
    unsafe extern "C" fn note(_: Object, noting: *mut c_void) -> c_int {
        // SAFETY: it comes from below.
        let Noting(api, calls, wanted) = unsafe { &*noting.cast::<Noting<'_>>() };
        super::state::forget();
        if wanted.has_calls() {
            // SAFETY: no other thread of the interpreter's runs.
            unsafe { note_running(api, calls, *wanted) };
        }
        // No more objects are wanted.
        0
    }
    // No stopped thread is in the middle of a count.
    let _alone = exclusive::COUNTS.enter();
    let mut noting = Noting(api, calls, wanted);
    // SAFETY: the caller vouches; what is passed outlives the call.
    unsafe { (functions.visit_tracked)(note, (&raw mut noting).cast()) };
}

/// Notes the calls of all threads that run already.
///
/// # Safety
/// The lock is held, and calls are counted from now on.
pub unsafe fn note_running(api: &Api, calls: &'static Calls, wanted: Wanted) {
    if !wanted.has_calls() && !wanted.has_lines {
        return;
    }
    let bytes = DEEP * size_of::<u64>();
    let Some(room) = files::map_zeroed(bytes) else {
        return;
    };
    // SAFETY: it was mapped for so many, and is ours.
    let codes = unsafe { slice::from_raw_parts_mut(room.cast::<u64>().as_ptr(), DEEP) };
    let (layout, numbers) = (&api.layout, Numbers::find());
    // SAFETY: the caller vouches.
    let current = unsafe { (calls.thread)() };
    let interpreter_of = |state: u64| Checked.word(state + u64::from(layout.state.interpreter));
    let own = interpreter_of(current);
    // From 3.12 on, others may have a lock of their own: their states may be freed meanwhile.
    layout
        .threads
        .each(&mut Checked, api.runtime, |thread, owner| {
            let is_reported = layout.profiler.is_some() || interpreter_of(thread) == own;
            if !is_reported || inject::is_own_thread(thread) {
                return;
            }
            let (pointer, tid) = match owner {
                Owner::Pointer(pointer) => (pointer, numbers.of(pointer)),
                // SAFETY: a state of this interpreter is not freed while the lock is held.
                Owner::Number(tid) => (unsafe { word(layout.threads.pointer_at(thread)) }, tid),
            };
            if tid == 0 {
                return;
            }
            // SAFETY: the caller vouches.
            unsafe {
                let count = codes_of(layout, calls, thread, codes);
                let codes = codes.get(..count).unwrap_or_default();
                if let Some(state) = state()
                    && let Some((stack, runs)) = state.begin_running(pointer, tid, thread)
                {
                    note_thread(state, stack, runs, wanted, codes);
                }
            }
        });
    // SAFETY: it was mapped above.
    unsafe { files::unmap(room, bytes) };
}

/// The code objects of a thread's frames, the leaf first. Returns their number.
///
/// # Safety
/// The lock is held, and it is the state of a thread.
unsafe fn codes_of(layout: &Layout, calls: &Calls, thread: u64, codes: &mut [u64]) -> usize {
    let start = Start {
        state: thread,
        code_type: calls.code_type as u64,
        is_settled: true,
        is_calling: true,
        ..Start::default()
    };
    let mut count = 0;
    let _ = walk(layout, &mut There, start, |_, step| {
        if let (Step::Frame(frame), Some(place)) = (step, codes.get_mut(count)) {
            *place = frame.code;
            count += 1;
        }
        ControlFlow::Continue(())
    });
    count
}

/// Notes the calls of a thread, given their code, the leaf first.
///
/// # Safety
/// The lock is held.
unsafe fn note_thread(
    state: &mut State,
    stack: &mut Stack,
    runs: &mut Pile<Run>,
    wanted: Wanted,
    codes: &[u64],
) {
    let now = match state.uses_cpu() {
        true => crate::process::cpu_time_of(state.tree.thread_of(stack)),
        false => state.now(),
    };
    for &code in codes.iter().rev() {
        // SAFETY: the caller vouches: the code of a frame. It is kept, so that no other object
        // takes its address.
        unsafe {
            if wanted.has_calls() {
                let State {
                    tree,
                    calls,
                    layout,
                    ..
                } = state;
                tree.stands(stack, code, now, |report: &mut dyn FnMut(Described<'_>)| {
                    (calls.retain)(code as Object);
                    describe::code(layout, code, report);
                });
            } else if lines::is_counted(state, code) {
                lines::begin_in(state, runs, code);
                monitoring::ask_for_lines(state, code);
            }
        }
    }
}

/// The place of the kernel's number of a thread in glibc's descriptor of it, where the interpreter
/// does not have the number.
struct Numbers(Option<u64>);

impl Numbers {
    fn find() -> Self {
        /// The start of a descriptor, which contains the number.
        const WORDS: usize = 256;
        /// The place that was found before; 0: none.
        static KNOWN: AtomicU64 = AtomicU64::new(0);
        let (own, tid) = (profundo_probe::regs::thread_pointer(), sys::thread_id());
        let known = KNOWN.load(Ordering::Relaxed);
        if known != 0 && read_number(own + known) == Some(tid) {
            return Self(Some(known));
        }
        // By one call of the kernel.
        let mut bytes = [0; 4 * WORDS];
        let read = sys::copy_checked(own, &mut bytes);
        let mut words = bytes.get(..read).unwrap_or_default().chunks_exact(4);
        let at = words.position(|word| *word == tid.to_ne_bytes());
        let place = at.map(|at| at as u64 * 4);
        KNOWN.store(place.unwrap_or(0), Ordering::Relaxed);
        Self(place)
    }

    /// The kernel's number of a thread; 0: it is unknown.
    fn of(&self, pointer: u64) -> u32 {
        let number = self.0.and_then(|offset| read_number(pointer + offset));
        number.unwrap_or(0)
    }
}

/// Reads a number that may not be there.
fn read_number(address: u64) -> Option<u32> {
    let mut bytes = [0; 4];
    (sys::copy_checked(address, &mut bytes) == bytes.len()).then(|| u32::from_ne_bytes(bytes))
}
