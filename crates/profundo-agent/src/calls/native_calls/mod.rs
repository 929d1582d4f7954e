//! Counting the calls of native functions that were built to report them (`-finstrument-functions`
//! of gcc and clang, `-pg`).
//!
//! By `-finstrument-functions` a function calls `__cyg_profile_func_enter` where it begins, and
//! another function where it ends; by `-pg` it reports its beginning only. Each thread has a tree
//! of calls of its own, so no thread waits for another one. A signal handler that interrupts a
//! thread in its tree takes another tree until its own calls have ended.

pub mod compiler_counters;
mod cost;
pub mod local;
pub mod thread_tree;

use core::ptr::{self, null_mut};
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence, fence,
};

use profundo_probe::shared::trace_flag;
use profundo_probe::{clock, regs, sys};

use self::thread_tree::{ENDED, REFUSED, ThreadTree};
use super::state as interpreter;
use super::state::time;
use crate::home::Home;
use crate::{files, home, left, process};

/// Set once nothing is to be counted here, for good.
static IS_OFF: AtomicBool = AtomicBool::new(false);
/// Set when the process ends.
static IS_OVER: AtomicBool = AtomicBool::new(false);
/// The thread that has set it.
static ENDED_BY: AtomicU64 = AtomicU64::new(0);
/// Set while the process may become another program.
static IS_EXECUTING: AtomicBool = AtomicBool::new(false);
/// The number of calls that began meanwhile.
static MISSED: AtomicU64 = AtomicU64::new(0);
/// True if times are the CPU time of each thread.
static USES_CPU: AtomicBool = AtomicBool::new(false);

/// The instrumentation that is counted: the first that reports a call. A program with both would
/// have every call twice.
static COUNTED_BY: AtomicU32 = AtomicU32::new(0);
/// Instrumentation that reports ends as well, and that which does not.
pub const ENDS: u32 = 1;
pub const BEGINNINGS: u32 = 2;

/// True if the calls that this instrumentation reports are counted.
#[inline]
pub fn is_counted_by(these: u32) -> bool {
    let counted_by = COUNTED_BY.load(Ordering::Relaxed);
    counted_by == these || counted_by == 0 && is_first_to_report(these)
}

#[cold]
fn is_first_to_report(these: u32) -> bool {
    let first = COUNTED_BY.compare_exchange(0, these, Ordering::Relaxed, Ordering::Relaxed);
    first.is_ok() || first == Err(these)
}

/// A word of [`counting`]. It is zero again in the child of any fork: then our files are the
/// parent's.
static IS_ON: AtomicPtr<AtomicU32> = AtomicPtr::new(null_mut());

pub unsafe extern "C" fn enter(function: u64, stack: u64) {
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
        tree.enter_native(calls, function, place, now);
    }
    thread_tree.leave();
}

pub unsafe extern "C" fn leave(function: u64, stack: u64) {
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
        tree.leave_native(calls, function, place, end);
        calls.open.is_empty() && !calls.open.is_beyond()
    };
    match is_done && thread_tree.was_taken_between() {
        true => thread_tree.give_back(),
        false => thread_tree.leave(),
    }
}

/// Ends the calls below a place on the stack.
#[cold]
pub fn drop_below(stack: u64) {
    let Some(thread_tree) = enter_current_tree() else {
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
pub fn place(stack: u64) -> u32 {
    (stack >> 4) as u32
}

#[inline]
pub fn now() -> u64 {
    match USES_CPU.load(Ordering::Relaxed) {
        false => clock::now(),
        true => time(true),
    }
}

/// The calling thread's tree, entered.
#[inline]
fn enter_thread_tree() -> Option<&'static ThreadTree> {
    enter_current_tree().or_else(enter_new_tree)
}

/// The thread's own tree, entered, if it has one that this thread does not use already.
#[inline]
pub fn enter_current_tree() -> Option<&'static ThreadTree> {
    // SAFETY: what is there is a thread tree, which stays for ever.
    let thread_tree = unsafe { local::thread_tree().as_ref() }?;
    if !thread_tree.enter() {
        return None;
    }
    // Pairs with the barrier in `end`, which makes all threads do so: either this thread sees that
    // counting is over, or `end` sees that a thread uses the tree.
    compiler_fence(Ordering::SeqCst);
    if thread_tree.is_on() {
        return Some(thread_tree);
    }
    thread_tree.leave();
    None
}

/// The slow path: at the first call, in a handler that interrupted the use of a tree, in a child,
/// and when nothing is counted any more.
#[cold]
#[inline(never)]
pub fn enter_new_tree() -> Option<&'static ThreadTree> {
    let current = local::thread_tree();
    if IS_OFF.load(Ordering::Relaxed) || ptr::eq(current, &REFUSED) {
        return None;
    }
    if left::has_left() {
        return enter_after_end(current);
    }
    // In a child whose fork was not observed, this enters it.
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
    let known = unsafe { current.as_ref() }.filter(|tree| tree.is_on() && tree.enter());
    let thread_tree = match known {
        Some(thread_tree) => thread_tree,
        None => match thread_tree::take(number, current) {
            Ok(thread_tree) => {
                local::set_thread_tree(thread_tree);
                thread_tree
            }
            Err(why) => {
                refuse(home, -why);
                // A handler's next calls may find a free one.
                if current.is_null() || ptr::eq(current, &ENDED) {
                    local::set_thread_tree(&REFUSED);
                }
                return None;
            }
        },
    };
    if is_first && is_counted_by(ENDS) {
        thread_tree.leave();
        cost::measure(thread_tree);
        if !thread_tree.enter() {
            return None;
        }
    }
    Some(thread_tree)
}

/// A process that restricts its system calls goes on counting after the end: that was the end of a
/// `vfork` child, and only a system call could have told the two apart.
fn enter_after_end(current: *const ThreadTree) -> Option<&'static ThreadTree> {
    if ENDED_BY.load(Ordering::Relaxed) == regs::thread_pointer() {
        go_on();
    }
    // SAFETY: as above.
    unsafe { current.as_ref() }.filter(|tree| tree.is_on() && tree.enter())
}

/// Notes that the calling thread's call is not counted.
#[cold]
#[inline(never)]
pub fn missed() {
    /// Batch size. Threads that all counted in one place would wait for each other at each call.
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
    let missed = local::missed();
    missed.set(missed.get() + 1);
    if missed.get() == AT_ONCE || thread_tree::first().is_some_and(|first| !first.has_missed()) {
        report_missed();
    }
}

/// Reports the calling thread's uncounted calls.
fn report_missed() {
    thread_tree::miss(local::missed().take());
}

/// Reports why nothing is counted, if nothing is.
#[cold]
fn refuse(home: Home, why: i32) {
    if thread_tree::first().is_none() && !interpreter::is_on() {
        super::report_refusal(home, why);
    }
}

/// Makes what all threads share. Returns whether this call made it, or an error.
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

/// True if native calls are counted, or were before the end.
pub fn is_on() -> bool {
    !IS_ON.load(Ordering::Acquire).is_null()
}

/// The values of the word.
mod counting {
    pub const OFF: u32 = 0;
    pub const ON: u32 = 1;
    /// The process seems to be over.
    pub const OVER: u32 = 2;
}

/// The value in this process.
fn state() -> u32 {
    // SAFETY: the page stays.
    unsafe { IS_ON.load(Ordering::Acquire).as_ref() }
        .map_or(counting::OFF, |word| word.load(Ordering::Relaxed))
}

fn set_state(state: u32) {
    // SAFETY: as above.
    if let Some(word) = unsafe { IS_ON.load(Ordering::Acquire).as_ref() } {
        word.store(state, Ordering::SeqCst);
    }
}

/// The process ends, or becomes another program: calls that are still open have lasted until now.
pub fn end() {
    end_with(!left::has_left());
}

fn end_with(may_call: bool) {
    /// The time that all threads together have to leave their trees, in nanoseconds.
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
    report_missed();
    let (end, uses_cpu) = (now(), USES_CPU.load(Ordering::Relaxed));
    // SAFETY: as in `enter_current_tree`.
    let current = unsafe { local::thread_tree().as_ref() };
    thread_tree::each(|thread_tree| {
        // A handler that has interrupted its thread in this tree would wait for itself.
        let is_current = current.is_some_and(|current| current.is_above(thread_tree));
        if is_current || thread_tree.is_left(until) {
            // The CPU time of another thread is not known here.
            thread_tree.settle(end, is_current || !uses_cpu);
        }
    });
}

/// The process may become another program.
pub fn before_exec() {
    IS_EXECUTING.store(true, Ordering::Relaxed);
    end();
}

/// The `exec` has failed: counting goes on.
pub fn go_on() {
    if state() == counting::OVER {
        thread_tree::each(ThreadTree::reopen);
        // In this order: a thread that finds counting not over must also find it on.
        set_state(counting::ON);
        IS_OVER.store(false, Ordering::SeqCst);
        thread_tree::miss(MISSED.swap(0, Ordering::Relaxed));
    }
    IS_EXECUTING.store(false, Ordering::Release);
}

/// No system calls are made from now on. Counting goes on where there is room, without CPU times.
/// `has_clock`: the processor's clock may be read.
pub fn restrict(has_clock: bool) {
    if is_on() && (USES_CPU.load(Ordering::Relaxed) || !has_clock) {
        end_with(true);
        stop();
    }
}

/// Stops counting.
pub fn stop() {
    turn_off();
    set_state(counting::OFF);
}

/// No further thread begins to count.
fn turn_off() {
    IS_OFF.store(true, Ordering::Relaxed);
}

/// Called when the calling thread ends.
pub fn end_thread() {
    report_missed();
    // SAFETY: as in `enter_current_tree`.
    let Some(thread_tree) = (unsafe { local::thread_tree().as_ref() }) else {
        return;
    };
    if thread_tree.enter() {
        let is_on = thread_tree.is_on();
        thread_tree.leave();
        if is_on {
            // Each later call takes a thread tree for its duration.
            local::set_thread_tree(&ENDED);
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
    // SAFETY: as in `enter_current_tree`. The tree was the parent's; only its list of calls is
    // ours.
    if let Some(old) = unsafe { local::thread_tree().as_ref() } {
        local::set_thread_tree(null_mut());
        match thread_tree::take(number, null_mut()) {
            Ok(new) => {
                // SAFETY: there is one thread, and it uses no other tree.
                unsafe { new.go_on_with(old, is_counted_by(ENDS).then(now)) };
                local::set_thread_tree(new);
                new.leave();
            }
            Err(_) => local::set_thread_tree(&REFUSED),
        }
    }
}

/// True if the calling thread runs a signal handler on an alternate stack.
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

/// Commands of `membarrier`.
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

/// A memory barrier on all running threads: each sees our earlier writes from now on, and we see
/// theirs.
fn pass_barrier() {
    fence(Ordering::SeqCst);
    if !process::has_one_thread() {
        // SAFETY: as above. A kernel without it leaves a moment in which a thread's use of a tree
        // is not seen.
        unsafe { sys::call(libc::SYS_membarrier, [PRIVATE_EXPEDITED, 0, 0, 0, 0, 0]) };
    }
}
