//! The child of a fork: a process of its own, with a ring of its own.
//!
//! What lies in the ring's place is the parent's, shared, and what lies in our memory is a copy of
//! the parent's, so neither is of use. There is one thread, no clock and no timer. Most children execute another
//! program at once, so they put off all of this: [`deferred`].

use core::ptr;
use core::sync::atomic::Ordering;

use profundo_probe::shared::{Control, Listings, Ring, start_kind};
use profundo_probe::{clock, sys, urgent};

use crate::home::{self, Home, Whose, home};
use crate::session::NoRing;
use crate::{calls, deferred, files, memory, next_symbols, python, session, shell, start};

/// How long a child waits for a ring, in nanoseconds: its parent may wait for it.
const PATIENCE: u64 = 20_000_000;

/// Has the C library tell us of each fork.
pub fn watch() {
    home::set_entry(enter_met);
    unsafe extern "C" fn in_child() {
        let forked = home().filter(|home| home.whose() == Whose::Copied);
        if let Some(home) = forked {
            begin_child(home, true);
        }
    }
    if let Some(register) = next_symbols::__register_atfork() {
        let nothing = ptr::null_mut();
        // SAFETY: the function may be called in any child, and stays.
        unsafe { register(nothing, nothing, in_child as *mut _, nothing) };
    }
}

/// Enters a process that was met before it has done so itself: the child of a fork, or one that has put that off.
fn enter_met(home: Home) {
    match home.whose() {
        Whose::Copied => begin_child(home, false),
        _ => deferred::enter(home),
    }
}

/// The child of a fork enters itself, or, if it may, puts that off.
#[cold]
fn begin_child(home: Home, may_wait: bool) {
    let had_ring = deferred::forget() || home.records();
    let control = session::control();
    if let Some(control) = control.filter(|_| had_ring && may_wait)
        && deferred::begin(home, control)
    {
        return;
    }
    let began = start::cpu_time();
    urgent::set_probe(None);
    home.take();
    shell::reset_after_fork();
    home.set_records(false);
    match control {
        Some(control) if had_ring => enter(home, control),
        // A parent without a ring has children without one.
        Some(_) => {
            memory::abandon();
            calls::stop();
        }
        None => {}
    }
    start::note_cost(began);
}

/// Enters a child, which has no probe and does not record yet, or gives it up.
fn enter(home: Home, control: &'static Control) {
    let patience = session::patience_for_ring(control, PATIENCE);
    let taken = is_followed(control).then(|| session::take_ring(control, patience));
    match taken.flatten() {
        Some(ring) => enter_with(home, control, ring, (Forked::now(home), false)),
        None => give_up(home),
    }
}

/// What is known of a fork when the child has just begun.
#[derive(Clone, Copy)]
pub struct Forked {
    /// The cycle counter.
    pub began: u64,
    /// The child's only thread, if it runs on the main thread's stack, or 0.
    pub main: u32,
}

impl Forked {
    /// Called by the child, on the stack of the thread that has forked.
    pub fn now(home: Home) -> Self {
        Self {
            began: clock::now(),
            main: main_thread(home.main_stack_end().load(Ordering::Relaxed)),
        }
    }
}

/// Enters a child that has put that off since it was forked. False: there is no ring for it, and it may try again.
pub fn enter_late(
    home: Home,
    control: &'static Control,
    forked: Forked,
    can_try_again: bool,
) -> bool {
    /// It has waited for a tick, and may as well wait for the next one.
    const A_MOMENT: u64 = 1_000_000;
    let taken = match is_followed(control) {
        true if can_try_again => session::try_to_take_ring(control, A_MOMENT),
        true => session::take_ring(control, start::PATIENCE_FOR_RING).ok_or(NoRing::CannotBeMapped),
        false => Err(NoRing::CannotBeMapped),
    };
    match taken {
        Ok(ring) => enter_with(home, control, ring, (forked, true)),
        Err(NoRing::NoneFree) => return false,
        Err(NoRing::CannotBeMapped) => give_up(home),
    }
    true
}

fn is_followed(control: &Control) -> bool {
    control.follow.load(Ordering::Relaxed) != 0
        && session::is_alive(control)
        && session::is_own_namespace(control)
}

/// The child is not recorded. The parent's ring must not be written to.
fn give_up(home: Home) {
    // SAFETY: the ring is ours, and there is no other thread that could use it.
    unsafe { files::map_zeroed_over(home.ring_address(), Ring::BYTES) };
    memory::abandon();
    calls::stop();
}

/// Enters a child that has taken a ring. `is_late`: it was forked a while ago.
fn enter_with(
    home: Home,
    control: &'static Control,
    (number, memory): (u32, ptr::NonNull<u8>),
    (forked, is_late): (Forked, bool),
) {
    let parent = home.ring_number().load(Ordering::Relaxed);
    // SAFETY: both are rings: the new one is mapped, and the parent's still is.
    unsafe {
        copy_known(home.ring(), memory.cast::<Ring>().as_ref());
        files::move_over(memory, home.ring_address(), Ring::BYTES);
    }
    home.ring_number().store(number, Ordering::Relaxed);
    // SAFETY: the handler has no probe at present, and there is one thread.
    unsafe { home.make_probe(control, forked.main) };
    let header = &home.ring().header;
    header.parent_ring.store(parent, Ordering::Relaxed);
    memory::enter_child(home);
    calls::enter_child(number);
    python::look_in_child(home);
    home.set_records(true);
    // SAFETY: the probe was made.
    urgent::set_probe(Some(unsafe { home.probe() }));
    start::introduce(home, start_kind::FORK, is_late.then_some(forked.began));
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
