//! The functions that the package gets for spans, besides the methods of their type.

use core::ffi::{CStr, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::Ordering;

use super::api::{Object, Spans, find, type_of};
use super::object::{
    IDLE, TYPE, current, dismiss, make, nearest_open, release, span_of, stand_in, state,
};
use super::text::Text;
use super::{flush, label, mark, names, recorded};

/// `new(name, attributes)`: a span, or what the package makes where nothing records.
pub unsafe extern "C-unwind" fn new(_: Object, arguments: *const Object, count: isize) -> Object {
    let Some(api) = find() else { return null_mut() };
    // SAFETY: the interpreter's arguments, of which there are `count`; the lock is held.
    unsafe {
        if count != 2 || type_of(arguments.add(1).read()) != api.dict_type {
            return refuse(api, c"a name and a dictionary are wanted");
        }
        let (name, attributes) = (arguments.read(), arguments.add(1).read());
        if recorded().is_none() {
            let idle = IDLE.load(Ordering::Relaxed);
            return (api.call)(idle, name, attributes, null_mut::<c_void>());
        }
        let mut text = Text::new();
        add(api, &mut text, false, name);
        let (mut at, mut key, mut value) = (0, null_mut(), null_mut());
        while (api.dict_next)(attributes, &mut at, &mut key, &mut value) != 0 {
            let before = text.length();
            if !add(api, &mut text, true, key) || !add(api, &mut text, true, value) {
                text.cut(before);
                break;
            }
        }
        make(api, label(text.as_str()).unwrap_or(names::OTHER))
    }
}

/// `again(span)`: another span with the same name and attributes.
pub unsafe extern "C-unwind" fn again(_: Object, span: Object) -> Object {
    let Some(api) = find() else { return null_mut() };
    // SAFETY: the interpreter's argument; the lock is held.
    unsafe {
        if type_of(span) != TYPE.load(Ordering::Relaxed) {
            return refuse(api, c"a span is wanted");
        }
        make(api, (*span_of(span)).label)
    }
}

/// `mark(text)`.
pub unsafe extern "C-unwind" fn mark_now(_: Object, text: Object) -> Object {
    let Some(api) = find() else { return null_mut() };
    // SAFETY: the interpreter's argument; the lock is held.
    unsafe {
        if let Some(home) = recorded() {
            let mut name = Text::new();
            add(api, &mut name, false, text);
            let current = current(api);
            let path = nearest_open(current).as_ref().map_or(0, |span| span.path);
            release(api, current);
            mark(home, path, name.as_str());
        }
        api.none()
    }
}

/// `flush()`: sums of spans go to the command now.
pub unsafe extern "C-unwind" fn flush_now(_: Object, _: Object) -> Object {
    let Some(api) = find() else { return null_mut() };
    flush();
    // SAFETY: the interpreter calls with its lock held.
    unsafe { api.none() }
}

#[cold]
pub unsafe fn refuse(api: &Spans, why: &'static CStr) -> Object {
    // SAFETY: the lock is held.
    unsafe { (api.set_error)(api.type_error.read(), why.as_ptr()) };
    null_mut()
}

/// Adds an object's text. False: there is no room.
///
/// # Safety
/// The lock is held, and the object is one.
unsafe fn add(api: &Spans, text: &mut Text, is_next: bool, object: Object) -> bool {
    const UNKNOWN: &str = "?";
    // SAFETY: the caller vouches. A text of the interpreter's is valid as long as its object.
    unsafe {
        let mut length = 0;
        if type_of(object) == api.text_type {
            let bytes = (api.text)(object, &mut length);
            if !bytes.is_null() {
                let bytes = core::slice::from_raw_parts(bytes.cast::<u8>(), length as usize);
                return text.add_clean(is_next, str::from_utf8_unchecked(bytes));
            }
            api.drop_error();
            return text.add_clean(is_next, UNKNOWN);
        }
        let shown = (api.to_text)(object);
        let bytes = match shown.is_null() {
            true => null(),
            false => (api.text)(shown, &mut length),
        };
        let added = if bytes.is_null() {
            api.drop_error();
            text.add_clean(is_next, UNKNOWN)
        } else {
            let bytes = core::slice::from_raw_parts(bytes.cast::<u8>(), length as usize);
            text.add_clean(is_next, str::from_utf8_unchecked(bytes))
        };
        if !shown.is_null() {
            (api.release)(shown);
        }
        added
    }
}

/// `pause(span)`: the generator that is in the span is suspended.
pub unsafe extern "C-unwind" fn pause(_: Object, span: Object) -> Object {
    let Some(api) = find() else { return null_mut() };
    // SAFETY: the interpreter's argument; the lock is held.
    unsafe {
        if type_of(span) != TYPE.load(Ordering::Relaxed) {
            return refuse(api, c"a span is wanted");
        }
        let span = span_of(span);
        let _ = (*span).state.compare_exchange(
            state::OPEN,
            state::PAUSED,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        dismiss(api, span);
        api.none()
    }
}

/// `resume(span)`: the generator goes on, in a context that may be another one.
pub unsafe extern "C-unwind" fn resume(_: Object, span: Object) -> Object {
    let Some(api) = find() else { return null_mut() };
    // SAFETY: the interpreter's argument; the lock is held.
    unsafe {
        if type_of(span) != TYPE.load(Ordering::Relaxed) {
            return refuse(api, c"a span is wanted");
        }
        let span = span_of(span);
        let is_paused = (*span).state.load(Ordering::Relaxed) == state::PAUSED;
        if is_paused && (*span).stand_in.load(Ordering::Relaxed).is_null() {
            stand_in(api, span);
        }
        api.none()
    }
}
