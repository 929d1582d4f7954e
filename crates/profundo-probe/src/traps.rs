//! SIGTRAP in an agent: the cheaper of the two signals by which a task clock reaches its thread.
//!
//! The kernel sends it from the very interrupt in which the clock runs out, where SIGURG takes a
//! second one: a third less for each sample. But a program may want SIGTRAP for itself, a debugger
//! certainly does, and one still pending at an `exec` would kill the new program. So it is taken
//! only where it has no other user; the agent gives it back before that shows.

use core::mem::MaybeUninit;

use profundo_wire::State;

use crate::event::{Event, SystemCall};
use crate::handlers::{PERF_TAG, PERF_TAG_MASK, TRAP_PERF, word_at};
use crate::pass_on::{pass_on, send_again};
use crate::{receiver, sys};

/// The `sig_data` of a thread's clock.
pub fn tag(tid: u32) -> u64 {
    PERF_TAG | u64::from(tid)
}

/// The bit that tells a thread's system calls from its clock. No thread has so high a number.
const CALLS: u64 = 1 << 31;

/// The bit of `si_perf_flags` that says that the signal was blocked when the event came.
const WAS_BLOCKED: u64 = 1;

/// The `sig_data` of the event that samples a thread's system calls.
pub fn tag_of_calls(tid: u32) -> u64 {
    tag(tid) | CALLS
}

/// Our handler.
pub(crate) fn handler() -> usize {
    on_trap as *const () as usize
}

/// Whether an action is our own handler.
pub fn is_ours(action: &libc::sigaction) -> bool {
    action.sa_sigaction == handler()
}

/// Whether a SIGTRAP that was taken from the calling thread's queue is a clock of ours.
///
/// # Safety
/// `info` is the kernel's.
pub unsafe fn is_clock(info: *const libc::siginfo_t) -> bool {
    // SAFETY: `si_perf_data` lies at offset 24 for TRAP_PERF.
    unsafe { (*info).si_code == TRAP_PERF && word_at(info, 24) & PERF_TAG_MASK == PERF_TAG }
}

extern "C" fn on_trap(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel's argument.
    if !unsafe { is_clock(info) } {
        // SAFETY: passed on.
        return unsafe { pass_on(signal, info, context) };
    }
    // SAFETY: the kernel's argument; the offsets are those of `si_perf_data` and `si_perf_flags`.
    let (data, flags) = unsafe { (word_at(info, 24), word_at(info, 32) >> 32) };
    let is_call = data & CALLS != 0;
    if is_call && flags & WAS_BLOCKED != 0 {
        // A call of our own handler's, or of a thread that blocks the signal. It is answered
        // without any call, or the clock of calls would tick for ever.
        return;
    }
    let _at_work = receiver::AtWork::begin();
    // A thread that has reported its end is about to go.
    let probe = receiver::probe().or_else(receiver::wake);
    let Some(probe) = probe.filter(|probe| probe.knows_this_thread()) else {
        return;
    };
    let (state, system_call) = match is_call {
        false => (State::Running, SystemCall::Never),
        true => (State::Returning, SystemCall::Returned),
    };
    let event = Event {
        weight: 0,
        state,
        tag: 0,
        system_call,
        only_if_wanted: false,
    };
    // SAFETY: this is a handler, and `context` is the kernel's.
    unsafe { probe.sample(event, context.cast()) }
}

/// Takes back our SIGTRAPs pending for the calling thread, which blocks them. Returns false if one
/// is pending that is not ours; it stays pending.
pub fn take_back() -> bool {
    /// A thread has one, whichever of its events has sent it, and one for the whole process may be
    /// pending.
    const MOST: usize = 4;
    const SET_BYTES: usize = 8;
    let set = 1_u64 << (libc::SIGTRAP - 1);
    let at_once = [0_u64; 2];
    for _ in 0..MOST {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: all places are ours; a signal is sent back to the calling thread.
        unsafe {
            let (set, time) = (&raw const set as usize, &raw const at_once as usize);
            let place = info.as_mut_ptr() as usize;
            let taken = sys::call(
                libc::SYS_rt_sigtimedwait,
                [set, place, time, SET_BYTES, 0, 0],
            );
            if taken != libc::SIGTRAP as isize {
                return true;
            }
            if !is_clock(info.as_ptr()) {
                send_again(libc::SIGTRAP, info.as_ptr());
                return false;
            }
        }
    }
    true
}
