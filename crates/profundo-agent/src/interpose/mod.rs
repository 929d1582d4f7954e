//! The functions that interpose those of the same name in the C library and the C++ runtime, one
//! file for each subject.
//!
//! Most are rows of [`interpose`]. Those that must leave the caller's stack and registers as they
//! are begin with instructions of their own: `execl` and its like, [`syscalls`], [`memory`] and
//! [`native_calls`]. The work is done in other modules; only the program calls these functions.

pub mod ends;
pub mod exec;
pub mod files;
mod loading;
pub mod masks;
pub mod memory;
mod native_calls;
pub mod restrict;
pub mod shell;
pub mod signals;
pub mod spawn;
pub mod syscalls;
pub mod threads;
pub mod trace;
pub mod waits;

/// Makes functions that the program calls in place of the C library's.
///
/// A row is the signature of the function as the C library has it, and a body. With `let next =
/// NAME or RESULT;` as its first line a body calls the next function of that name, and `RESULT` is
/// returned where there is none.
///
/// ```text
/// interpose! {
///     extern "C" fn sigignore(signal: c_int) -> c_int {
///         let next = sigignore or missing();
///         next(signal)
///     }
/// }
/// ```
///
/// Where the next function may unwind (cancellation of a thread, an exception), it needs `extern
/// "C-unwind"`.
macro_rules! interpose {
    ($(
        $(#[$meta:meta])*
        extern $abi:literal fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty { $($body:tt)* }
    )*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// As for the function of the C library that has this name.
        #[unsafe(no_mangle)]
        pub unsafe extern $abi fn $name($($argument: $type),*) -> $result {
            $crate::interpose::body! { $($body)* }
        }
    )*};
}

/// The body of a row of [`interpose`].
macro_rules! body {
    (let $next:ident = $name:ident or $missing:expr; $($body:tt)*) => {
        let Some($next) = $crate::next_symbols::$name() else {
            return $missing;
        };
        $crate::interpose::body! { $($body)* }
    };
    ($($body:tt)*) => {
        // SAFETY: the program keeps to the contract of the function that it means to call. These
        // are its arguments: their pointers are valid, also for the next function, which gets them
        // or their replacements.
        #[allow(unused_unsafe, reason = "some bodies are safe")]
        unsafe { $($body)* }
    };
}

use {body, interpose};
