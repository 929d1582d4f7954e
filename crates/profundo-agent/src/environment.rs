//! The environment: our variables out of the program's sight, and into that of what it executes.

use core::ffi::{CStr, c_char};
use core::mem::MaybeUninit;
use core::{ptr, slice};

use profundo_probe::shared::SESSION_VARIABLE;

use crate::loadable::{self, Target};
use crate::real::Strings;
use crate::{files, session};

/// More variables than anybody has.
const MOST: usize = 1 << 20;

const PRELOAD: &[u8] = b"LD_PRELOAD=";

unsafe extern "C" {
    #[link_name = "environ"]
    static mut ENVIRON: *mut *mut c_char;
}

/// The program's environment now.
pub fn current() -> Strings {
    // SAFETY: libc's variable; a word is read.
    unsafe { (&raw const ENVIRON).read().cast() }
}

/// Puts another list in its place.
///
/// # Safety
/// It is a list of variables with a null at its end that stays as long as it is in use.
pub unsafe fn set_current(list: Strings) {
    // SAFETY: libc's variable; a word is written.
    unsafe { (&raw mut ENVIRON).write(list.cast_mut().cast()) };
}

/// How many strings a list has.
///
/// # Safety
/// It is null, or ends in a null.
pub unsafe fn length(list: Strings) -> usize {
    if list.is_null() {
        return 0;
    }
    // SAFETY: the caller vouches.
    (0..MOST)
        .find(|&index| unsafe { (*list.add(index)).is_null() })
        .unwrap_or(0)
}

/// Whether a string sets the variable whose name this begins with, up to and with the `=`.
///
/// # Safety
/// It is a string.
unsafe fn sets(string: *const c_char, name: &[u8]) -> bool {
    // SAFETY: the caller vouches; it is not read beyond its NUL.
    name.iter()
        .enumerate()
        .all(|(index, &byte)| unsafe { *string.add(index) } as u8 == byte)
}

/// The value of a variable of the program's, whose name is given with its `=`.
pub fn value(name: &[u8]) -> Option<&'static [u8]> {
    let list = current();
    // SAFETY: libc's list and its strings. Another thread that changes them at this moment is the
    // program's own mistake, since the call that we are in reads them as well.
    unsafe {
        (0..length(list))
            .map(|index| *list.add(index))
            .find(|&string| sets(string, name))
            .map(|string| CStr::from_ptr(string.add(name.len())).to_bytes())
    }
}

fn is_session(string: *const c_char) -> bool {
    let name = SESSION_VARIABLE.as_bytes();
    // SAFETY: lists hold strings only; the `=` is looked at after the name was found.
    unsafe { sets(string, name) && *string.add(name.len()) as u8 == b'=' }
}

/// Looks for the session: its directory, as it stands in the environment. `None`: there is none.
///
/// # Safety
/// There is one thread.
pub unsafe fn find() -> Option<&'static [u8]> {
    let list = current();
    // SAFETY: libc's list.
    let count = unsafe { length(list) };
    for index in 0..count {
        // SAFETY: below the length.
        let string = unsafe { *list.add(index) };
        if is_session(string) {
            // SAFETY: the string stays where it is: on the stack, where the kernel put it.
            let value = unsafe { CStr::from_ptr(string.add(SESSION_VARIABLE.len() + 1)) };
            return Some(value.to_bytes());
        }
    }
    None
}

/// Takes our variables out, as `unsetenv` does, and gives the program its own `LD_PRELOAD` back.
///
/// # Safety
/// There is one thread. `own_path` is this library's as the loader knows it.
pub unsafe fn hide(own_path: &[u8]) {
    let list = current().cast_mut();
    // SAFETY: libc's list, which nobody else looks at now; and its strings, which are on the stack.
    unsafe {
        let count = length(list);
        let mut kept = 0;
        for index in 0..count {
            let mut string = *list.add(index);
            if is_session(string) {
                continue;
            }
            if sets(string, PRELOAD) {
                match without_us(string.cast_mut(), own_path) {
                    Some(rest) => string = rest,
                    None => continue,
                }
            }
            *list.add(kept) = string;
            kept += 1;
        }
        for index in kept..count {
            *list.add(index) = ptr::null();
        }
    }
}

/// The variable without the entry that is ours. `None`: there is no other.
///
/// # Safety
/// The string begins with `LD_PRELOAD=` and may be written to.
unsafe fn without_us(string: *mut c_char, own_path: &[u8]) -> Option<*const c_char> {
    // SAFETY: the caller vouches.
    unsafe {
        let value = string.add(PRELOAD.len());
        if !sets(value, own_path) {
            return Some(string);
        }
        let separator = value.add(own_path.len());
        if *separator == 0 {
            return None;
        }
        // The name is written again just before the rest of the value.
        let start = separator.add(1).sub(PRELOAD.len());
        ptr::copy(PRELOAD.as_ptr().cast(), start, PRELOAD.len());
        Some(start)
    }
}

/// Copies a list that was made of `origin` by [`with_ours`] without what is ours in it, to `to`,
/// which may be the list itself. A null list has nothing to copy and nowhere to go.
///
/// # Safety
/// The lists are null or end in a null; `to` has room.
pub unsafe fn copy_without_ours(list: Strings, origin: Strings, to: Strings) {
    let Some((_, preload)) = session::names() else {
        return;
    };
    let to = to.cast_mut();
    if to.is_null() {
        return;
    }
    // SAFETY: the caller vouches; no more is written than was read.
    unsafe {
        let theirs = (0..length(origin))
            .map(|index| *origin.add(index))
            .find(|&string| sets(string, PRELOAD) && !sets(string, preload.to_bytes()));
        let mut kept = 0;
        for index in 0..length(list) {
            let mut string = *list.add(index);
            if is_session(string) {
                continue;
            }
            if sets(string, preload.to_bytes()) {
                match theirs {
                    Some(theirs) => string = theirs,
                    None => continue,
                }
            }
            *to.add(kept) = string;
            kept += 1;
        }
        *to.add(kept) = ptr::null();
    }
}

/// Runs `f` with a list of variables for a program to be executed: `list`, and ours if the program
/// is to be followed, and can be.
///
/// It may be a child that borrows its parent's memory, so all of it is on the stack. Where it does
/// not fit, a piece of memory is mapped, and lost if `f` becomes the other program.
///
/// # Safety
/// `list` is null, or ends in a null; the target's string is one.
pub unsafe fn with_ours<T>(target: Target, list: Strings, f: impl FnOnce(Strings) -> T) -> T {
    let Some((variable, preload)) = session::variables() else {
        return f(list);
    };
    // SAFETY: the rest of the text is a string too, and so is the target's.
    let can_load = unsafe {
        let library = CStr::from_ptr(preload.as_ptr().add(PRELOAD.len()));
        loadable::can_load(target, library)
    };
    if !can_load {
        return f(list);
    }
    // SAFETY: passed on.
    let (count, room) = unsafe { needed(list, preload) };
    const FEW: usize = 128;
    const MANY: usize = 1024;
    let ours = (variable, preload);
    // SAFETY: passed on; each has the room that is needed.
    unsafe {
        match (count, room) {
            (..=FEW, ..=512) => on_stack::<FEW, 512, T>(list, ours, f),
            (..=MANY, ..=8192) => on_stack::<MANY, 8192, T>(list, ours, f),
            _ => mapped(list, ours, (count, room), f),
        }
    }
}

/// How many entries the new list has at most, its end included, and how many bytes the strings
/// need that are made anew.
///
/// # Safety
/// `list` is null, or ends in a null.
unsafe fn needed(list: Strings, preload: &CStr) -> (usize, usize) {
    // SAFETY: the caller vouches.
    unsafe {
        let count = length(list);
        let longest = (0..count)
            .map(|index| *list.add(index))
            .filter(|&string| sets(string, PRELOAD))
            .map(|string| CStr::from_ptr(string).to_bytes().len())
            .max();
        let room = longest.map_or(0, |longest| longest + preload.to_bytes().len() + 2);
        (count + 3, room)
    }
}

/// # Safety
/// As for `with_ours`; there is the room that is needed.
#[inline(never)]
unsafe fn on_stack<const LIST: usize, const TEXT: usize, T>(
    list: Strings,
    ours: (&CStr, &CStr),
    f: impl FnOnce(Strings) -> T,
) -> T {
    let mut entries = [const { MaybeUninit::<*const c_char>::uninit() }; LIST];
    let mut text = [const { MaybeUninit::<u8>::uninit() }; TEXT];
    // SAFETY: nothing is read that was not written: `fill` writes before it reads.
    unsafe {
        let text = slice::from_raw_parts_mut(text.as_mut_ptr().cast::<u8>(), TEXT);
        fill(list, ours, entries.as_mut_ptr().cast(), text);
    }
    f(entries.as_ptr().cast())
}

/// # Safety
/// As for `on_stack`.
#[cold]
unsafe fn mapped<T>(
    list: Strings,
    ours: (&CStr, &CStr),
    (count, room): (usize, usize),
    f: impl FnOnce(Strings) -> T,
) -> T {
    let bytes = count * size_of::<*const c_char>() + room;
    let Some(memory) = files::map_zeroed(bytes) else {
        return f(list);
    };
    let entries = memory.as_ptr().cast::<*const c_char>();
    // SAFETY: the mapping is as long as both.
    unsafe {
        let text = slice::from_raw_parts_mut(entries.add(count).cast::<u8>(), room);
        fill(list, ours, entries, text);
    }
    let result = f(entries);
    // SAFETY: ours, and `f` is done with it.
    unsafe { files::unmap(memory, bytes) };
    result
}

/// Writes the new list. The program's variables keep their order, and ours come last: so a
/// program that looks at where the strings lie finds its own next to each other.
///
/// # Safety
/// `entries` has room for the list and three more, and `text` for its `LD_PRELOAD` joined to ours.
pub unsafe fn fill(
    list: Strings,
    (variable, preload): (&CStr, &CStr),
    entries: *mut *const c_char,
    text: &mut [u8],
) -> usize {
    let ours = preload.to_bytes();
    let mut at = 0;
    let mut has_preload = false;
    // SAFETY: the caller vouches for the room.
    unsafe {
        for index in 0..length(list) {
            let mut string = *list.add(index);
            if is_session(string) {
                continue;
            }
            if !has_preload && sets(string, PRELOAD) {
                has_preload = true;
                let theirs = CStr::from_ptr(string).to_bytes();
                let value = theirs.get(PRELOAD.len()..).unwrap_or(b"");
                if !theirs.starts_with(ours)
                    && let Some(joined) = session::join(text, &[ours, b":", value])
                {
                    string = joined.as_ptr();
                }
            }
            *entries.add(at) = string;
            at += 1;
        }
        if !has_preload {
            *entries.add(at) = preload.as_ptr();
            at += 1;
        }
        *entries.add(at) = variable.as_ptr();
        *entries.add(at + 1) = ptr::null();
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    const OURS: (&CStr, &CStr) = (c"PROFUNDO_SESSION=/s", c"LD_PRELOAD=/agent.so");

    fn filled(list: &[&str]) -> Vec<String> {
        let strings: Vec<CString> = list.iter().map(|&s| CString::new(s).unwrap()).collect();
        let mut pointers: Vec<*const c_char> = strings.iter().map(|s| s.as_ptr()).collect();
        pointers.push(ptr::null());
        let mut entries = vec![ptr::null(); list.len() + 3];
        let mut text = [0; 256];
        // SAFETY: there is the room that is asked for.
        unsafe {
            let count = fill(pointers.as_ptr(), OURS, entries.as_mut_ptr(), &mut text);
            assert!(entries[count].is_null());
            entries[..count]
                .iter()
                .map(|&entry| CStr::from_ptr(entry).to_str().unwrap().to_owned())
                .collect()
        }
    }

    #[test]
    fn ours_come_last_and_what_is_there_keeps_its_order() {
        let ours = ["LD_PRELOAD=/agent.so", "PROFUNDO_SESSION=/s"];
        assert_eq!(filled(&[]), ours);
        assert_eq!(
            filled(&["A=1", "B=2"]),
            [&["A=1", "B=2"], &ours[..]].concat()
        );
    }

    #[test]
    fn the_programs_own_preload_comes_after_ours() {
        assert_eq!(
            filled(&["LD_PRELOAD=/their.so", "A=1"]),
            [
                "LD_PRELOAD=/agent.so:/their.so",
                "A=1",
                "PROFUNDO_SESSION=/s"
            ]
        );
        // What is there already is not put there twice.
        assert_eq!(
            filled(&["LD_PRELOAD=/agent.so:/their.so", "PROFUNDO_SESSION=/s"]),
            ["LD_PRELOAD=/agent.so:/their.so", "PROFUNDO_SESSION=/s"]
        );
        assert_eq!(
            filled(&["LD_PRELOAD=", "PROFUNDO_SESSION_OTHER=1"]),
            [
                "LD_PRELOAD=/agent.so:",
                "PROFUNDO_SESSION_OTHER=1",
                "PROFUNDO_SESSION=/s"
            ]
        );
    }

    #[test]
    fn our_entry_is_taken_out_of_the_preload() {
        let rest = |string: &str| {
            let string = CString::new(string).unwrap().into_raw();
            // SAFETY: the string begins as it must and is our own.
            unsafe {
                let rest = without_us(string, b"/agent.so");
                let rest = rest.map(|rest| CStr::from_ptr(rest).to_str().unwrap().to_owned());
                drop(CString::from_raw(string.cast()));
                rest
            }
        };
        assert_eq!(rest("LD_PRELOAD=/agent.so"), None);
        assert_eq!(
            rest("LD_PRELOAD=/their.so").as_deref(),
            Some("LD_PRELOAD=/their.so")
        );
    }

    #[test]
    fn theirs_is_written_in_place_of_ours() {
        let mut string = b"LD_PRELOAD=/agent.so:/a.so:/b.so\0".to_vec();
        // SAFETY: the string begins as it must and is our own.
        let rest = unsafe {
            let rest = without_us(string.as_mut_ptr().cast(), b"/agent.so").unwrap();
            CStr::from_ptr(rest).to_bytes().to_vec()
        };
        assert_eq!(rest, b"LD_PRELOAD=/a.so:/b.so");
    }
}
