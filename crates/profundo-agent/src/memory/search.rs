//! The search for unreachable blocks at the very end, after the program's own exit functions. The
//! command searches, while the thread that ends the process waits for a moment.

use core::sync::atomic::Ordering;

use profundo_probe::shared::search_state;
use profundo_probe::sys;

use crate::home::Home;
use crate::memory::exact;
use crate::memory::local::local;
use crate::memory::state::heap;
use crate::{agent_memory, c_library, command, machine, next_symbols, process, session};

/// A command that is not delayed begins within a part of this, in nanoseconds.
const TO_BEGIN: u64 = 100_000_000;
/// The time that it may search: a little more than it ever takes.
const TO_SEARCH: u64 = 1_200_000_000;
/// The interval of checks that the command still runs.
const TURN: u64 = 20_000_000;

/// Requests the search, and waits. The caller has a ring, and is about to end the process.
#[inline(never)]
pub fn search_unreachable(home: Home) {
    if !super::is_on() {
        return;
    }
    // Where musl keeps pointers of its own is not known, and a wrong answer is worse than none.
    if c_library::is_musl() {
        return;
    }
    let header = &home.ring().header;
    let alive = session::control().filter(|control| command::may_answer(control));
    // An interpreter frees or forgets its memory as it likes.
    let (Some(control), 0) = (alive, header.python.load(Ordering::Relaxed)) else {
        return;
    };
    // The exit must not delay other threads, which would run on with destroyed objects.
    if !process::has_one_thread() {
        return;
    }
    let search = &header.search;
    let (shadow, followed, count) = match (exact::exact(), heap()) {
        (Some(exact), _) => (exact.shadow(), 0, 0),
        (None, Some(heap)) => match local().alone(|| heap.followed.entries()).flatten() {
            Some((entries, count)) if count > 0 => (0, entries as u64, count as u64),
            _ => return,
        },
        (None, None) => return,
    };
    let Some((own, ranges)) = agent_memory::ranges() else {
        return;
    };
    let (error, before) = (next_symbols::errno(), search.state.load(Ordering::Relaxed));
    if before != search_state::NONE {
        return;
    }
    search.shadow.store(shadow, Ordering::Relaxed);
    for (place, value) in search.followed.iter().zip([followed, count]) {
        place.store(value, Ordering::Relaxed);
    }
    for (place, value) in search.own_memory.iter().zip([own, ranges]) {
        place.store(value, Ordering::Relaxed);
    }
    // The registers of our callers lie on the stack then, above its end.
    let mut registers = [0; machine::KEPT];
    let stack = machine::keep_registers(&mut registers);
    search.stack.store(stack, Ordering::Relaxed);
    // Release pairs with the acquire of the command.
    search.state.store(search_state::WANTED, Ordering::Release);
    header.news.store(1, Ordering::Release);
    home.ring_bell();
    let began = process::time(libc::CLOCK_MONOTONIC);
    loop {
        let state = search.state.load(Ordering::Acquire);
        let patience = match state {
            search_state::WANTED => TO_BEGIN,
            search_state::BEGUN => TO_SEARCH,
            _ => break,
        };
        let waited = process::time(libc::CLOCK_MONOTONIC).saturating_sub(began);
        if waited > patience || !command::may_answer(control) {
            break;
        }
        sys::futex_wait(&search.state, state, TURN);
    }
    core::hint::black_box(&registers);
    for waited in [search_state::WANTED, search_state::BEGUN] {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let left = search_state::LEFT;
        let _ = (search.state).compare_exchange(waited, left, success, failure);
    }
    next_symbols::set_errno(error);
}
