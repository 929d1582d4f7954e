//! Counting the calls of native functions that were built to tell of them (`-finstrument-functions` of gcc and clang).
//!
//! Those of `-pg`, which tell less, are in `entries`. Such a function calls `__cyg_profile_func_enter` where it begins, and another one where it ends. Each thread has a tree of calls
//! of its own, so no thread waits for another one. A signal handler that interrupts a thread in its tree takes another tree
//! until its own calls have ended.

mod catches;
mod cost;
mod entries;
mod hooks;
mod jumps;
mod local;
mod thread_tree;

use core::ptr::{self, null_mut};
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence, fence,
};

use profundo_probe::shared::trace_flag;
use profundo_probe::{clock, regs, sys};

use self::thread_tree::{NOBODYS, REFUSED, ThreadTree};
use super::state as interpreter;
use super::state::time;
use crate::home::Home;
use crate::{files, home, left, process, start};

/// Set once nothing is to be counted here, for good.
static IS_OFF: AtomicBool = AtomicBool::new(false);
/// Set when the process ends.
static IS_OVER: AtomicBool = AtomicBool::new(false);
/// The thread that has said so.
static ENDED_BY: AtomicU64 = AtomicU64::new(0);
/// Set while the process may become another program.
static IS_EXECUTING: AtomicBool = AtomicBool::new(false);
/// How many calls began meanwhile.
static MISSED: AtomicU64 = AtomicU64::new(0);
/// By the CPU time of each thread.
static USES_CPU: AtomicBool = AtomicBool::new(false);

/// Who tells of calls: the first that comes. A program that has both would have everything twice.
static TOLD_BY: AtomicU32 = AtomicU32::new(0);
/// Those that tell of ends as well, and those that do not.
const ENDS: u32 = 1;
const BEGINNINGS: u32 = 2;

/// Whether it is these.
#[inline]
fn is_counted_by(these: u32) -> bool {
    let told_by = TOLD_BY.load(Ordering::Relaxed);
    told_by == these || told_by == 0 && is_first_told_by(these)
}

#[cold]
fn is_first_told_by(these: u32) -> bool {
    let first = TOLD_BY.compare_exchange(0, these, Ordering::Relaxed, Ordering::Relaxed);
    first.is_ok() || first == Err(these)
}

/// Of [`counting`]. It is zero again in the child of a fork, whoever made that: then our files are the parent's.
static IS_ON: AtomicPtr<AtomicU32> = AtomicPtr::new(null_mut());

unsafe extern "C" fn enter(function: u64, stack: u64) {
    if !is_counted_by(ENDS) {
        return;
    }
    let Some(thread_tree) = enter_thread_tree() else {
        return missed();
    };
    let place = place(stack);
    // SAFETY: this thread has entered the thread tree, and no other thread uses it.
    unsafe {
        let (tree, calls) = thread_tree.work();
        if calls.is_past(place) && !is_on_other_stack() {
            tree.drop_past(calls, place, now());
        }
        tree.enter_native(calls, (function, place), now);
    }
    thread_tree.leave();
}

unsafe extern "C" fn leave(function: u64, stack: u64) {
    if !is_counted_by(ENDS) {
        return;
    }
    let Some(thread_tree) = enter_thread_tree() else {
        return;
    };
    let end = now();
    // SAFETY: as above.
    let is_done = unsafe {
        let (tree, calls) = thread_tree.work();
        let place = place(stack);
        if calls.is_past_again(function, place) && !is_on_other_stack() {
            tree.drop_past_again(calls, place, end);
        }
        tree.leave_native(calls, (function, place), end);
        calls.open.is_empty() && !calls.open.is_beyond()
    };
    match is_done && thread_tree.was_taken_between() {
        true => thread_tree.give_back(),
        false => thread_tree.leave(),
    }
}

/// What lies below a place on the stack is over.
#[cold]
fn drop_below(stack: u64) {
    let Some(thread_tree) = sit_down_at_own() else {
        return;
    };
    let place = place(stack);
    // SAFETY: as above.
    let (tree, calls) = unsafe { thread_tree.work() };
    if calls.is_past(place) && !is_on_other_stack() {
        tree.drop_past(calls, place, now());
    }
    thread_tree.leave();
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

/// The calling thread's thread tree, with the thread at it.
#[inline]
fn enter_thread_tree() -> Option<&'static ThreadTree> {
    sit_down_at_own().or_else(sit_down_anew)
}

/// The same, if it has one where nobody is interrupted.
#[inline]
fn sit_down_at_own() -> Option<&'static ThreadTree> {
    // SAFETY: what is there is a thread tree, which stays for ever.
    let thread_tree = unsafe { local::thread_tree().as_ref() }?;
    if !thread_tree.enter_thread_tree() {
        return None;
    }
    // Pairs with the barrier in `end`, which makes all threads do so: either it is seen here that all is over, or it is seen
    // there that somebody is at work.
    compiler_fence(Ordering::SeqCst);
    if thread_tree.is_on() {
        return Some(thread_tree);
    }
    thread_tree.leave();
    None
}

/// The first time, while a handler has interrupted us, in a child, or when nothing is counted any more.
#[cold]
#[inline(never)]
fn sit_down_anew() -> Option<&'static ThreadTree> {
    let own = local::thread_tree();
    if IS_OFF.load(Ordering::Relaxed) || ptr::eq(own, &REFUSED) {
        return None;
    }
    if left::has_left() {
        return sit_down_again(own);
    }
    start::ensure();
    // In the child of a fork that nobody has told of, this enters it.
    let home = home::current()?;
    if super::wanted() & trace_flag::CALLS == 0 {
        IS_OFF.store(true, Ordering::Relaxed);
        return None;
    }
    if IS_OVER.load(Ordering::Relaxed) {
        return None;
    }
    let is_first = match begin() {
        Ok(is_first) => is_first,
        Err(why) => {
            turn_off();
            refuse(home, why);
            return None;
        }
    };
    let number = home.ring_number().load(Ordering::Relaxed);
    // SAFETY: as above.
    let known = unsafe { own.as_ref() }.filter(|it| it.is_on() && it.enter_thread_tree());
    let thread_tree = match known {
        Some(thread_tree) => thread_tree,
        None => match thread_tree::take(number, own) {
            Ok(thread_tree) => {
                local::set_thread_tree(thread_tree);
                thread_tree
            }
            Err(why) => {
                refuse(home, -why);
                // A handler's calls may find one the next time.
                if own.is_null() || ptr::eq(own, &NOBODYS) {
                    local::set_thread_tree(&REFUSED);
                }
                return None;
            }
        },
    };
    if is_first && is_counted_by(ENDS) {
        thread_tree.leave();
        cost::measure(thread_tree);
        if !thread_tree.enter_thread_tree() {
            return None;
        }
    }
    Some(thread_tree)
}

/// Who restricts its system calls has counted on after the end: that was the end of a child that had borrowed our memory (`vfork`),
/// and nothing but a call of the kernel's would have told it from us.
fn sit_down_again(own: *const ThreadTree) -> Option<&'static ThreadTree> {
    if ENDED_BY.load(Ordering::Relaxed) == regs::thread_pointer() {
        go_on();
    }
    // SAFETY: as above.
    unsafe { own.as_ref() }.filter(|it| it.is_on() && it.enter_thread_tree())
}

/// The calling thread's call that begins is not counted.
#[cold]
#[inline(never)]
fn missed() {
    /// Threads that all count in one place would wait for each other at each call.
    const AT_ONCE: u64 = 256;
    if IS_OFF.load(Ordering::Relaxed) || left::has_left() {
        return;
    }
    if IS_EXECUTING.load(Ordering::Acquire) {
        MISSED.fetch_add(1, Ordering::Relaxed);
        return;
    }
    if IS_OVER.load(Ordering::Relaxed) || local::thread_tree().is_null() {
        return;
    }
    let own = local::missed();
    own.set(own.get() + 1);
    if own.get() == AT_ONCE || thread_tree::first().is_some_and(|it| !it.has_missed()) {
        tell_missed();
    }
}

/// Has the calling thread's calls that were not counted told of.
fn tell_missed() {
    thread_tree::miss(local::missed().take());
}

/// Has it told why nothing is counted, if nothing is.
#[cold]
fn refuse(home: Home, why: i32) {
    if thread_tree::first().is_none() && !interpreter::is_on() {
        super::say_why_not(home, why);
    }
}

/// Makes what all threads share. Whether that was just now, or why it cannot be.
fn begin() -> Result<bool, i32> {
    const PAGE: usize = 4096;
    if is_on() {
        return Ok(false);
    }
    super::has_room()?;
    let page = files::map_zeroed(PAGE).ok_or(-libc::ENOMEM)?;
    // SAFETY: the page is ours, zero, and stays.
    let word = unsafe {
        if !files::advise(page, PAGE, libc::MADV_WIPEONFORK) {
            files::unmap(page, PAGE);
            return Err(-libc::EINVAL);
        }
        page.cast::<AtomicU32>().as_ref()
    };
    let uses_cpu = super::wanted() & trace_flag::CPU_CLOCK != 0;
    USES_CPU.store(uses_cpu, Ordering::Relaxed);
    register_barrier();
    word.store(counting::ON, Ordering::Relaxed);
    let word = ptr::from_ref(word).cast_mut();
    let first = IS_ON.compare_exchange(null_mut(), word, Ordering::AcqRel, Ordering::Relaxed);
    Ok(first.is_ok())
}

/// Whether native calls are counted, or were before the end.
pub fn is_on() -> bool {
    !IS_ON.load(Ordering::Acquire).is_null()
}

/// What the word says.
mod counting {
    pub const OFF: u32 = 0;
    pub const ON: u32 = 1;
    /// All seems to be over.
    pub const OVER: u32 = 2;
}

/// What it says in this process.
fn state() -> u32 {
    // SAFETY: the page stays.
    unsafe { IS_ON.load(Ordering::Acquire).as_ref() }
        .map_or(counting::OFF, |it| it.load(Ordering::Relaxed))
}

fn set_state(state: u32) {
    // SAFETY: as above.
    if let Some(word) = unsafe { IS_ON.load(Ordering::Acquire).as_ref() } {
        word.store(state, Ordering::SeqCst);
    }
}

/// The process ends, or becomes another program: what has not ended by now has lasted until now.
pub fn end() {
    end_with(!left::has_left());
}

fn end_with(may_call: bool) {
    /// So long all threads together have to leave their thread trees, in nanoseconds.
    const PATIENCE: u64 = 50_000_000;
    if state() != counting::ON || IS_OVER.swap(true, Ordering::Relaxed) {
        return;
    }
    ENDED_BY.store(regs::thread_pointer(), Ordering::Relaxed);
    set_state(counting::OVER);
    let until = may_call.then(|| {
        pass_barrier();
        process::time(libc::CLOCK_MONOTONIC) + PATIENCE
    });
    thread_tree::miss(MISSED.swap(0, Ordering::Relaxed));
    tell_missed();
    let (end, uses_cpu) = (now(), USES_CPU.load(Ordering::Relaxed));
    // SAFETY: as in `sit_down`.
    let own = unsafe { local::thread_tree().as_ref() };
    thread_tree::each(|thread_tree| {
        // A handler that has interrupted its thread at a thread tree would wait for itself.
        let is_own = own.is_some_and(|own| own.is_above(thread_tree));
        if is_own || thread_tree.is_left(until) {
            // The CPU time of another thread is not known here.
            thread_tree.settle(end, is_own || !uses_cpu);
        }
    });
}

/// The process may become another program.
pub fn before_exec() {
    IS_EXECUTING.store(true, Ordering::Relaxed);
    end();
}

/// That was too early.
pub fn go_on() {
    if state() == counting::OVER {
        thread_tree::each(ThreadTree::open_again);
        // In this order: who finds that it is not over is to find that it goes on.
        set_state(counting::ON);
        IS_OVER.store(false, Ordering::SeqCst);
        thread_tree::miss(MISSED.swap(0, Ordering::Relaxed));
    }
    IS_EXECUTING.store(false, Ordering::Release);
}

/// Nothing of ours may call the kernel any more, from now on. Counting goes on where there is room, but the CPU time is not to be had.
/// `has_clock`: the processor's is.
pub fn restrict(has_clock: bool) {
    if is_on() && (USES_CPU.load(Ordering::Relaxed) || !has_clock) {
        end_with(true);
        stop();
    }
}

/// Counts no more.
pub fn stop() {
    turn_off();
    set_state(counting::OFF);
}

/// No thread begins to count any more.
fn turn_off() {
    IS_OFF.store(true, Ordering::Relaxed);
}

/// The calling thread ends.
pub fn end_thread() {
    tell_missed();
    // SAFETY: as in `sit_down`.
    let Some(thread_tree) = (unsafe { local::thread_tree().as_ref() }) else {
        return;
    };
    if thread_tree.enter_thread_tree() {
        let is_on = thread_tree.is_on();
        thread_tree.leave();
        if is_on {
            // What is called from now on takes a thread tree for as long as it lasts.
            local::set_thread_tree(&NOBODYS);
            thread_tree.settle(now(), true);
            thread_tree.clear();
        }
    }
}

/// In the child of a fork, which has a ring of its own, and one thread.
pub fn enter_child(number: u32) {
    if !is_on() {
        return;
    }
    IS_OVER.store(false, Ordering::Relaxed);
    thread_tree::forget_all();
    set_state(counting::ON);
    // SAFETY: as in `sit_down`. The thread tree was the parent's; of it only the list of calls is ours.
    if let Some(old) = unsafe { local::thread_tree().as_ref() } {
        local::set_thread_tree(null_mut());
        match thread_tree::take(number, null_mut()) {
            Ok(new) => {
                // SAFETY: there is one thread, and it is at no other one.
                unsafe { new.go_on_with(old, is_counted_by(ENDS).then(now)) };
                local::set_thread_tree(new);
                new.leave();
            }
            Err(_) => local::set_thread_tree(&REFUSED),
        }
    }
}

/// Whether a signal handler runs that has a stack for itself.
#[cold]
fn is_on_other_stack() -> bool {
    if left::has_left() {
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
