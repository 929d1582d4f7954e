//! The child of a fork: a process of its own, with a ring of its own.
//!
//! What lies in the ring's place is the parent's, shared, and what lies in our memory is a copy of
//! the parent's, so neither is of use. There is one thread, no clock and no timer.

use core::ptr;
use core::sync::atomic::Ordering;

use profundo_probe::shared::{Listings, Ring, start_kind};
use profundo_probe::{sys, urgent};

use crate::home::{Home, Whose, home};
use crate::{calls, files, memory, python, real, session, shell, start};

/// How long a child waits for a ring, in nanoseconds: its parent may wait for it.
const PATIENCE: u64 = 20_000_000;

/// Has the C library tell us of each fork.
pub fn watch() {
    unsafe extern "C" fn in_child() {
        home_of_this_process();
    }
    if let Some(register) = real::__register_atfork() {
        let nothing = ptr::null_mut();
        // SAFETY: the function may be called in any child, and stays.
        unsafe { register(nothing, nothing, in_child as *mut _, nothing) };
    }
}

/// What there is, if this process records. The child of a fork that nobody has told of yet enters
/// itself; a child that borrows its parent's memory has nothing.
#[inline]
pub fn home_of_this_process() -> Option<Home> {
    let home = home()?;
    match home.whose() {
        Whose::Ours => {}
        Whose::Borrowed => return None,
        Whose::Copied => {
            let began = start::cpu_time();
            enter_child(home);
            start::note_cost(began);
        }
    }
    home.records().then_some(home)
}

#[cold]
fn enter_child(home: Home) {
    urgent::set_probe(None);
    home.take();
    shell::reset_after_fork();
    let Some(control) = session::control() else {
        return;
    };
    let parent = home.ring_number().load(Ordering::Relaxed);
    let had_ring = home.records();
    home.set_records(false);
    if !had_ring {
        // A parent without a ring has children without one.
        memory::abandon();
        calls::stop();
        return;
    }
    let follows = control.follow.load(Ordering::Relaxed) != 0
        && session::is_alive(control)
        && session::is_own_namespace(control);
    let patience = session::patience_for_ring(control, PATIENCE);
    let taken = follows.then(|| session::take_ring(control, patience));
    let taken = taken.flatten();
    let Some((number, memory)) = taken else {
        // The parent's ring must not be written to.
        // SAFETY: the ring is ours, and there is no other thread that could use it.
        unsafe { files::map_zeroed_over(home.ring_address(), Ring::BYTES) };
        memory::abandon();
        calls::stop();
        return;
    };
    // SAFETY: both are rings: the new one is mapped, and the parent's still is.
    unsafe {
        copy_known(home.ring(), memory.cast::<Ring>().as_ref());
        files::move_over(memory, home.ring_address(), Ring::BYTES);
    }
    home.ring_number().store(number, Ordering::Relaxed);
    let main = main_thread(home.main_stack_end().load(Ordering::Relaxed));
    // SAFETY: the handler has no probe at present, and there is one thread.
    unsafe { home.make_probe(control, main) };
    let header = &home.ring().header;
    header.parent_ring.store(parent, Ordering::Relaxed);
    memory::enter_child(home);
    calls::enter_child(number);
    python::look_in_child(home);
    home.set_records(true);
    start::introduce(home, start_kind::FORK);
    calls::show_forked(home);
}

/// Copies what is true of the child as well: the modules, and where the interpreter is. So the
/// child's first stacks can be walked before the command has looked at it.
fn copy_known(from: &Ring, to: &Ring) {
    let (here, there) = (&from.header, &to.header);
    for (from, to) in [
        (&here.tables, &there.tables),
        (&here.table_bytes, &there.table_bytes),
    ]
    .into_iter()
    .chain(here.evaluation.iter().zip(&there.evaluation))
    {
        to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
    }
    there
        .python
        .store(here.python.load(Ordering::Relaxed), Ordering::Relaxed);
    let refused = here.python_refused.load(Ordering::Relaxed);
    there.python_refused.store(refused, Ordering::Relaxed);
    let absent = here.tallies.are_absent.load(Ordering::Relaxed);
    there.tallies.are_absent.store(absent, Ordering::Relaxed);
    copy_listing(&from.listings, &to.listings);
}

fn copy_listing(from: &Listings, to: &Listings) {
    from.with_raw(|modules, generation| {
        let (Some(half), Some(count), Some(number)) =
            (to.modules.first(), to.count.first(), to.generation.first())
        else {
            return;
        };
        for (from, to) in modules.iter().zip(half) {
            // SAFETY: nobody reads the new list yet.
            unsafe { *to.get() = *from };
        }
        count.store(modules.len() as u32, Ordering::Relaxed);
        number.store(generation, Ordering::Relaxed);
    });
}

/// The calling thread's id, if it runs on the main thread's stack: a fork by another thread makes
/// that one the child's only thread, on the stack that it had.
fn main_thread(main_stack_end: u64) -> u32 {
    /// The kernel leaves as much room below, if the program lets it.
    const LARGEST: u64 = 64 << 20;
    let local = 0_u64;
    let above = main_stack_end.wrapping_sub((&raw const local) as u64);
    if above < LARGEST { sys::thread_id() } else { 0 }
}
