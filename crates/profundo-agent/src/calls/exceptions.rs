//! Exceptions: the lines that raise them, and those that catch them.
//!
//! The interpreter reports an exception in each frame that it reaches. It is raised where it is
//! reported first, or where a `raise` names it; elsewhere the same one goes on. A handler that it
//! reaches has caught it, until it is raised on from there. Handlers of the compiler's own, which
//! always raise on, are no handlers.
//!
//! What belongs to iteration is left out: the interpreter's `GeneratorExit` and
//! `StopAsyncIteration`. An explicit `raise StopIteration` is caught by the loop that it ends.

use core::ffi::{CStr, c_char, c_void};
use core::ops::ControlFlow;
use core::ptr::null_mut;

use profundo_cpython::handlers::Handlers;
use profundo_cpython::objects::{bytes, object, traceback, type_object};
use profundo_cpython::{Frame, Start, Step, walk};
use profundo_probe::calls::{Course, Described, End, Site};

use super::api::{Calls, Object, attribute};
use super::describe;
use super::lines;
use super::state::State;
use crate::inject::{There, field, field_at};

/// An instruction, by its code object and its offset in bytes.
pub type Place = (u64, u32);

/// What is noted of a site.
pub mod note {
    /// A `raise` that names an exception.
    pub const RAISES: u8 = 1;
    /// A generator may be paused here.
    pub const PAUSES: u8 = 2;
    /// A handler of the compiler's own.
    pub const HIDDEN: u8 = 4;
    /// A handler with several clauses.
    pub const CLAUSES: u8 = 8;
    /// A handler of groups, `except*`.
    pub const GROUPS: u8 = 16;
    /// The beginning of the handler of a `with`.
    pub const WITH: u8 = 32;
}

/// Marks in the first half of a site's key: its place as a handler, a line in place of an
/// instruction, a code object whose clauses are known,
/// and one whose lines are asked for.
const HANDLER: u32 = 1 << 31;
const LINE: u32 = 1 << 30;
const CLAUSES: u32 = u32::MAX;
const ASKED: u32 = u32::MAX - 1;

/// The arrival of an exception in a frame.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub exception: u64,
    /// Its traceback; 0: it has none.
    pub traceback: u64,
    /// The frame object.
    pub frame: u64,
    /// True if an exception that has ended is known to go on here.
    pub goes_on: bool,
}

/// The result of an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrived {
    /// It is on its way: a handler of this frame gets it, or the frame ends.
    Raised,
    /// The frame's loop or `await` takes it, as the end of an iteration.
    Consumed,
}

/// An exception arrives in a frame, at an instruction.
///
/// # Safety
/// The lock is held, and all of these are what they are called.
pub unsafe fn arrive(state: &mut State, place: Place, arrival: Arrival) -> Arrived {
    let Arrival {
        exception,
        traceback,
        frame,
        ..
    } = arrival;
    // SAFETY: the caller vouches; a traceback that is not `None` is one.
    unsafe {
        let none = state.calls.none as u64;
        let has_traceback = traceback != 0 && traceback != none;
        // A frame adds itself to the traceback of what it does not consume.
        if !has_traceback || field(traceback, traceback::FRAME) != frame {
            if state.tree.course(exception) == Course::Underway
                && let Some(at) = site(state, place)
            {
                state.tree.ends(exception, End::Caught(at));
            }
            return Arrived::Consumed;
        }
        let next = field(traceback, traceback::NEXT);
        let is_first = next == 0 || next == none;
        let Some(at) = site(state, place) else {
            state.tree.ignore(exception);
            state.tree.count(|header| &header.uncounted_exceptions);
            return Arrived::Raised;
        };
        let is_named = at.notes & note::RAISES != 0;
        let is_same = !is_first
            && !is_named
            && match state.tree.course(exception) {
                Course::Underway => true,
                Course::Ended => arrival.goes_on || at.notes & note::PAUSES != 0,
                Course::Unknown => false,
            };
        match is_same {
            true => state.tree.goes_on(exception),
            false => raise(state, at, exception, is_named),
        }
    }
    Arrived::Raised
}

/// Counts an exception as raised, unless it belongs to iteration or to the interpreter's own start.
///
/// # Safety
/// The lock is held, and it is an exception.
unsafe fn raise(state: &mut State, at: Site, exception: u64, is_named: bool) {
    // SAFETY: the caller vouches; a type's name is a text of C's.
    unsafe {
        let of_type = field(exception, object::TYPE);
        let Calls {
            generator_exit,
            end_of_async,
            ..
        } = *state.calls;
        let is_of_iteration =
            [generator_exit, end_of_async].map(|exception| exception.read() as u64);
        if !is_named && is_of_iteration.contains(&of_type) || !has_begun(state) {
            return state.tree.ignore(exception);
        }
        let name = field(of_type, type_object::NAME) as *const c_char;
        let name = CStr::from_ptr(name).to_bytes();
        let of_type = state.tree.exception_type(name);
        state.tree.raised(exception, of_type, at);
    }
}

/// An exception that may have been caught is raised on, at an instruction that names none.
///
/// # Safety
/// As for [`arrive`].
pub unsafe fn raise_on(state: &mut State, place: Place, exception: u64, traceback: u64) {
    let (group, of_group) = core::mem::take(&mut state.group);
    if group != 0 && group != exception && traceback == of_group {
        // What a handler of groups has left over is a new one, with the same traceback.
        return state.tree.becomes(group, exception);
    }
    match state.tree.course(exception) {
        Course::Underway => {}
        Course::Ended => state.tree.goes_on(exception),
        // One without a traceback arrives in the caller. SAFETY: the caller vouches.
        Course::Unknown => unsafe {
            if traceback != 0
                && traceback != state.calls.none as u64
                && let Some(at) = site(state, place)
            {
                raise(state, at, exception, false);
            }
        },
    }
}

/// An exception reaches a handler. `None`: it is no handler, or the exception does not count.
///
/// # Safety
/// As for [`arrive`].
pub unsafe fn catch(state: &mut State, (code, offset): Place, exception: u64) -> Option<Site> {
    if state.tree.course(exception) == Course::Unknown {
        return None;
    }
    // SAFETY: the caller vouches.
    let at = unsafe { handler(state, (code, offset)) }?;
    if at.notes & note::HIDDEN != 0 {
        return None;
    }
    state.tree.ends(exception, End::Caught(at));
    Some(at)
}

/// Whether a handler is the compiler's own, which raises on what it gets.
///
/// # Safety
/// As for [`arrive`].
pub unsafe fn is_hidden(state: &mut State, place: Place) -> bool {
    // SAFETY: the caller vouches.
    unsafe { handler(state, place) }.is_some_and(|at| at.notes & note::HIDDEN != 0)
}

/// A line of a frame begins. If it is that of an `except` clause, that one has the exception now.
/// `false`: there is no clause on it.
///
/// # Safety
/// The lock is held, and `code` is a code object.
#[inline]
pub unsafe fn line(state: &mut State, code: u64, line: u32) -> bool {
    let Some(clause) = state.tree.site((LINE | line, code)) else {
        return false;
    };
    // SAFETY: the caller vouches; what is given is released. Something else keeps the exception.
    let exception = unsafe {
        let mut given: [Object; 3] = [null_mut(); 3];
        let [of_type, value, traceback] = &mut given;
        (state.calls.handled)(of_type, value, traceback);
        let value = given[1] as u64;
        for object in given.into_iter().filter(|object| !object.is_null()) {
            (state.calls.release)(object);
        }
        value
    };
    if exception != 0 && state.tree.course(exception) != Course::Unknown {
        state.tree.ends(exception, End::Caught(clause));
    }
    true
}

/// A line of a frame begins at an instruction. If the handler of a `with` begins there, that one
/// has the exception now which the frame's handlers have got last.
///
/// # Safety
/// As for [`arrive`].
pub unsafe fn begin_with(state: &mut State, place: Place, exception: u64) {
    // SAFETY: the caller vouches.
    unsafe {
        if site(state, place).is_some_and(|at| at.notes & note::WITH != 0) {
            catch(state, place, exception);
        }
    }
}

/// A frame ends by an exception that is on its way. If it is the thread's last one, the exception
/// has left the thread.
///
/// # Safety
/// The lock is held.
pub unsafe fn leave(state: &mut State, exception: u64) {
    if state.tree.course(exception) != Course::Underway {
        return;
    }
    // SAFETY: the caller vouches.
    if unsafe { running(state) }.is_some_and(|running| running.is_last) {
        state.tree.ends(exception, End::Left);
    }
}

/// The frame that runs.
pub struct Running {
    pub frame: Frame,
    /// True if it has no caller.
    pub is_last: bool,
}

/// The frame that runs on this thread.
///
/// # Safety
/// The lock is held.
pub unsafe fn running(state: &State) -> Option<Running> {
    let mut found = None;
    // SAFETY: the caller vouches.
    unsafe {
        frames(state, |frame| match &mut found {
            None => {
                found = Some(Running {
                    frame,
                    is_last: true,
                });
                ControlFlow::Continue(())
            }
            Some(running) => {
                running.is_last = false;
                ControlFlow::Break(())
            }
        });
    }
    found
}

/// # Safety
/// The lock is held.
unsafe fn frames(state: &State, mut visit: impl FnMut(Frame) -> ControlFlow<()>) {
    let start = Start {
        // SAFETY: the caller vouches.
        state: unsafe { (state.calls.thread)() },
        code_type: state.calls.code_type as u64,
        is_settled: true,
        is_calling: true,
        ..Start::default()
    };
    let _ = walk(&state.layout, &mut There, start, |_, step| match step {
        Step::Frame(frame) => visit(frame),
        Step::Entry { .. } => ControlFlow::Continue(()),
    });
}

/// True if the program has begun: before that, the interpreter imports what it needs, from C.
///
/// # Safety
/// The lock is held.
#[inline]
unsafe fn has_begun(state: &mut State) -> bool {
    // SAFETY: the caller vouches.
    state.has_begun() || unsafe { find_beginning(state) }
}

#[cold]
unsafe fn find_beginning(state: &mut State) -> bool {
    const OWN: [&[u8]; 2] = [b"<frozen importlib", b"<frozen zipimport"];
    let mut outermost = 0;
    // SAFETY: the caller vouches; a frame has a code object.
    unsafe {
        frames(state, |frame| {
            outermost = frame.code;
            ControlFlow::Continue(())
        });
        let mut is_own = outermost == 0;
        if outermost != 0 {
            describe::code(&state.layout, outermost, &mut |described| {
                is_own = OWN.iter().any(|own| described.file.starts_with(own));
            });
        }
        if !is_own {
            state.begins();
        }
        !is_own
    }
}

/// The site of an instruction.
///
/// # Safety
/// `code` is a code object, and the lock is held.
#[inline]
unsafe fn site(state: &mut State, (code, offset): Place) -> Option<Site> {
    match state.tree.site((offset, code)) {
        Some(site) => Some(site),
        // SAFETY: the caller vouches.
        None => unsafe { add_site(state, (code, offset)) },
    }
}

#[cold]
unsafe fn add_site(state: &mut State, (code, offset): Place) -> Option<Site> {
    let mut notes = 0;
    // SAFETY: the caller vouches.
    unsafe {
        with_handlers(state, code, |handlers| {
            let flag = |is_set, flag| if is_set { flag } else { 0 };
            notes = flag(handlers.raises(offset), note::RAISES)
                | flag(handlers.pauses(offset), note::PAUSES)
                | flag(handlers.is_with(offset), note::WITH);
        });
        let line = line_at(state, code, offset);
        add(state, (offset, code), line, notes)
    }
}

/// The site of a handler.
///
/// # Safety
/// As for [`site`].
#[inline]
unsafe fn handler(state: &mut State, (code, offset): Place) -> Option<Site> {
    match state.tree.site((HANDLER | offset, code)) {
        Some(site) => Some(site),
        // SAFETY: the caller vouches.
        None => unsafe { add_handler(state, (code, offset)) },
    }
}

#[cold]
unsafe fn add_handler(state: &mut State, (code, offset): Place) -> Option<Site> {
    // SAFETY: the caller vouches.
    unsafe {
        add_clauses(state, code);
        let (mut notes, mut at) = (0, offset);
        with_handlers(state, code, |handlers| {
            let flag = |is_set, flag| if is_set { flag } else { 0 };
            notes = flag(handlers.is_hidden(offset), note::HIDDEN)
                | flag(handlers.has_clauses(offset), note::CLAUSES)
                | flag(handlers.is_of_groups(offset), note::GROUPS);
            at = handlers.statement_of(offset).unwrap_or(offset);
        });
        let line = line_at(state, code, at);
        add(state, (HANDLER | offset, code), line, notes)
    }
}

/// Notes the lines of a code object's `except` clauses.
///
/// # Safety
/// As for [`site`].
unsafe fn add_clauses(state: &mut State, code: u64) {
    /// Lines beyond these are known by their handler's first clause only.
    const MOST: usize = 256;
    if state.tree.site((CLAUSES, code)).is_some() {
        return;
    }
    let mut offsets = [0; MOST];
    let mut count = 0;
    // SAFETY: the caller vouches.
    unsafe {
        with_handlers(state, code, |handlers| {
            handlers.clauses(|offset| {
                if let Some(place) = offsets.get_mut(count) {
                    *place = offset;
                    count += 1;
                }
            });
        });
        for &offset in offsets.get(..count).unwrap_or_default() {
            let line = line_at(state, code, offset);
            let key = (LINE | line, code);
            if line > 0 && line < LINE && state.tree.site(key).is_none() {
                add(state, key, line, 0);
            }
        }
        add(state, (CLAUSES, code), 0, 0);
    }
}

/// # Safety
/// As for [`site`].
unsafe fn add(state: &mut State, key: (u32, u64), line: u32, notes: u8) -> Option<Site> {
    let State {
        tree,
        calls,
        layout,
        ..
    } = state;
    let code = key.1;
    let describe = |report: &mut dyn FnMut(Described<'_>)| {
        // SAFETY: as the caller says. It is kept, so that no other object takes its address.
        unsafe {
            (calls.retain)(code as Object);
            describe::code(layout, code, report);
        }
    };
    tree.add_site(key, (code, line), notes, describe)
}

/// Shows the instructions of a code object as it was compiled.
///
/// # Safety
/// As for [`site`].
unsafe fn with_handlers(state: &State, code: u64, look: impl FnOnce(&Handlers<'_>)) {
    // SAFETY: the caller vouches: what is given are bytes, which are ours until they are released.
    unsafe {
        let given = attribute(state.calls, code as Object, c"co_code");
        if given.is_null() {
            return;
        }
        if let Some(handlers) = Handlers::new(state.layout.minor, contents(given)) {
            look(&handlers);
        }
        (state.calls.release)(given);
    }
}

/// # Safety
/// It is an object of bytes, which outlives the result.
unsafe fn contents<'a>(given: *mut c_void) -> &'a [u8] {
    let at = given as u64;
    // SAFETY: the caller vouches.
    unsafe {
        let length = field(at, object::SIZE) as usize;
        core::slice::from_raw_parts(field_at(at, bytes::FIRST) as *const u8, length)
    }
}

/// The line of an instruction. For what the compiler has added it is the line that comes next, or
/// else the one before.
///
/// # Safety
/// As for [`site`].
unsafe fn line_at(state: &State, code: u64, offset: u32) -> u32 {
    // SAFETY: the caller vouches.
    let (ranges, first) = unsafe { lines::ranges(state, code) };
    let mut line = first;
    for range in ranges {
        if let Some(here) = range.position.line {
            line = here;
            if offset < range.end {
                break;
            }
        }
    }
    u32::try_from(line).unwrap_or(0)
}

/// True the first time for a code object: the lines of its clauses are to be reported.
///
/// # Safety
/// As for [`site`].
pub unsafe fn asks_first(state: &mut State, code: u64) -> bool {
    let key = (ASKED, code);
    // SAFETY: the caller vouches.
    state.tree.site(key).is_none() && unsafe { add(state, key, 0, 0) }.is_some()
}
