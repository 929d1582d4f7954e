//! The lines of functions: which functions are chosen, and which the program itself has marked.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use profundo_cpython::lines::Ranges;
use profundo_cpython::objects::{bytes, object};
use profundo_probe::calls::{Described, LineTracing, Pile, Run};

use super::api::{Calls, Method, Object, attribute};
use super::describe;
use super::select;
use super::state::{State, state, time};
use crate::inject::{exclusive, field, field_at, word};

/// True if a code object's lines are counted; decided here if it was not known.
///
/// # Safety
/// `code` is a code object, and the lock is held.
#[inline]
pub unsafe fn is_counted(state: &mut State, code: u64) -> bool {
    match state.tree.line_tracing(code) {
        LineTracing::Yes => true,
        LineTracing::No => false,
        // SAFETY: the caller vouches.
        LineTracing::Unknown => unsafe { find_out(state, code, false) },
    }
}

/// # Safety
/// As for [`is_counted`].
#[cold]
unsafe fn find_out(state: &mut State, code: u64, is_marked: bool) -> bool {
    let (layout, calls) = (state.layout, state.calls);
    let mut is_chosen = false;
    // SAFETY: the caller vouches.
    unsafe {
        describe::code(&layout, code, &mut |described: Described<'_>| {
            is_chosen = select::is_selected(described.file, described.name, described.qualified);
        });
    }
    // SAFETY: as above.
    let lines = (is_chosen || is_marked).then(|| unsafe { extent(state, code) });
    state
        .tree
        .set_traced_lines(code, lines.flatten(), |report| {
            // SAFETY: as above. It is kept, so that no other object takes its address.
            unsafe {
                (calls.retain)(code as Object);
                describe::code(&layout, code, report);
            }
        });
    // A function that the user has named counts like one that the program marks.
    if is_chosen && select::is_explicit() {
        state.tree.mark(code);
    }
    if state.is_once {
        // SAFETY: as above.
        unsafe {
            note_code(state, code);
            find_within(state, code, 0);
        }
    }
    state.tree.line_tracing(code) == LineTracing::Yes
}

/// Notes which lines of a chosen code object have code.
///
/// # Safety
/// `code` is a code object.
unsafe fn note_code(state: &State, code: u64) {
    if state.tree.line_tracing(code) != LineTracing::Yes {
        return;
    }
    // SAFETY: the caller vouches.
    let (ranges, _) = unsafe { ranges(state, code) };
    for line in ranges.filter_map(|range| range.position.line) {
        // The code that begins a module has line 0 on some versions.
        if let Some(line) = u32::try_from(line).ok().filter(|&line| line > 0) {
            state.tree.has_code((code, line));
        }
    }
}

/// Decides for the functions in a code object before they are called, since they may never be.
///
/// # Safety
/// `code` is a code object, and the lock is held.
unsafe fn find_within(state: &mut State, code: u64, depth: u32) {
    /// The depth of nested functions.
    const DEEPEST: u32 = 32;
    let (layout, calls) = (state.layout, state.calls);
    if depth > DEEPEST {
        return;
    }
    // SAFETY: the caller vouches; what a code object has there is a tuple, which it keeps.
    unsafe {
        let constants = attribute(calls, code as Object, c"co_consts");
        if constants.is_null() {
            return;
        }
        let count = field(constants as u64, object::SIZE);
        for at in 0..count {
            let inner = word(constants as u64 + u64::from(layout.objects.tuple_items) + at * 8);
            if field(inner, object::TYPE) != calls.code_type as u64 {
                continue;
            }
            let mut is_chosen = false;
            describe::code(&layout, inner, &mut |described: Described<'_>| {
                is_chosen =
                    select::is_selected(described.file, described.name, described.qualified);
            });
            match is_chosen && state.tree.line_tracing(inner) == LineTracing::Unknown {
                true => _ = find_out(state, inner, false),
                false => find_within(state, inner, depth + 1),
            }
        }
        (calls.release)(constants);
    }
}

/// The lines of a code object, and its first one.
///
/// # Safety
/// `code` is a code object, which outlives the ranges.
pub(super) unsafe fn ranges<'a>(state: &State, code: u64) -> (Ranges<'a>, i32) {
    let layout = &state.layout;
    // SAFETY: the caller vouches: its table is an object of bytes.
    let (table, first) = unsafe {
        let table = word(code + u64::from(layout.code.lines));
        let length = field(table, object::SIZE) as usize;
        let bytes = core::slice::from_raw_parts(field_at(table, bytes::FIRST) as *const u8, length);
        (bytes, word(code + u64::from(layout.code.first_line)) as i32)
    };
    (Ranges::new(layout.minor, table, first), first)
}

/// The first and the last line of a code object.
///
/// # Safety
/// `code` is a code object.
unsafe fn extent(state: &State, code: u64) -> Option<(u32, u32)> {
    // SAFETY: the caller vouches.
    let (ranges, first) = unsafe { ranges(state, code) };
    let lines = ranges.filter_map(|range| range.position.line);
    let ends = lines.fold((first, first), |(low, high), line| {
        (low.min(line), high.max(line))
    });
    Some((u32::try_from(ends.0).ok()?, u32::try_from(ends.1).ok()?))
}

/// A call of a chosen code object begins, or goes on.
#[inline]
pub fn begin(state: &mut State, code: u64) {
    if state.is_once {
        return;
    }
    if let Some(runs) = state.runs() {
        state.tree.begin_lines(runs, code);
    }
}

/// As [`begin`], for a thread with these open calls.
pub fn begin_in(state: &mut State, runs: &mut Pile<Run>, code: u64) {
    if !state.is_once {
        state.tree.begin_lines(runs, code);
    }
}

/// A line begins.
#[inline]
pub fn line(state: &mut State, code: u64, line: u32) {
    if state.is_once {
        return state.tree.ran((code, line));
    }
    let Some(runs) = state.runs() else { return };
    match state.has_line_times {
        true => {
            let uses_cpu = state.uses_cpu();
            state.tree.line(runs, code, line, || time(uses_cpu));
        }
        false => state.tree.hit(runs, code, line),
    }
}

/// The call ends, or pauses.
#[inline]
pub fn end(state: &mut State, code: u64) {
    let now = match state.has_line_times {
        true => state.now(),
        false => 0,
    };
    if let Some(runs) = state.runs() {
        state.tree.end_lines(runs, code, now);
    }
}

static MARK: Method = Method {
    name: c"profile".as_ptr(),
    function: mark as *const () as *const c_void,
    // `METH_VARARGS | METH_KEYWORDS`.
    flags: 1 | 2,
    doc: c"Have the lines of a function counted (profundo trace --lines).".as_ptr(),
};

/// The function to be called for each code object that the program marks.
static THEN: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Offers the name `profile` to the program, if it is free: functions decorated with it are chosen.
///
/// # Safety
/// The lock is held.
pub unsafe fn offer(calls: &Calls, then: unsafe fn(&mut State, u64)) {
    THEN.store(then as *mut c_void, Ordering::Relaxed);
    // SAFETY: the caller vouches; what is made is kept by the module, or released.
    unsafe {
        let module = (calls.import)(c"builtins".as_ptr());
        if module.is_null() {
            return calls.drop_error();
        }
        let there = attribute(calls, module, c"profile");
        if there.is_null() {
            let ours = (calls.new_function)(&MARK, core::ptr::null_mut(), core::ptr::null_mut());
            if ours.is_null() || (calls.set_attribute)(module, c"profile".as_ptr(), ours) != 0 {
                calls.drop_error();
            }
            if !ours.is_null() {
                (calls.release)(ours);
            }
        } else {
            (calls.release)(there);
        }
        (calls.release)(module);
    }
}

/// `@profile`, and `@profile(…)` as memory_profiler has it, which returns a decorator: this one.
unsafe extern "C" fn mark(_: Object, arguments: Object, _: Object) -> Object {
    let Some(calls) = super::api::find() else {
        return core::ptr::null_mut();
    };
    // SAFETY: the interpreter calls with its lock held, and a tuple of arguments, which keeps what
    // is in it.
    let function = unsafe {
        match (calls.length)(arguments) {
            0 => {
                let none = core::ptr::null_mut();
                return (calls.new_function)(&MARK, none, none);
            }
            _ => (calls.item)(arguments, 0),
        }
    };
    // SAFETY: the interpreter calls with its lock held; what a function has as its code is a code
    // object.
    unsafe {
        // A function that is decorated twice, or bound to a class, has one within.
        let inner = attribute(calls, function, c"__func__");
        let code = match inner.is_null() {
            true => attribute(calls, function, c"__code__"),
            false => {
                let code = attribute(calls, inner, c"__code__");
                (calls.release)(inner);
                code
            }
        };
        if !code.is_null() {
            let _alone = exclusive::COUNTS.enter();
            if field(code as u64, object::TYPE) == calls.code_type as u64
                && let Some(state) = state()
            {
                if state.tree.line_tracing(code as u64) != LineTracing::Yes {
                    find_out(state, code as u64, true);
                }
                state.tree.mark(code as u64);
                let then = THEN.load(Ordering::Relaxed);
                if !then.is_null() {
                    core::mem::transmute::<*mut c_void, unsafe fn(&mut State, u64)>(then)(
                        state,
                        code as u64,
                    );
                }
            }
            (calls.release)(code);
        }
        (calls.retain)(function);
    }
    function
}
