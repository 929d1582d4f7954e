//! Counting the calls of native functions that were built to tell of them (`-finstrument-functions` of gcc and clang).
//!
//! Such a function calls `__cyg_profile_func_enter` where it begins, and another one where it ends. Each thread has a tree of calls
//! for itself, its desk, so nobody waits for anybody. A signal handler that comes while its thread is at its desk takes another one
//! until its own calls have ended.

mod cost;
mod desk;
mod jumps;
mod local;

use core::arch::naked_asm;
use core::ptr::{self, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering, compiler_fence, fence};

use profundo_probe::shared::trace_flag;
use profundo_probe::{clock, sys};

use self::desk::{Desk, NOBODYS};
use super::state::time;
use crate::{files, fork, process, restrict, start};

/// Set once nothing is to be counted here, for good.
static IS_OFF: AtomicBool = AtomicBool::new(false);
/// Set when the process ends.
static IS_OVER: AtomicBool = AtomicBool::new(false);
/// By the CPU time of each thread.
static USES_CPU: AtomicBool = AtomicBool::new(false);

/// One while calls are counted. It is zero again in the child of a fork, whoever made that: then our files are the parent's.
static IS_ON: AtomicPtr<AtomicU32> = AtomicPtr::new(null_mut());

/// # Safety
/// Called by a function that begins, with its own address.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __cyg_profile_func_enter(function: u64, _site: u64) {
    naked_asm!("mov rsi, rsp", "jmp {enter}", enter = sym enter)
}

/// # Safety
/// Called by a function that ends, with its own address.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __cyg_profile_func_exit(function: u64, _site: u64) {
    naked_asm!("mov rsi, rsp", "jmp {leave}", leave = sym leave)
}

unsafe extern "C" fn enter(function: u64, stack: u64) {
    let Some(desk) = sit_down() else { return };
    let place = place(stack);
    // SAFETY: this thread is at the desk, and nobody else is.
    unsafe {
        let (tree, calls) = desk.work();
        if calls.is_past(place) && !is_on_other_stack() {
            tree.drop_past(calls, place, now());
        }
        tree.enter_native(calls, (function, place), now);
    }
    desk.leave();
}

unsafe extern "C" fn leave(function: u64, stack: u64) {
    let Some(desk) = sit_down() else { return };
    let end = now();
    // SAFETY: as above.
    let is_done = unsafe {
        let (tree, calls) = desk.work();
        tree.leave_native(calls, (function, place(stack)), end);
        calls.open.is_empty() && !calls.open.is_beyond()
    };
    match is_done && desk.was_taken_between() {
        true => desk.give_back(),
        false => desk.leave(),
    }
}

/// Frames begin at multiples of sixteen.
#[inline]
fn place(stack: u64) -> u32 {
    (stack >> 4) as u32
}

#[inline]
fn now() -> u64 {
    match USES_CPU.load(Ordering::Relaxed) {
        false => clock::now(),
        true => time(true),
    }
}

/// The calling thread's desk, with the thread at it.
#[inline]
fn sit_down() -> Option<&'static Desk> {
    // SAFETY: what is there is a desk, which stays for ever.
    if let Some(desk) = unsafe { local::desk().as_ref() }
        && desk.sit_down()
    {
        // Pairs with the barrier in `end`, which makes all threads do so: either it is seen here that all is over, or it is seen
        // there that somebody is at work.
        compiler_fence(Ordering::SeqCst);
        if desk.is_on() {
            return Some(desk);
        }
        desk.leave();
    }
    sit_down_anew()
}

/// The first time, while a handler has interrupted us, in a child, or when nothing is counted any more.
#[cold]
#[inline(never)]
fn sit_down_anew() -> Option<&'static Desk> {
    if IS_OFF.load(Ordering::Relaxed) || restrict::has_left() {
        return None;
    }
    start::ensure();
    // In the child of a fork that nobody has told of, this enters it.
    let home = fork::home_of_this_process()?;
    if super::wanted() & trace_flag::CALLS == 0 {
        IS_OFF.store(true, Ordering::Relaxed);
        return None;
    }
    if IS_OVER.load(Ordering::Relaxed) {
        return None;
    }
    let is_first = begin()?;
    let number = home.ring_number().load(Ordering::Relaxed);
    let own = local::desk();
    // SAFETY: as above.
    let known = unsafe { own.as_ref() }.filter(|it| it.is_on() && it.sit_down());
    let desk = match known {
        Some(desk) => desk,
        None => {
            let desk = desk::take(number, own)?;
            local::set_desk(desk);
            if !desk.sit_down() {
                return None;
            }
            desk
        }
    };
    if is_first {
        desk.leave();
        cost::measure(desk);
        if !desk.sit_down() {
            return None;
        }
    }
    Some(desk)
}

/// Makes what all threads share. Whether that was just now; `None`: there is no memory.
fn begin() -> Option<bool> {
    const PAGE: usize = 4096;
    if is_on() {
        return Some(false);
    }
    let page = files::map_zeroed(PAGE)?;
    // SAFETY: the page is ours, zero, and stays.
    let word = unsafe {
        if !files::advise(page, PAGE, libc::MADV_WIPEONFORK) {
            IS_OFF.store(true, Ordering::Relaxed);
            return None;
        }
        page.cast::<AtomicU32>().as_ref()
    };
    let uses_cpu = super::wanted() & trace_flag::CPU_CLOCK != 0;
    USES_CPU.store(uses_cpu, Ordering::Relaxed);
    register_barrier();
    word.store(1, Ordering::Relaxed);
    let word = ptr::from_ref(word).cast_mut();
    let first = IS_ON.compare_exchange(null_mut(), word, Ordering::AcqRel, Ordering::Relaxed);
    Some(first.is_ok())
}

/// Whether native calls are counted, or were before the end.
pub fn is_on() -> bool {
    !IS_ON.load(Ordering::Acquire).is_null()
}

fn set_on(is_on: bool) {
    // SAFETY: the page stays.
    if let Some(word) = unsafe { IS_ON.load(Ordering::Acquire).as_ref() } {
        word.store(is_on.into(), Ordering::SeqCst);
    }
}

/// The process ends, or becomes another program: what has not ended by now has lasted until now.
pub fn end() {
    if !is_on() || IS_OVER.swap(true, Ordering::Relaxed) {
        return;
    }
    set_on(false);
    pass_barrier();
    let end = now();
    // The CPU time of another thread is not known here.
    let only = USES_CPU.load(Ordering::Relaxed).then(local::desk);
    desk::each(|desk| desk.settle(end, only.is_none_or(|it| ptr::eq(it, desk))));
}

/// That was too early.
pub fn go_on() {
    if is_on() {
        IS_OVER.store(false, Ordering::Relaxed);
        set_on(true);
    }
}

/// Nothing of ours may call the kernel any more. Counting goes on where there is room, but the CPU time is not to be had.
pub fn restrict() {
    if is_on() && USES_CPU.load(Ordering::Relaxed) {
        end();
        stop();
    }
}

/// Counts no more.
pub fn stop() {
    IS_OFF.store(true, Ordering::Relaxed);
    set_on(false);
}

/// The calling thread ends.
pub fn end_thread() {
    // SAFETY: as in `sit_down`.
    let Some(desk) = (unsafe { local::desk().as_ref() }) else {
        return;
    };
    if desk.sit_down() {
        let is_on = desk.is_on();
        desk.leave();
        if is_on {
            // What is called from now on takes a desk for as long as it lasts.
            local::set_desk(&NOBODYS);
            desk.settle(now(), true);
            desk.clear();
        }
    }
}

/// In the child of a fork, which has a ring of its own, and one thread.
pub fn enter_child(number: u32) {
    if !is_on() {
        return;
    }
    IS_OVER.store(false, Ordering::Relaxed);
    desk::forget_all();
    set_on(true);
    // SAFETY: as in `sit_down`. The desk was the parent's; of it only the list of calls is ours.
    if let Some(old) = unsafe { local::desk().as_ref() } {
        local::set_desk(null_mut());
        if let Some(new) = desk::take(number, null_mut()) {
            // SAFETY: nobody is at it yet, and there is one thread.
            unsafe { new.go_on_with(old, now()) };
            local::set_desk(new);
        }
    }
}

/// Whether a signal handler runs that has a stack for itself.
#[cold]
fn is_on_other_stack() -> bool {
    if restrict::has_left() {
        return false;
    }
    let mut stack = libc::stack_t {
        ss_sp: null_mut(),
        ss_flags: 0,
        ss_size: 0,
    };
    let place = &raw mut stack as usize;
    // SAFETY: the kernel fills in the structure, which is ours.
    let asked = unsafe { sys::call(libc::SYS_sigaltstack, [0, place, 0, 0, 0, 0]) };
    asked != 0 || stack.ss_flags & libc::SS_ONSTACK != 0
}

/// `membarrier`'s commands.
const PRIVATE_EXPEDITED: usize = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: usize = 1 << 4;

fn register_barrier() {
    // SAFETY: touches no memory.
    unsafe {
        sys::call(
            libc::SYS_membarrier,
            [REGISTER_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0],
        )
    };
}

/// All threads that run see from now on what we have written by now, and we what they have.
fn pass_barrier() {
    fence(Ordering::SeqCst);
    if !process::has_one_thread() {
        // SAFETY: as above. A kernel without it leaves a moment in which a thread may be at work unseen.
        unsafe { sys::call(libc::SYS_membarrier, [PRIVATE_EXPEDITED, 0, 0, 0, 0, 0]) };
    }
}
