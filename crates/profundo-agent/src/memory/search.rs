//! At the very end, when the program's own functions for that have run: which blocks does nobody point to any more?
//! The command looks, while the thread that ends the process waits, for a moment.

use core::arch::asm;
use core::sync::atomic::Ordering;

use profundo_probe::shared::search_state;
use profundo_probe::sys;

use crate::home::Home;
use crate::memory::exact;
use crate::memory::local::local;
use crate::memory::state::heap;
use crate::{agent_memory, next_symbols, process, session, threads};

/// A command that is not held up begins within a part of this, in nanoseconds.
const TO_BEGIN: u64 = 100_000_000;
/// So long it may look: a little longer than it looks at most.
const TO_LOOK: u64 = 1_200_000_000;
/// So often it is looked whether the command is still there.
const TURN: u64 = 20_000_000;

/// Asks for it, and waits. The caller has a ring, and is about to end the process.
#[inline(never)]
pub fn look_for_the_unreachable(home: Home) {
    if !super::is_on() {
        return;
    }
    let header = &home.ring().header;
    let alive = session::control().filter(|control| session::is_alive(control));
    // What an interpreter keeps it frees or forgets as it likes.
    let (Some(control), 0) = (alive, header.python.load(Ordering::Relaxed)) else {
        return;
    };
    // Other threads must not go on for longer than they would, with all that was destroyed already.
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
    for (place, value) in search.own.iter().zip([own, ranges]) {
        place.store(value, Ordering::Relaxed);
    }
    // What callers of ours have in registers lies on the stack then, above its end.
    let mut registers = [0_u64; 6];
    let stack: u64;
    // SAFETY: six words of ours are written.
    unsafe {
        asm!(
            "mov [{place}], rbx",
            "mov [{place} + 8], rbp",
            "mov [{place} + 16], r12",
            "mov [{place} + 24], r13",
            "mov [{place} + 32], r14",
            "mov [{place} + 40], r15",
            "mov {stack}, rsp",
            place = in(reg) registers.as_mut_ptr(),
            stack = out(reg) stack,
            options(nostack),
        );
    }
    search.stack.store(stack, Ordering::Relaxed);
    // Release pairs with the acquire of the command.
    search.state.store(search_state::WANTED, Ordering::Release);
    header.news.store(1, Ordering::Release);
    threads::tell(home);
    let began = process::time(libc::CLOCK_MONOTONIC);
    loop {
        let state = search.state.load(Ordering::Acquire);
        let patience = match state {
            search_state::WANTED => TO_BEGIN,
            search_state::BEGUN => TO_LOOK,
            _ => break,
        };
        let waited = process::time(libc::CLOCK_MONOTONIC).saturating_sub(began);
        if waited > patience || !session::is_alive(control) {
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
