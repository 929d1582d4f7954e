//! Spans as objects of the interpreter.
//!
//! ```text
//!          63                             32 31                            0
//!         ┌───────────────────────────────────────────────────────────────┐
//! 0       │ the head of each object: references, type                     │
//!         ├───────────────────────────────┬───────────────────────────────┤
//! 16      │ state                         │ number of the path            │
//!         ├───────────────────────────────┴───────────────────────────────┤
//! 24      │ the span around it                                            │
//!         │ …                                                             │
//!         └───────────────────────────────────────────────────────────────┘
//! ```
//!
//! A handler reads the first three lines (`profundo_probe::python::span_object`).
//!
//! An object that is entered once is its own *entry*. Where it is entered again, as by two tasks,
//! each further entry is an object of its own. An entry that was left stays the variable's value,
//! and counts for nothing: setting the variable back would take as long as setting it. What is
//! entered next has the nearest open entry around it.

use core::ffi::{c_int, c_void};
use core::mem::offset_of;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, Ordering, compiler_fence};

use profundo_probe::python::span_object;
use profundo_wire::span_limit;

use super::api::{
    DEFAULT_FLAGS, Method, Object, Spans, TypeSlot, TypeSpec, find, how, slot, type_of,
};
use super::functions::refuse;
use super::tables::Entered;
use super::{enter, leave, lose, recorded};

/// A span.
#[repr(C)]
pub struct Span {
    references: usize,
    kind: Object,
    pub path: u32,
    pub state: u32,
    around: *mut Span,
    /// The span that was entered again, of which this is an entry; null for its own entry.
    of: *mut Span,
    /// The number of other objects that are open entries of this one.
    entries: u32,
    pub label: u32,
    place: u32,
    recording: u32,
    number: u64,
    /// The number of spans around it.
    depth: u32,
    /// While a generator runs that was suspended in this span: what stands for it in the context
    /// that the generator runs in.
    pub stand_in: *mut Span,
}

const _: () = assert!(
    offset_of!(Span, path) as u64 == span_object::PATH
        && offset_of!(Span, state) as u64 == span_object::PATH + 4
        && offset_of!(Span, around) as u64 == span_object::AROUND
);

/// The states of an entry.
pub mod state {
    pub const NEW: u32 = 0;
    pub const OPEN: u32 = profundo_probe::python::span_object::OPEN;
    pub const LEFT: u32 = 2;
    /// The generator that is in it is suspended, or has a stand-in.
    pub const PAUSED: u32 = 3;
}

/// The type, the variable, and two functions of the package: one makes a span where nothing
/// records, the other a decorated function.
pub static TYPE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
pub static VARIABLE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
pub static IDLE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
pub static DECORATE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

static METHODS: [Method; 3] = [
    Method::new(c"__enter__", enter_span as *const c_void, how::NONE),
    Method::new(c"__exit__", leave_span as *const c_void, how::ARRAY),
    Method::END,
];

/// Makes the type: a new reference, or null.
///
/// # Safety
/// The lock is held.
pub unsafe fn make_type(api: &Spans) -> Object {
    let slot = |slot, value: *const c_void| TypeSlot { slot, value };
    let doc = c"A stretch of work with a name, for `with` or as a decorator: see profundo.span.";
    let mut slots = [
        slot(slot::CALL, decorate as *const c_void),
        slot(slot::DEALLOCATE, deallocate as *const c_void),
        slot(slot::DOC, doc.as_ptr().cast()),
        slot(slot::METHODS, METHODS.as_ptr().cast()),
        slot(0, null()),
    ];
    let mut spec = TypeSpec {
        name: c"profundo.Span".as_ptr(),
        size: size_of::<Span>() as c_int,
        item_size: 0,
        flags: DEFAULT_FLAGS,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the caller vouches; the interpreter copies what it keeps, but for texts and methods,
    // which stay.
    unsafe { (api.new_type)(&mut spec) }
}

/// A new span: null if there is no memory.
pub unsafe fn make(api: &Spans, label: u32) -> Object {
    // SAFETY: the lock is held; the interpreter zeroes what it allocates.
    unsafe {
        let made = (api.allocate)(TYPE.load(Ordering::Relaxed), 0);
        if let Some(span) = made.cast::<Span>().as_mut() {
            span.label = label;
        }
        made
    }
}

/// The variable's value in the present context: a new reference, or null.
pub unsafe fn current(api: &Spans) -> *mut Span {
    let mut value = null_mut();
    // SAFETY: the lock is held.
    unsafe {
        if (api.get)(VARIABLE.load(Ordering::Relaxed), null_mut(), &mut value) < 0 {
            api.drop_error();
            return null_mut();
        }
        // The program can find the variable, and set it to anything.
        if !value.is_null() && type_of(value) != TYPE.load(Ordering::Relaxed) {
            (api.release)(value);
            return null_mut();
        }
    }
    value.cast()
}

pub unsafe fn release(api: &Spans, span: *mut Span) {
    if !span.is_null() {
        // SAFETY: the caller has a reference.
        unsafe { (api.release)(span.cast()) };
    }
}

/// A span or the nearest one around it that is open; null if there is none.
pub unsafe fn nearest_open(span: *mut Span) -> *mut Span {
    let mut next = span;
    // SAFETY: each holds the one around it.
    while let Some(span) = unsafe { next.as_ref() } {
        if span.state == state::OPEN {
            break;
        }
        next = span.around;
    }
    next
}

/// `__enter__`.
unsafe extern "C-unwind" fn enter_span(object: Object, _: Object) -> Object {
    let Some(api) = find() else { return null_mut() };
    // SAFETY: the interpreter's argument, a span; the lock is held.
    unsafe {
        if let Some(home) = recorded() {
            let current = current(api);
            let around = nearest_open(current);
            if !around.is_null() {
                (api.retain)(around.cast());
            }
            release(api, current);
            enter_within(api, home, object.cast(), around);
        }
        (api.retain)(object);
    }
    object
}

/// Enters a span. `around` is a reference, which is used up.
unsafe fn enter_within(api: &Spans, home: crate::home::Home, span: *mut Span, around: *mut Span) {
    // SAFETY: the caller has references to both; the lock is held.
    unsafe {
        let (path, number, depth) = match around.as_ref() {
            Some(around) => (around.path, around.number, around.depth + 1),
            None => (0, 0, 0),
        };
        if depth as usize >= span_limit::DEPTH {
            lose();
            return release(api, around);
        }
        let entry = match (*span).state {
            state::NEW => {
                (api.retain)(span.cast());
                span
            }
            _ => match make(api, (*span).label).cast::<Span>() {
                entry if entry.is_null() => {
                    api.drop_error();
                    return release(api, around);
                }
                entry => {
                    (api.retain)(span.cast());
                    (*entry).of = span;
                    (*span).entries += 1;
                    entry
                }
            },
        };
        let Some(entered) = enter(home, (*entry).label, path, number) else {
            // It stays new, or goes.
            if entry != span {
                (*span).entries -= 1;
            }
            release(api, entry);
            return release(api, around);
        };
        (*entry).path = entered.path;
        (*entry).place = entered.place;
        (*entry).recording = entered.recording;
        (*entry).number = entered.number;
        (*entry).depth = depth;
        (*entry).around = around;
        // A handler that sees it open sees the rest.
        compiler_fence(Ordering::Release);
        (*entry).state = state::OPEN;
        let token = (api.set)(VARIABLE.load(Ordering::Relaxed), entry.cast());
        if token.is_null() {
            api.drop_error();
            close(entry);
        } else {
            (api.release)(token);
        }
        release(api, entry);
    }
}

/// `__exit__`.
unsafe extern "C-unwind" fn leave_span(object: Object, _: *const Object, _: isize) -> Object {
    let Some(api) = find() else { return null_mut() };
    // SAFETY: the interpreter's argument, a span; the lock is held.
    unsafe {
        let span = object.cast::<Span>();
        if (*span).entries == 0 {
            if matches!((*span).state, state::OPEN | state::PAUSED) {
                dismiss(api, span);
                close(span);
            }
        } else {
            let current = current(api);
            let mut next = current;
            while let Some(entry) = next.as_ref() {
                let is_entry = next == span || entry.of == span;
                if is_entry && entry.state == state::OPEN {
                    break;
                }
                next = entry.around;
            }
            if !next.is_null() {
                close(next);
            } else if (*span).state == state::OPEN {
                // It was entered in another context.
                close(span);
            }
            release(api, current);
        }
        api.none()
    }
}

/// Leaves an open entry.
unsafe fn close(entry: *mut Span) {
    // SAFETY: the caller has a reference; the lock is held.
    unsafe {
        (*entry).state = state::LEFT;
        if let Some(span) = (*entry).of.as_mut() {
            span.entries = span.entries.saturating_sub(1);
        }
        leave(Entered {
            path: (*entry).path,
            place: (*entry).place,
            recording: (*entry).recording,
            number: (*entry).number,
        });
    }
}

/// Makes what stands for a paused span in the present context. It has no record.
pub unsafe fn stand_in(api: &Spans, span: *mut Span) {
    // SAFETY: the caller has a reference; the lock is held.
    unsafe {
        let made = make(api, (*span).label).cast::<Span>();
        if made.is_null() {
            return api.drop_error();
        }
        let current = current(api);
        let around = nearest_open(current);
        if !around.is_null() {
            (api.retain)(around.cast());
        }
        release(api, current);
        (*made).path = (*span).path;
        (*made).number = (*span).number;
        (*made).depth = (*span).depth;
        (*made).around = around;
        // A handler that sees it open sees the rest.
        compiler_fence(Ordering::Release);
        (*made).state = state::OPEN;
        let token = (api.set)(VARIABLE.load(Ordering::Relaxed), made.cast());
        if token.is_null() {
            api.drop_error();
            return release(api, made);
        }
        (api.release)(token);
        (*span).stand_in = made;
    }
}

/// Drops the stand-in of a span, if it has one.
pub unsafe fn dismiss(api: &Spans, span: *mut Span) {
    // SAFETY: the caller has a reference; the lock is held.
    unsafe {
        if let Some(stand_in) = (*span).stand_in.as_mut() {
            stand_in.state = state::LEFT;
            (*span).stand_in = null_mut();
            release(api, stand_in);
        }
    }
}

/// `__call__`: a decorated function.
unsafe extern "C-unwind" fn decorate(object: Object, arguments: Object, named: Object) -> Object {
    let Some(api) = find() else { return null_mut() };
    // SAFETY: the interpreter's arguments; the lock is held.
    unsafe {
        if !named.is_null() || (api.tuple_size)(arguments) != 1 {
            return refuse(api, c"a span decorates one function");
        }
        let function = (api.tuple_item)(arguments, 0);
        let decorate = DECORATE.load(Ordering::Relaxed);
        (api.call)(decorate, object, function, null_mut::<c_void>())
    }
}

/// The last reference is gone. Spans around it may go, too: one by one, since there may be many in
/// one another.
unsafe extern "C-unwind" fn deallocate(object: Object) {
    let Some(api) = find() else { return };
    let mut next = object.cast::<Span>();
    // SAFETY: nothing else refers to the object; the lock is held.
    unsafe {
        while let Some(span) = next.as_mut() {
            // Its context has gone without it. Where the interpreter ends, it is open at the end.
            let is_entered = matches!(span.state, state::OPEN | state::PAUSED);
            if is_entered && (api.is_initialized)() != 0 {
                close(next);
            }
            dismiss(api, next);
            let (around, of, kind) = (span.around, span.of, span.kind);
            (span.around, span.of) = (null_mut(), null_mut());
            (api.free)(next.cast());
            (api.release)(kind);
            release(api, of);
            next = null_mut();
            // The count is one: only this span has held it.
            match around.as_ref() {
                Some(last) if last.references as u32 == 1 => next = around,
                _ => release(api, around),
            }
        }
    }
}
