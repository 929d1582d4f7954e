//! The child of a fork takes a ring and enters itself, or it is given up.
//!
//! The mapped ring is the parent's, shared, and our memory is a copy of the parent's, so neither is
//! of use. There is one thread, no clock and no timer.

use core::sync::atomic::Ordering;

use profundo_probe::shared::{Control, Listings, Ring, start_kind};
use profundo_probe::{clock, sys, urgent};

use crate::home::Home;
use crate::session::{NoRing, TakenRing};
use crate::{command, files, hello, lifecycle, session, threads};

/// The longest wait of a child for a ring, in nanoseconds: its parent may wait for the child.
const PATIENCE: u64 = 20_000_000;

/// Enters a child, which has no probe and does not record yet, or gives it up.
pub fn enter(home: Home, control: &'static Control) {
    let patience = session::patience_for_ring(control, PATIENCE);
    let taken = is_followed(control).then(|| session::take_ring(control, patience));
    match taken.flatten() {
        Some(ring) => enter_with(home, control, ring, Forked::now(home), false),
        None => give_up(home),
    }
}

/// The facts of a fork that only hold when the child has just begun.
#[derive(Clone, Copy)]
pub struct Forked {
    /// The cycle counter at the fork.
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

/// Enters a child that has deferred its entry. `false`: there is no ring for it, and it may try
/// again.
pub fn enter_late(home: Home, control: &'static Control, forked: Forked, can_retry: bool) -> bool {
    /// The child has waited for a tick, and may as well wait for the next one.
    const A_MOMENT: u64 = 1_000_000;
    let taken = match is_followed(control) {
        true if can_retry => session::try_to_take_ring(control, A_MOMENT),
        true => session::take_ring(control, hello::PATIENCE_FOR_RING).ok_or(NoRing::CannotBeMapped),
        false => Err(NoRing::CannotBeMapped),
    };
    match taken {
        Ok(ring) => enter_with(home, control, ring, forked, true),
        Err(NoRing::NoneFree) => return false,
        Err(NoRing::CannotBeMapped) => give_up(home),
    }
    true
}

fn is_followed(control: &Control) -> bool {
    control.follow.load(Ordering::Relaxed) != 0
        && command::is_alive(control)
        && command::shares_pid_namespace(control)
}

/// The child is not recorded. The parent's ring must not be written to.
fn give_up(home: Home) {
    // SAFETY: the ring is ours, and no other thread could use it.
    unsafe { files::map_zeroed_over(home.ring_address(), Ring::BYTES) };
    lifecycle::abandon();
}

/// Enters a child that has taken a ring. `is_late`: its entry was deferred.
fn enter_with(
    home: Home,
    control: &'static Control,
    ring: TakenRing,
    forked: Forked,
    is_late: bool,
) {
    let parent = home.ring_number().load(Ordering::Relaxed);
    // SAFETY: both are rings: the new one is mapped, and the parent's still is.
    unsafe {
        copy_known(home.ring(), ring.memory.cast::<Ring>().as_ref());
        files::move_over(ring.memory, home.ring_address(), Ring::BYTES);
    }
    home.ring_number().store(ring.number, Ordering::Relaxed);
    // SAFETY: the handler has no probe at present, and there is one thread.
    unsafe { home.make_probe(control, forked.main) };
    let header = &home.ring().header;
    header.parent_ring.store(parent, Ordering::Relaxed);
    lifecycle::enter_child(home);
    // SAFETY: the probe was made.
    urgent::set_probe(Some(unsafe { home.probe() }));
    hello::introduce(home, start_kind::FORK, |home| match is_late {
        true => threads::enter_forked(home, forked.began),
        false => threads::enter_current(home),
    });
    lifecycle::child_introduced(home);
}

/// Copies what is true of the child as well: the modules, and the interpreter's place. So the
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
            // SAFETY: the new list has no readers yet.
            unsafe { *to.get() = *from };
        }
        count.store(modules.len() as u32, Ordering::Relaxed);
        number.store(generation, Ordering::Relaxed);
    });
}

/// The calling thread's id, if it runs on the main thread's stack: a fork by another thread makes
/// that one the child's only thread, on the stack that it had.
fn main_thread(main_stack_end: u64) -> u32 {
    /// The kernel leaves this much room below, if the program's limits permit.
    const LARGEST: u64 = 64 << 20;
    let local = 0_u64;
    let above = main_stack_end.wrapping_sub((&raw const local) as u64);
    if above < LARGEST { sys::thread_id() } else { 0 }
}
