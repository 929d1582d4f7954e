//! Counting every call that the interpreter makes.
//!
//! The interpreter reports calls itself: up to 3.11 through the profile function of each thread,
//! from 3.12 on through `sys.monitoring`. Our callbacks are C functions, so each costs little more
//! than the interpreter's own work: what is counted, and how, is in `profundo_probe::calls`. All of
//! it happens with the interpreter's lock held.
//!
//! Native programs report their calls if they were built so: see `native_calls`. Counters that the
//! compiler has put into them are read by the command: see `native_calls/compiler_counters`.

mod api;
mod cost;
mod describe;
mod exceptions;
mod frames;
mod late;
mod lines;
mod monitoring;
pub mod native_calls;
mod path;
mod profile;
mod select;
mod state;
mod tracing;
mod watchers;

use core::sync::atomic::Ordering;

use profundo_probe::shared::{refusal, trace_flag};

pub use late::{
    begin as begin_late, begin_with as begin_late_with, cut_with as cut_late_with, end as end_late,
};
pub use profile::new_thread;

use crate::home::Home;
use crate::inject::{self, exclusive};
use crate::{home, left, process, session};

/// The counting that the command requests: [`trace_flag`]s.
pub fn wanted() -> u32 {
    session::control().map_or(0, |control| control.trace.load(Ordering::Relaxed))
}

/// The interpreter's state of the calling thread, which holds the lock; 0: it is unknown.
pub fn current_state() -> u64 {
    // SAFETY: a function of the interpreter's, which looks at a word.
    api::find().map_or(0, |calls| unsafe { (calls.thread)() })
}

/// Called when the calling thread ends.
pub fn end_thread() {
    native_calls::end_thread();
    state::end_thread();
}

/// The process ends: calls that are still open have lasted until now.
pub fn end() {
    native_calls::end();
    _ = state::end();
}

/// The process is about to restrict its system calls: we make none from here on. `has_clock`: the
/// processor's clock may still be read.
pub fn leave(has_clock: bool) {
    native_calls::restrict(has_clock);
    state::leave();
}

/// Stops counting.
pub fn stop() {
    native_calls::stop();
    state::stop();
}

/// In the child of any fork. Where a program counts by itself, its children count nothing: the
/// file is the parent's, and shared.
pub fn forked() {
    exclusive::COUNTS.forked();
    if wanted() == 0 {
        state::leave_behind();
    }
}

/// In the child of a fork, which has a ring of its own.
pub fn enter_child(number: u32) {
    native_calls::enter_child(number);
    state::enter_child(number);
}

/// The process is about to become another program. Not called in a child that borrows its parent's
/// memory.
pub fn before_exec() {
    if is_counting_here() {
        native_calls::before_exec();
        _ = state::end();
    }
}

/// The `exec` has failed.
pub fn after_exec() {
    if is_counting_here() {
        native_calls::go_on();
        state::go_on();
    }
}

/// A process that restricts its system calls must not be made to call. Without a call, a `vfork`
/// child cannot be told from its parent, see `native_calls`.
fn is_counting_here() -> bool {
    (state::is_on() || native_calls::is_on()) && (left::has_left() || home::current().is_some())
}

/// Begins to count. The interpreter's lock is held, on its main thread.
pub fn begin() {
    let Some(home) = home::current() else {
        return;
    };
    let begun = begin_with(home.ring_number().load(Ordering::Relaxed), wanted(), false);
    // Native functions that were built to report calls may have been refused before.
    report_refusal(home, begun.err().unwrap_or(0));
}

/// No calls are counted, for this reason.
pub fn refuse(why: i32) {
    if let Some(home) = home::current() {
        report_refusal(home, why);
    }
}

/// Has the command report why calls are not counted.
fn report_refusal(home: Home, why: i32) {
    let refused = &home.ring().header.calls_refused;
    refused.store(why, Ordering::Relaxed);
}

/// Where memory is limited, the mappings for counting would be missed, though little of them is
/// used.
fn has_room() -> Result<(), i32> {
    match process::has_unlimited_memory() {
        true => Ok(()),
        false => Err(refusal::LITTLE_MEMORY),
    }
}

/// An error if another tool counts calls already, in any thread of a program that runs.
///
/// # Safety
/// The lock is held.
unsafe fn refuse_if_taken(api: &inject::Api, how: state::Wanted) -> Result<(), i32> {
    // SAFETY: the caller vouches.
    let is_taken = api
        .layout
        .profiler
        .is_some_and(|fields| unsafe { profile::is_taken(api, fields, how) });
    match is_taken {
        true => Err(refusal::HAS_PROFILER),
        false => Ok(()),
    }
}

fn begin_with(number: u32, wanted: u32, is_late: bool) -> Result<(), i32> {
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
        has_exceptions: has(trace_flag::EXCEPTIONS),
        is_late,
    };
    if how.has_lines {
        select::begin();
    }
    has_room()?;
    // SAFETY: the lock is held.
    unsafe { refuse_if_taken(api, how) }?;
    state::begin(number, calls, &api.layout, how).ok_or(-libc::ENOMEM)?;
    // SAFETY: the lock is held; callbacks find everything set up from now on.
    unsafe {
        let is_known = is_late && state::state().is_some_and(|state| cost::repeat(state));
        let is_watched = is_late && watchers::has_any(api, calls);
        let measure = match how.has_calls() && !is_known && !is_watched {
            true => cost::Measure::begin(calls, is_late),
            false => None,
        };
        let begun = match api.layout.profiler {
            Some(fields) => profile::begin(api, fields, calls, how),
            None => monitoring::begin(calls, how),
        };
        if begun.is_err() {
            // What is late is taken back by its caller.
            if !is_late {
                state::stop();
            }
        } else if let Some(measure) = measure {
            match api.layout.profiler {
                Some(fields) => profile::with_current(fields, calls, || measure.end()),
                None => measure.end(),
            }
            // Where threads run at the same time, others count already.
            let _alone = exclusive::COUNTS.enter();
            state::forget();
        }
        if begun.is_ok() && is_late {
            match &api.free_threaded {
                None => late::note_running(api, calls, how),
                Some(functions) => late::note_stopped(functions, api, calls, how),
            }
        } else if begun.is_ok() {
            match api.layout.profiler {
                Some(_) => profile::note_running(api, calls),
                None => monitoring::note_running(calls, how),
            }
        }
        begun
    }
}
