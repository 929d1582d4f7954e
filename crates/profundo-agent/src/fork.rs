//! Forks: a child is a process of its own, with a ring of its own ([`child`]). Most children
//! execute another program at once, so they defer their entry: [`deferred`].

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};
use core::{mem, ptr};

use profundo_probe::urgent;

use crate::home::{self, Home, Whose, home};
use crate::symbols::{self, gate};
use crate::{child, deferral, deferred, hello, lifecycle, next_symbols, session};

/// `__register_atfork`: the functions before the fork, and in the parent and the child after it.
type Register = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int;

/// Registers for each fork with the C library, once.
///
/// In a program that runs, this comes before the first visit of the loaded files ([`gate`]), and
/// forks that have begun before have time to end: the command waits after the agent is loaded.
pub fn watch() {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    home::set_entry(enter_met);
    if IS_DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    unsafe extern "C" fn in_child() {
        gate::after_fork();
        let forked = home().filter(|home| home.whose() == Whose::Copied);
        if let Some(home) = forked {
            begin_child(home, true);
        }
    }
    let (before, after) = (gate::before_fork as *mut _, gate::after_fork as *mut _);
    // SAFETY: the functions may be called at any fork, and stay.
    unsafe {
        if let Some(register) = symbols::of_c_library(c"__register_atfork") {
            let register = mem::transmute::<usize, Register>(register);
            register(before, after, in_child as *mut _, ptr::null_mut());
        } else if let Some(register) = next_symbols::__register_atfork() {
            register(before, after, in_child as *mut _, ptr::null_mut());
        } else if let Some(register) = next_symbols::pthread_atfork() {
            register(before, after, in_child as *mut _);
        }
    }
}

/// Enters a process that has not entered itself: the child of a fork, or one that has deferred its
/// entry.
fn enter_met(home: Home) {
    match home.whose() {
        Whose::Copied => begin_child(home, false),
        _ => deferred::enter(home),
    }
}

/// The child of a fork enters itself, or defers that if it may.
#[cold]
fn begin_child(home: Home, may_wait: bool) {
    let had_ring = deferral::forget() || home.records();
    lifecycle::forked();
    let control = session::control();
    if let Some(control) = control.filter(|_| had_ring && may_wait)
        && deferred::begin(home, control)
    {
        return;
    }
    let began = hello::cpu_time();
    urgent::set_probe(None);
    home.take();
    home.set_records(false);
    match control {
        Some(control) if had_ring => child::enter(home, control),
        // A parent without a ring has children without one.
        Some(_) => lifecycle::abandon(),
        None => {}
    }
    hello::note_cost(began);
}
