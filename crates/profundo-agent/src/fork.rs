//! Forks: a child is a process of its own, with a ring of its own ([`child`]). Most children
//! execute another program at once, so they defer their entry: [`deferred`].

use core::ptr;

use profundo_probe::urgent;

use crate::home::{self, Home, Whose, home};
use crate::symbols::gate;
use crate::{child, deferral, deferred, hello, lifecycle, next_symbols, session};

/// Registers for each fork with the C library.
pub fn watch() {
    home::set_entry(enter_met);
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
        if let Some(register) = next_symbols::__register_atfork() {
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
