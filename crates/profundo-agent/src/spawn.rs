//! Starting other programs: they are followed, as by `exec`.

use core::ffi::{c_char, c_int};

use libc::{pid_t, posix_spawn_file_actions_t, posix_spawnattr_t};

use crate::loadable::Target;
use crate::next_symbols::{self, Strings};
use crate::{environment, signals};

macro_rules! spawns {
    ($($name:ident($id:ty, $target:ident);)*) => {$(
        /// # Safety
        /// As for the C library's function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            id: *mut $id,
            path: *const c_char,
            actions: *const posix_spawn_file_actions_t,
            attributes: *const posix_spawnattr_t,
            arguments: Strings,
            list: Strings,
        ) -> c_int {
            let Some(real) = next_symbols::$name() else {
                return libc::ENOSYS;
            };
            // SAFETY: the caller's arguments, passed on.
            unsafe {
                environment::with_ours(Target::$target(path), list, |list| {
                    let signals = signals::before_spawn();
                    let result = real(id, path, actions, attributes, arguments, list);
                    signals::after_spawn(signals);
                    result
                })
            }
        }
    )*};
}

spawns! {
    posix_spawn(pid_t, Path);
    posix_spawnp(pid_t, Name);
    pidfd_spawn(c_int, Path);
    pidfd_spawnp(c_int, Name);
}
