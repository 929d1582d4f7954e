//! Starting other programs: they are followed, as by `exec`.

use core::ffi::{c_char, c_int};

use libc::{pid_t, posix_spawn_file_actions_t, posix_spawnattr_t};

use crate::environment;
use crate::interpose::interpose;
use crate::loadable::Target;
use crate::next_symbols::Strings;
use crate::signals::actions;

/// The functions of this kind differ in what they report of the child, and in how they find the
/// program.
macro_rules! spawns {
    ($($name:ident($id:ty, $target:ident);)*) => {
        interpose! {$(
            extern "C" fn $name(
                id: *mut $id,
                path: *const c_char,
                actions: *const posix_spawn_file_actions_t,
                attributes: *const posix_spawnattr_t,
                arguments: Strings,
                list: Strings,
            ) -> c_int {
                let next = $name or libc::ENOSYS;
                environment::with_ours(Target::$target(path), list, |list| {
                    let undo = actions::before_spawn();
                    let result = next(id, path, actions, attributes, arguments, list);
                    actions::after_spawn(undo);
                    result
                })
            }
        )*}
    };
}

spawns! {
    posix_spawn(pid_t, Path);
    posix_spawnp(pid_t, Name);
    pidfd_spawn(c_int, Path);
    pidfd_spawnp(c_int, Name);
}
