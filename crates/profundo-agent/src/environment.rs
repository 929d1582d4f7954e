//! The environment: our variables are hidden from the program, and passed on to programs that it
//! executes.

use core::ffi::{CStr, c_char};
use core::mem::MaybeUninit;
use core::{ptr, slice};

use profundo_probe::loading::{self, Verdict};
use profundo_probe::shared::SESSION_VARIABLE;

use crate::loadable::{self, Target};
use crate::next_symbols::Strings;
use crate::variables::{self, length, sets, value_in};
use crate::{files, session};

const PRELOAD: &[u8] = b"LD_PRELOAD=";

fn is_session(string: *const c_char) -> bool {
    let name = SESSION_VARIABLE.as_bytes();
    // SAFETY: lists hold strings only; the `=` is looked at after the name was found.
    unsafe { sets(string, name) && *string.add(name.len()) as u8 == b'=' }
}

/// Finds the session's directory in the environment. `None`: there is none.
///
/// # Safety
/// There is one thread.
pub unsafe fn find() -> Option<&'static [u8]> {
    let list = variables::current();
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

/// Removes our variables, as `unsetenv` does, and gives the program its own `LD_PRELOAD` back.
/// Returns whether the agent stood behind the runtime of a sanitizer.
///
/// # Safety
/// There is one thread. `own_path` is this library's as the loader knows it.
pub unsafe fn hide(own_path: &[u8]) -> bool {
    let list = variables::current().cast_mut();
    let mut is_behind = false;
    // SAFETY: libc's list, which no other code looks at now; and its strings, which are on the
    // stack.
    unsafe {
        let count = length(list);
        let mut kept = 0;
        for index in 0..count {
            let mut string = *list.add(index);
            if is_session(string) {
                continue;
            }
            if sets(string, PRELOAD) {
                let value = CStr::from_ptr(string.add(PRELOAD.len())).to_bytes();
                is_behind |= loading::take_out(value, own_path).is_behind;
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
    is_behind
}

/// The variable without our part. `None`: there was no other part.
///
/// # Safety
/// The string begins with `LD_PRELOAD=` and may be written to.
unsafe fn without_us(string: *mut c_char, own_path: &[u8]) -> Option<*const c_char> {
    // SAFETY: the caller vouches; theirs is a part of the value, so what is written lies in the
    // string.
    unsafe {
        let value = string.add(PRELOAD.len());
        let all = CStr::from_ptr(value).to_bytes();
        let theirs = loading::take_out(all, own_path).theirs?;
        let offset = theirs.as_ptr().offset_from(all.as_ptr()) as usize;
        let length = theirs.len();
        *value.add(offset + length) = 0;
        // The name is written again just before the rest of the value.
        let start = string.add(offset);
        ptr::copy(PRELOAD.as_ptr().cast(), start, PRELOAD.len());
        Some(start)
    }
}

/// Copies a list that [`with_ours`] made of `origin`, without our entries, to `to`, which may be
/// the list itself. A null list is not copied.
///
/// # Safety
/// The lists are null or end in a null; `to` has room.
pub unsafe fn copy_without_ours(list: Strings, origin: Strings, to: Strings) {
    let Some((_, preload)) = session::names() else {
        return;
    };
    let agent = preload.to_bytes().get(PRELOAD.len()..).unwrap_or(b"");
    let to = to.cast_mut();
    if to.is_null() {
        return;
    }
    // SAFETY: the caller vouches; no more is written than was read.
    unsafe {
        let has_ours = |string: *const c_char| {
            sets(string, PRELOAD) && {
                let value = CStr::from_ptr(string.add(PRELOAD.len())).to_bytes();
                loading::take_out(value, agent).theirs != Some(value)
            }
        };
        let theirs = (0..length(origin))
            .map(|index| *origin.add(index))
            .find(|&string| sets(string, PRELOAD) && !has_ours(string));
        let mut kept = 0;
        for index in 0..length(list) {
            let mut string = *list.add(index);
            if is_session(string) {
                continue;
            }
            if has_ours(string) {
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
/// It may be a child that borrows its parent's memory, so all of it is on the stack. If it does not
/// fit, memory is mapped, which is lost if `f` becomes the other program.
///
/// # Safety
/// `list` is null, or ends in a null; the target's string is one.
pub unsafe fn with_ours<T>(target: Target, list: Strings, f: impl FnOnce(Strings) -> T) -> T {
    let Some((variable, preload)) = session::variables() else {
        return f(list);
    };
    // SAFETY: the rest of the text is a string too, and so is the target's.
    let verdict = unsafe {
        let library = CStr::from_ptr(preload.as_ptr().add(PRELOAD.len()));
        loadable::judge(target, list, library)
    };
    if let Verdict::Nothing(_) = verdict {
        return f(list);
    }
    let ours = Ours {
        variable,
        preload,
        verdict,
    };
    // SAFETY: passed on.
    let (count, room) = unsafe { needed(list, &ours) };
    const FEW: usize = 128;
    const MANY: usize = 1024;
    // SAFETY: passed on; each has the room that is needed.
    unsafe {
        match (count, room) {
            (..=FEW, ..=512) => on_stack::<FEW, 512, T>(list, &ours, f),
            (..=MANY, ..=8192) => on_stack::<MANY, 8192, T>(list, &ours, f),
            _ => mapped(list, &ours, count, room, f),
        }
    }
}

/// Our entries of a list of variables.
struct Ours<'a> {
    /// `PROFUNDO_SESSION=…`.
    variable: &'a CStr,
    /// `LD_PRELOAD=` and the agent's path.
    preload: &'a CStr,
    /// The place of the agent's path in `LD_PRELOAD`.
    verdict: Verdict,
}

/// The most entries of the new list, its end included, and the bytes of its new strings.
///
/// # Safety
/// `list` is null, or ends in a null.
unsafe fn needed(list: Strings, ours: &Ours<'_>) -> (usize, usize) {
    // SAFETY: the caller vouches.
    unsafe {
        let count = length(list);
        let longest = (0..count)
            .map(|index| *list.add(index))
            .filter(|&string| sets(string, PRELOAD))
            .map(|string| CStr::from_ptr(string).to_bytes().len())
            .max();
        let agent = ours.preload.to_bytes().len();
        let room = match (longest, ours.verdict) {
            (None, Verdict::First) => 0,
            (longest, _) => loading::room_for(longest.unwrap_or(0), agent),
        };
        (count + 3, room)
    }
}

/// # Safety
/// As for `with_ours`; there is the room that is needed.
#[inline(never)]
unsafe fn on_stack<const LIST: usize, const TEXT: usize, T>(
    list: Strings,
    ours: &Ours<'_>,
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
    ours: &Ours<'_>,
    count: usize,
    room: usize,
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
/// `entries` has room for the list and three more, and `text` as much as is needed.
unsafe fn fill(
    list: Strings,
    ours: &Ours<'_>,
    entries: *mut *const c_char,
    text: &mut [u8],
) -> usize {
    let agent = ours.preload.to_bytes().get(PRELOAD.len()..).unwrap_or(b"");
    let mut at = 0;
    // SAFETY: the caller vouches for the list and the room.
    unsafe {
        let theirs = value_in(list, PRELOAD);
        let joined = match (theirs, ours.verdict) {
            (None, Verdict::First) => Some(ours.preload),
            _ => joined(text, theirs, agent, ours.verdict),
        };
        let mut preload = joined.map(CStr::as_ptr);
        for index in 0..length(list) {
            let mut string = *list.add(index);
            if is_session(string) {
                continue;
            }
            if sets(string, PRELOAD)
                && let Some(joined) = preload.take()
            {
                string = joined;
            }
            *entries.add(at) = string;
            at += 1;
        }
        if let Some(preload) = preload {
            *entries.add(at) = preload;
            at += 1;
        }
        *entries.add(at) = ours.variable.as_ptr();
        *entries.add(at + 1) = ptr::null();
    }
    at + 1
}

/// Writes the variable that names the preloaded libraries. `None`: there is no room.
fn joined<'t>(
    text: &'t mut [u8],
    theirs: Option<&[u8]>,
    agent: &[u8],
    verdict: Verdict,
) -> Option<&'t CStr> {
    text.get_mut(..PRELOAD.len())?.copy_from_slice(PRELOAD);
    let room = text.get_mut(PRELOAD.len()..)?;
    let length = loading::compose(verdict, theirs, agent, room)?;
    *room.get_mut(length)? = 0;
    CStr::from_bytes_with_nul(text.get(..=PRELOAD.len() + length)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    const OURS: Ours<'static> = Ours {
        variable: c"PROFUNDO_SESSION=/s",
        preload: c"LD_PRELOAD=/agent.so",
        verdict: Verdict::First,
    };

    fn filled(list: &[&str]) -> Vec<String> {
        let strings: Vec<CString> = list.iter().map(|&s| CString::new(s).unwrap()).collect();
        let mut pointers: Vec<*const c_char> = strings.iter().map(|s| s.as_ptr()).collect();
        pointers.push(ptr::null());
        let mut entries = vec![ptr::null(); list.len() + 3];
        let mut text = [0; 256];
        // SAFETY: there is the room that is asked for.
        unsafe {
            let count = fill(pointers.as_ptr(), &OURS, entries.as_mut_ptr(), &mut text);
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
        // An agent that is in the list already is not added twice.
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
