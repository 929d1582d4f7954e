//! Counting every call that the interpreter makes.
//!
//! The interpreter tells of calls itself: up to 3.11 by the function that a profiler sets for each thread, from 3.12 on by what
//! `sys.monitoring` offers. Ours are C's, so each costs little more than the interpreter's telling: what is counted, and how, is in
//! `profundo_probe::calls`. All of it happens with the interpreter's lock held.
//!
//! Programs without an interpreter tell of their calls themselves if they were built so: see `native`, and what the compiler has put into
//! them that counts is read by the command: see `tallies`.

mod api;
mod cost;
mod describe;
mod frames;
mod lines;
mod monitoring;
mod native;
mod path;
mod profile;
mod select;
mod state;
mod tallies;

use core::sync::atomic::Ordering;

use profundo_probe::shared::{refusal, trace_flag};

pub use profile::new_thread;
pub use tallies::show_forked;

use crate::home::Home;
use crate::inject;
use crate::{home, left, process, session};

/// What the command wants: [`trace_flag`]s.
pub fn wanted() -> u32 {
    session::control().map_or(0, |it| it.trace.load(Ordering::Relaxed))
}

/// The calling thread ends.
pub fn end_thread() {
    native::end_thread();
    state::end_thread();
}

/// The process ends: what has not ended by now has lasted until now.
pub fn end() {
    native::end();
    state::end();
    tallies::show_last();
}

/// The same, while the kernel may still be called.
pub fn before_leaving() {
    tallies::show_last();
}

/// The process is about to restrict its calls: nothing of ours makes any from here on. `has_clock`: the processor's may be read on.
pub fn leave(has_clock: bool) {
    native::restrict(has_clock);
    state::leave();
}

/// Counts no more.
pub fn stop() {
    native::stop();
    state::stop();
}

/// In the child of a fork, which has a ring of its own.
pub fn enter_child(number: u32) {
    native::enter_child(number);
    state::enter_child(number);
}

/// The process is about to become another program. A child that borrows its parent's memory is not meant.
pub fn before_exec() {
    if is_counting_here() {
        native::before_exec();
        state::end();
    }
    tallies::show_last();
}

/// It has not become one.
pub fn after_exec() {
    if is_counting_here() {
        native::go_on();
        state::go_on();
    }
}

/// Who restricts its system calls is not to be made to call: there nobody can tell whose memory this is, see `native`.
fn is_counting_here() -> bool {
    (state::is_on() || native::is_on()) && (left::has_left() || home::current().is_some())
}

/// Begins. The interpreter's lock is held, and its main thread calls.
pub fn begin() {
    let Some(home) = home::current() else {
        return;
    };
    let begun = begin_with(home.ring_number().load(Ordering::Relaxed), wanted());
    // Native functions that were built to tell may have been refused before.
    say_why_not(home, begun.err().unwrap_or(0));
}

/// Has the command say why calls are not counted.
fn say_why_not(home: Home, why: i32) {
    let refused = &home.ring().header.calls_refused;
    refused.store(why, Ordering::Relaxed);
}

/// Where memory is scarce, what is mapped for counting would be missed, though little of it is used.
fn has_room() -> Result<(), i32> {
    match process::has_unlimited_memory() {
        true => Ok(()),
        false => Err(refusal::LITTLE_MEMORY),
    }
}

fn begin_with(number: u32, wanted: u32) -> Result<(), i32> {
    let api = inject::api()?;
    let calls = api::find().ok_or(refusal::NO_INTERPRETER)?;
    if state::is_on() {
        return Ok(());
    }
    let has = |flag| wanted & flag != 0;
    let how = state::Wanted {
        has_builtins: has(trace_flag::BUILTINS),
        uses_cpu: has(trace_flag::CPU_CLOCK),
        has_lines: has(trace_flag::LINES),
        has_line_times: has(trace_flag::LINE_TIMES),
        is_once: has(trace_flag::LINES_ONCE),
    };
    if how.has_lines {
        select::begin();
    }
    has_room()?;
    state::begin(number, calls, &api.layout, how).ok_or(-libc::ENOMEM)?;
    // SAFETY: the lock is held; whoever is told of calls from now on finds all there is.
    unsafe {
        let measure = match how.has_lines {
            true => None,
            false => cost::Measure::begin(calls),
        };
        let begun = match api.layout.minor {
            ..=11 => profile::begin(api, calls, how),
            _ => monitoring::begin(calls, how),
        };
        if begun.is_err() {
            state::stop();
        } else if let Some(measure) = measure {
            measure.end();
            state::forget();
        }
        if begun.is_ok() {
            match api.layout.minor {
                ..=11 => profile::note_running(api, calls),
                _ => monitoring::note_running(calls, how),
            }
        }
        begun
    }
}
