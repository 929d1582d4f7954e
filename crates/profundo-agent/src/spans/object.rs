//! Spans as objects of the interpreter.
//!
//! ```text
//!          63                             32 31                            0
//!         ┌───────────────────────────────────────────────────────────────┐
//!         │ the head of each object: references, type                     │
//!         ├───────────────────────────────┬───────────────────────────────┤
//! 0       │ state                         │ number of the path            │
//!         ├───────────────────────────────┴───────────────────────────────┤
//! 8       │ the span around it                                            │
//!         │ …                                                             │
//!         └───────────────────────────────────────────────────────────────┘
//! ```
//!
//! A handler reads these lines (`profundo_probe::python::span_object`). The length of the head
//! depends on the build of the interpreter. A pointer to a [`Span`] points behind it.
//!
//! Where threads run at the same time, one span may be entered by several at once. So what they
//! decide by is changed atomically.
//!
//! An object that is entered once is its own *entry*. Where it is entered again, as by two tasks,
//! each further entry is an object of its own. An entry that was left stays the variable's value,
//! and counts for nothing: setting the variable back would take as long as setting it. What is
//! entered next has the nearest open entry around it.

use core::ffi::{c_int, c_void};
use core::mem::offset_of;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use profundo_probe::python::span_object;
use profundo_wire::span_limit;

use super::api::{
    DEFAULT_FLAGS, Method, Object, Spans, TypeSlot, TypeSpec, find, head, how, slot, type_of,
};
use super::functions::refuse;
use super::tables::Entered;
use super::{enter, leave, lose, recorded, thread};

/// A span, behind the head of its object.
#[repr(C)]
pub struct Span {
    pub path: u32,
    pub state: AtomicU32,
    around: *mut Span,
    /// The span that was entered again, of which this is an entry; null for its own entry.
    of: *mut Span,
    /// The number of other objects that are open entries of this one.
    entries: AtomicU32,
    pub label: u32,
    place: u32,
    recording: u32,
    number: u64,
    /// The number of spans around it.
    depth: u32,
    /// While a generator runs that was suspended in this span: what stands for it in the context
    /// that the generator runs in.
    pub stand_in: AtomicPtr<Span>,
    /// The next one that is to be freed, once the last reference is gone.
    next: *mut Span,
}

const _: () = assert!(
    offset_of!(Span, path) as u64 == span_object::PATH
        && offset_of!(Span, state) as u64 == span_object::PATH + 4
        && offset_of!(Span, around) as u64 == span_object::AROUND
);

/// The span of an object.
///
/// # Safety
/// The object is one of our type.
#[inline]
pub unsafe fn span_of(object: Object) -> *mut Span {
    // SAFETY: the caller vouches; the span lies behind the head.
    unsafe { object.byte_add(head()).cast() }
}

/// The object of a span.
///
/// # Safety
/// It is one.
#[inline]
unsafe fn object_of(span: *mut Span) -> Object {
    // SAFETY: the caller vouches; the head lies before it.
    unsafe { span.cast::<c_void>().byte_sub(head()) }
}

unsafe fn retain(api: &Spans, span: *mut Span) {
    // SAFETY: the caller knows that the span stays until this returns.
    unsafe { (api.retain)(object_of(span)) };
}

/// The states of an entry.
pub mod state {
    pub const NEW: u32 = 0;
    pub const OPEN: u32 = profundo_probe::python::span_object::OPEN;
    pub const LEFT: u32 = 2;
    /// The generator that is in it is suspended, or has a stand-in.
    pub const PAUSED: u32 = 3;
    /// A thread is about to enter it.
    pub const CLAIMED: u32 = 4;
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
        size: (head() + size_of::<Span>()) as c_int,
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
        if !made.is_null() {
            (*span_of(made)).label = label;
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
        if value.is_null() {
            return null_mut();
        }
        // The program can find the variable, and set it to anything.
        if type_of(value) != TYPE.load(Ordering::Relaxed) {
            (api.release)(value);
            return null_mut();
        }
        span_of(value)
    }
}

pub unsafe fn release(api: &Spans, span: *mut Span) {
    if !span.is_null() {
        // SAFETY: the caller has a reference.
        unsafe { (api.release)(object_of(span)) };
    }
}

/// A span or the nearest one around it that is open; null if there is none.
pub unsafe fn nearest_open(span: *mut Span) -> *mut Span {
    let mut next = span;
    // SAFETY: each holds the one around it.
    while let Some(span) = unsafe { next.as_ref() } {
        // Acquire pairs with the release of `open`: the rest of it is there.
        if span.state.load(Ordering::Acquire) == state::OPEN {
            break;
        }
        next = span.around;
    }
    next
}

/// As [`nearest_open`], in the present context, as a new reference.
unsafe fn nearest_here(api: &Spans) -> *mut Span {
    // SAFETY: the lock is held, and what is current stays until its reference is released.
    unsafe {
        let current = current(api);
        let around = nearest_open(current);
        if !around.is_null() {
            retain(api, around);
        }
        release(api, current);
        around
    }
}

/// `__enter__`.
unsafe extern "C-unwind" fn enter_span(object: Object, _: Object) -> Object {
    let Some(api) = find() else { return null_mut() };
    // SAFETY: the interpreter's argument, a span; the lock is held.
    unsafe {
        if let Some(home) = recorded() {
            let around = nearest_here(api);
            enter_within(api, home, span_of(object), around);
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
        let claimed = (*span).state.compare_exchange(
            state::NEW,
            state::CLAIMED,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        let entry = match claimed {
            Ok(_) => {
                retain(api, span);
                span
            }
            Err(_) => match make(api, (*span).label) {
                made if made.is_null() => {
                    api.drop_error();
                    return release(api, around);
                }
                made => {
                    let entry = span_of(made);
                    retain(api, span);
                    (*entry).of = span;
                    (*span).entries.fetch_add(1, Ordering::Relaxed);
                    entry
                }
            },
        };
        let Some(entered) = enter(home, (*entry).label, path, number) else {
            // It becomes new again, or goes.
            match entry == span {
                true => (*span).state.store(state::NEW, Ordering::Relaxed),
                false => _ = (*span).entries.fetch_sub(1, Ordering::Relaxed),
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
        open(entry);
        let token = (api.set)(VARIABLE.load(Ordering::Relaxed), object_of(entry));
        if token.is_null() {
            api.drop_error();
            close(entry);
        } else {
            (api.release)(token);
        }
        release(api, entry);
    }
}

/// Opens an entry whose other fields are filled in.
unsafe fn open(entry: *mut Span) {
    // SAFETY: the caller has made it. Release: a handler, and another thread, that see it open see
    // the rest. It pairs with the acquire of `nearest_open`.
    unsafe { (*entry).state.store(state::OPEN, Ordering::Release) };
}

/// `__exit__`.
unsafe extern "C-unwind" fn leave_span(object: Object, _: *const Object, _: isize) -> Object {
    let Some(api) = find() else { return null_mut() };
    // SAFETY: the interpreter's argument, a span; the lock is held.
    unsafe {
        let span = span_of(object);
        let is_open = |span: &Span| span.state.load(Ordering::Acquire) == state::OPEN;
        if (*span).entries.load(Ordering::Relaxed) == 0 {
            dismiss(api, span);
            close(span);
        } else {
            let current = current(api);
            let mut next = current;
            while let Some(entry) = next.as_ref() {
                if (next == span || entry.of == span) && is_open(entry) {
                    break;
                }
                next = entry.around;
            }
            if !next.is_null() {
                close(next);
            } else if is_open(&*span) {
                // It was entered in another context.
                close(span);
            }
            release(api, current);
        }
        api.none()
    }
}

/// Leaves an entry that is open or paused, and no other.
unsafe fn close(entry: *mut Span) {
    // SAFETY: the caller has a reference; the lock is held.
    unsafe {
        let leave_from = |from| {
            let state = &(*entry).state;
            let left =
                state.compare_exchange(from, state::LEFT, Ordering::Acquire, Ordering::Relaxed);
            left.is_ok()
        };
        if !leave_from(state::OPEN) && !leave_from(state::PAUSED) {
            return;
        }
        if let Some(span) = (*entry).of.as_ref() {
            let less = |entries: u32| Some(entries.saturating_sub(1));
            let _ = span
                .entries
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
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
        let object = make(api, (*span).label);
        if object.is_null() {
            return api.drop_error();
        }
        let made = span_of(object);
        (*made).path = (*span).path;
        (*made).number = (*span).number;
        (*made).depth = (*span).depth;
        (*made).around = nearest_here(api);
        open(made);
        let token = (api.set)(VARIABLE.load(Ordering::Relaxed), object);
        if token.is_null() {
            api.drop_error();
            return release(api, made);
        }
        (api.release)(token);
        let before = (*span).stand_in.swap(made, Ordering::AcqRel);
        drop_stand_in(api, before);
    }
}

/// Drops the stand-in of a span, if it has one.
pub unsafe fn dismiss(api: &Spans, span: *mut Span) {
    // SAFETY: the caller has a reference; the lock is held.
    unsafe {
        let stand_in = &(*span).stand_in;
        if !stand_in.load(Ordering::Relaxed).is_null() {
            drop_stand_in(api, stand_in.swap(null_mut(), Ordering::AcqRel));
        }
    }
}

unsafe fn drop_stand_in(api: &Spans, stand_in: *mut Span) {
    if !stand_in.is_null() {
        // SAFETY: the reference was the span's, and is ours now.
        unsafe {
            (*stand_in).state.store(state::LEFT, Ordering::Relaxed);
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

/// The last reference is gone. With it others may go, one after the other: what is freed meanwhile
/// waits for its turn, since there may be many in one another.
unsafe extern "C-unwind" fn deallocate(object: Object) {
    let Some(api) = find() else { return };
    // SAFETY: nothing else refers to the object; the lock is held.
    unsafe {
        let span = span_of(object);
        let freed = thread::freed();
        (*span).next = freed.next.replace(span);
        if freed.is_busy.replace(true) {
            return;
        }
        while let Some(span) = freed.next.get().as_mut() {
            freed.next.set(span.next);
            let held = take_apart(api, span);
            let object = object_of(span);
            let kind = type_of(object);
            (api.free)(object);
            (api.release)(kind);
            for other in held {
                release(api, other);
            }
        }
        freed.is_busy.set(false);
    }
}

/// Closes a span that is to be freed. Returns what it has held.
unsafe fn take_apart(api: &Spans, span: *mut Span) -> [*mut Span; 2] {
    // SAFETY: the caller has the last reference; the lock is held.
    unsafe {
        // Its context has gone without it. Where the interpreter ends, it is open at the end.
        if (api.is_initialized)() != 0 {
            close(span);
        }
        dismiss(api, span);
        let held = [(*span).around, (*span).of];
        ((*span).around, (*span).of) = (null_mut(), null_mut());
        held
    }
}
