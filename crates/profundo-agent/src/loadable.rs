//! The check that a program which is about to be executed can load the agent: the agent's side of
//! [`profundo_probe::loading`].

use core::ffi::{CStr, c_char, c_int};

use profundo_probe::loading::{self, Surroundings, Verdict, Why};

use crate::next_symbols::Strings;
use crate::{files, variables};

/// The program to be executed.
#[derive(Clone, Copy)]
pub enum Target {
    /// The file at a path.
    Path(*const c_char),
    /// A name to be looked for in `PATH`, or a path.
    Name(*const c_char),
    /// An open file.
    File(c_int),
}

/// Judges the target, which will have these variables. The agent's file is `library`: a program
/// that runs as another user may not be permitted to read it, and in a container it may not be
/// permitted to be executed.
///
/// # Safety
/// The target's string is one; the list is null or ends in a null.
pub unsafe fn judge(target: Target, list: Strings, library: &CStr) -> Verdict {
    if !files::is_loadable(library) {
        return Verdict::Nothing(Why::Foreign);
    }
    // SAFETY: the caller vouches; null is for the kernel to refuse.
    unsafe {
        let string = |string: *const c_char| (!string.is_null()).then(|| CStr::from_ptr(string));
        let target = match target {
            Target::File(file) => loading::Target::File(file),
            Target::Path(path) => {
                string(path).map_or(loading::Target::Unknown, loading::Target::Path)
            }
            Target::Name(name) => {
                string(name).map_or(loading::Target::Unknown, loading::Target::Name)
            }
        };
        let surroundings = Surroundings {
            // The caller's, by which the file is looked for.
            path: variables::value(b"PATH="),
            library_path: variables::value_in(list, b"LD_LIBRARY_PATH="),
        };
        loading::judge(target, &surroundings)
    }
}
