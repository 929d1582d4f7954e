//! Lists of variables, such as the program's environment: they are read, or replaced as a whole.

use core::ffi::{CStr, c_char};

use crate::next_symbols::Strings;

/// The longest list; a damaged one ends here.
const MOST: usize = 1 << 20;

unsafe extern "C" {
    #[link_name = "environ"]
    static mut ENVIRON: *mut *mut c_char;
}

/// The program's environment now.
pub fn current() -> Strings {
    // SAFETY: libc's variable; a word is read.
    unsafe { (&raw const ENVIRON).read().cast() }
}

/// Sets another list.
///
/// # Safety
/// `list` is a list of variables with a null at its end, and stays as long as it is in use.
pub unsafe fn set_current(list: Strings) {
    // SAFETY: libc's variable; a word is written.
    unsafe { (&raw mut ENVIRON).write(list.cast_mut().cast()) };
}

/// The number of strings in a list.
///
/// # Safety
/// `list` is null, or ends in a null.
pub unsafe fn length(list: Strings) -> usize {
    if list.is_null() {
        return 0;
    }
    // SAFETY: the caller vouches.
    (0..MOST)
        .find(|&index| unsafe { (*list.add(index)).is_null() })
        .unwrap_or(0)
}

/// True if a string sets a variable. `name` is its name, up to and with the `=`.
///
/// # Safety
/// `string` ends in a NUL.
pub unsafe fn sets(string: *const c_char, name: &[u8]) -> bool {
    // SAFETY: the caller vouches; it is not read beyond its NUL.
    name.iter()
        .enumerate()
        .all(|(index, &byte)| unsafe { *string.add(index) } as u8 == byte)
}

/// The value of a variable of the program's, whose name is given with its `=`.
pub fn value(name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: libc's list and its strings. Another thread that changes them now is the program's
    // own bug, since the interposed call reads them as well.
    unsafe { value_in(current(), name) }
}

/// The value of a variable of a list, whose name is given with its `=`.
///
/// # Safety
/// The list is null or ends in a null, and is there as long as the value is used.
pub unsafe fn value_in<'a>(list: Strings, name: &[u8]) -> Option<&'a [u8]> {
    // SAFETY: the caller vouches.
    unsafe {
        (0..length(list))
            .map(|index| *list.add(index))
            .find(|&string| sets(string, name))
            .map(|string| CStr::from_ptr(string.add(name.len())).to_bytes())
    }
}
