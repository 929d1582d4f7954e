//! Calls by which a program executes another one: the next program is followed as well.
//!
//! They may be made by a child that borrows its parent's memory (`vfork`), so they write nothing
//! but their own stack. When one fails, everything goes on as before.

use core::arch::naked_asm;
use core::ffi::{c_char, c_int};
use core::mem::MaybeUninit;

use profundo_probe::sys;

use crate::interpose::interpose;
use crate::late::within;
use crate::loadable::Target;
use crate::next_symbols::{self, Strings, missing};
use crate::{environment, files, lifecycle, variables};

interpose! {
    extern "C" fn execve(path: *const c_char, arguments: Strings, list: Strings) -> c_int {
        let next = execve or missing();
        replace(Target::Path(path), list, |list| next(path, arguments, list))
    }

    extern "C" fn execv(path: *const c_char, arguments: Strings) -> c_int {
        execve(path, arguments, variables::current())
    }

    extern "C" fn execvpe(file: *const c_char, arguments: Strings, list: Strings) -> c_int {
        let next = execvpe or missing();
        replace(Target::Name(file), list, |list| next(file, arguments, list))
    }

    extern "C" fn execvp(file: *const c_char, arguments: Strings) -> c_int {
        execvpe(file, arguments, variables::current())
    }

    extern "C" fn fexecve(file: c_int, arguments: Strings, list: Strings) -> c_int {
        let next = fexecve or missing();
        replace(Target::File(file), list, |list| next(file, arguments, list))
    }

    extern "C" fn execveat(
        directory: c_int,
        path: *const c_char,
        arguments: Strings,
        list: Strings,
        flags: c_int,
    ) -> c_int {
        let target = target_at(directory, path);
        replace(target, list, |list| match next_symbols::execveat() {
            Some(next) => next(directory, path, arguments, list, flags),
            // A program may call it by its number, where the C library has no such function.
            None => execute_at(directory, path, arguments, list, flags),
        })
    }
}

/// As the system call of this name, with the error in `errno`.
///
/// # Safety
/// As for `execveat`.
unsafe fn execute_at(
    directory: c_int,
    path: *const c_char,
    arguments: Strings,
    list: Strings,
    flags: c_int,
) -> c_int {
    let (words, list) = (arguments as usize, list as usize);
    let all = [
        directory as usize,
        path as usize,
        words,
        list,
        flags as usize,
        0,
    ];
    // SAFETY: the caller vouches; the kernel looks at the strings itself.
    let error = unsafe { sys::call(libc::SYS_execveat, all) };
    next_symbols::set_errno(-error as c_int);
    -1
}

/// The target of `execveat`, in the cases that are simple to express.
///
/// # Safety
/// `path` is null or a string.
unsafe fn target_at(directory: c_int, path: *const c_char) -> Target {
    // SAFETY: the caller vouches.
    match unsafe { path.as_ref() } {
        Some(0) => Target::File(directory),
        Some(&first) if first as u8 == b'/' || directory == libc::AT_FDCWD => Target::Path(path),
        _ => Target::Path(core::ptr::null()),
    }
}

/// Executes with the program's variables and ours. The next program of a process that records
/// itself begins without us: it has no part in the recording, and may make its own.
///
/// # Safety
/// `list` is null or ends in a null; the target's string is one.
unsafe fn replace(target: Target, list: Strings, next: impl FnOnce(Strings) -> c_int) -> c_int {
    if within::has_joined() {
        return lifecycle::exec(|| next(list));
    }
    // SAFETY: as the caller says.
    unsafe { environment::with_ours(target, list, |list| lifecycle::exec(|| next(list))) }
}

/// The function that executes a list of arguments.
#[derive(Clone, Copy)]
#[repr(usize)]
enum ListCall {
    Path = 0,
    PathWithVariables = 1,
    File = 2,
}

/// `execl` and its like have their arguments one by one: some in registers, the others on the
/// stack. They are put into a list, which is executed.
macro_rules! from_list {
    ($name:ident, $call:literal) => {
        /// # Safety
        /// As for the C library's function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() -> c_int {
            naked_asm!(
                ".cfi_startproc",
                crate::machine::call_with_list!(),
                ".cfi_endproc",
                call = const $call as usize,
                list = sym exec_list,
            )
        }
    };
}

from_list!(execl, 0);
from_list!(execle, 1);
from_list!(execlp, 2);

const _: () = {
    assert!(ListCall::Path as usize == 0);
    assert!(ListCall::PathWithVariables as usize == 1);
    assert!(ListCall::File as usize == 2);
};

/// The number of arguments that come in registers.
const REGISTERS: usize = crate::machine::LIST_REGISTERS;

/// # Safety
/// Called by the functions above only: `registers` are the first arguments after the path, `stack`
/// those after them, and there is a null among them.
unsafe extern "C" fn exec_list(
    path: *const c_char,
    registers: Strings,
    stack: Strings,
    call: usize,
) -> c_int {
    const FEW: usize = 128;
    const MOST: usize = 1 << 20;
    let argument = |index: usize| {
        // SAFETY: not beyond the null.
        unsafe {
            if index < REGISTERS {
                *registers.add(index)
            } else {
                *stack.add(index - REGISTERS)
            }
        }
    };
    let count = (0..MOST)
        .find(|&index| argument(index).is_null())
        .unwrap_or(0);
    let list = if call == ListCall::PathWithVariables as usize {
        argument(count + 1).cast()
    } else {
        variables::current()
    };
    let execute = |arguments| {
        // SAFETY: the caller's arguments, passed on.
        unsafe {
            if call == ListCall::File as usize {
                execvpe(path, arguments, list)
            } else {
                execve(path, arguments, list)
            }
        }
    };
    let fill = |arguments: *mut *const c_char| {
        for index in 0..=count {
            // SAFETY: there is room for the arguments and the null.
            unsafe { *arguments.add(index) = argument(index) };
        }
    };
    if count < FEW {
        let mut room = [const { MaybeUninit::<*const c_char>::uninit() }; FEW];
        fill(room.as_mut_ptr().cast());
        return execute(room.as_ptr().cast());
    }
    let bytes = (count + 1) * size_of::<*const c_char>();
    let Some(memory) = files::map_zeroed(bytes) else {
        next_symbols::set_errno(libc::ENOMEM);
        return -1;
    };
    fill(memory.as_ptr().cast());
    let result = execute(memory.as_ptr().cast());
    // SAFETY: ours, and not in use any more.
    unsafe { files::unmap(memory, bytes) };
    result
}
