//! Taking back all that was registered with `sys.monitoring`.
//!
//! The interpreter then runs the code that it ran before: it restores the instructions of a
//! function when that is called next.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use profundo_probe::shared::function_kind;

use super::{Event, call, calls as of_calls, exceptions, lines, number_of};
use crate::calls::api::Calls;
use crate::calls::api::Object;
use crate::calls::state::any_state;

/// `sys.monitoring`, while something of ours is registered there.
static MODULE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// The tool numbers that are ours, as bits.
static TAKEN: AtomicU32 = AtomicU32::new(0);

/// The tool numbers of sessions that were answered [`DISABLE`](super::Local::no_more), as bits: for
/// these the interpreter may go on leaving places out.
static DISABLED: AtomicU32 = AtomicU32::new(0);

/// Keeps the module, to take back what is registered from now on.
///
/// # Safety
/// The lock is held, and `module` is `sys.monitoring`.
pub unsafe fn will_end(calls: &Calls, module: Object) {
    // SAFETY: the caller vouches.
    unsafe {
        (calls.retain)(module);
        let former = MODULE.swap(module, Ordering::Relaxed);
        if !former.is_null() {
            (calls.release)(former);
        }
    }
}

/// Notes that places are going to be disabled for the tool numbers that are ours.
pub fn note_disabling() {
    DISABLED.fetch_or(TAKEN.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// True if places may be disabled for a tool number, by an earlier session of ours.
pub fn has_disabled(tool: i64) -> bool {
    DISABLED.load(Ordering::Relaxed) & 1 << tool != 0
}

/// Has places that were disabled reported again: those of the program's own tools, too, which hear
/// of them once more.
///
/// # Safety
/// The lock is held, and `module` is `sys.monitoring`.
pub unsafe fn restart(calls: &Calls, module: Object) {
    DISABLED.store(0, Ordering::Relaxed);
    // SAFETY: the caller vouches.
    let _ = unsafe { call(calls, module, c"restart_events", &[]) };
}

/// Notes a tool number that is ours.
pub fn note_tool(tool: i64) {
    TAKEN.fetch_or(1 << tool, Ordering::Relaxed);
}

/// Takes all back.
///
/// # Safety
/// The lock is held.
pub unsafe fn end(calls: &Calls) {
    let tables: [&[Event]; 4] = [
        &of_calls::EVENTS,
        &of_calls::OF_BUILTINS,
        &lines::EVENTS,
        &exceptions::EVENTS,
    ];
    let module = MODULE.swap(null_mut(), Ordering::Relaxed);
    let taken = TAKEN.swap(0, Ordering::Relaxed);
    if module.is_null() {
        return;
    }
    // SAFETY: the caller vouches; the module was kept.
    unsafe {
        let has_local =
            |state: &&mut crate::calls::state::State| state.has_lines || state.has_exceptions;
        let locals = [&lines::ASKED, &exceptions::ASKED];
        if let Some(state) = any_state().filter(has_local) {
            state.tree.each_key(function_kind::PYTHON, |code| {
                locals.iter().for_each(|local| local.end_for(calls, code));
            });
        }
        for tool in (0..u32::BITS).filter(|tool| taken & 1 << tool != 0) {
            let number = (calls.new_number)(tool.into());
            let nothing = (calls.new_number)(0);
            let _ = call(calls, module, c"set_events", &[number, nothing]);
            for event in tables.iter().copied().flatten() {
                if let Some(event) = number_of(calls, module, event.name) {
                    let arguments = [number, event, calls.none];
                    let _ = call(calls, module, c"register_callback", &arguments);
                    (calls.release)(event);
                }
            }
            let _ = call(calls, module, c"free_tool_id", &[number]);
            (calls.release)(nothing);
            (calls.release)(number);
        }
        locals.iter().for_each(|local| local.forget(calls));
        (calls.release)(module);
    }
}
