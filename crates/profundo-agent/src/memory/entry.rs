//! The first instructions of our functions: they record their caller's registers.
//!
//! A recorded stack begins with the program's own frame, so that no frame of ours has to be walked.
//! Only the first instruction of a function still sees the registers as its caller left them, which
//! no compiled code can. They are passed on as further arguments, in what the function's own leave
//! of those registers, and if they leave too few, on the stack.

/// Functions that continue in another one, which gets the caller's registers as arguments after
/// this many others. For this macro and those below: with `export` first, the program calls the
/// functions by their names, in place of the C library's.
macro_rules! entries {
    (export $($name:ident($arguments:tt) => $inner:path;)*) => {
        $crate::memory::entry::entries! {$(
            /// # Safety
            /// As for the function of the C library that has this name.
            #[unsafe(no_mangle)]
            pub $name($arguments) => $inner;
        )*}
    };
    ($($(#[$meta:meta])* $visible:vis $name:ident($arguments:tt) => $inner:path;)*) => {$(
        $(#[$meta])*
        #[unsafe(naked)]
        $visible unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                $crate::machine::pass_caller!($arguments),
                $crate::machine::jump!("{inner}"),
                ".cfi_endproc",
                inner = sym $inner,
            )
        }
    )*};
}

/// As above, for functions whose own arguments may take all registers: the others come as the
/// seventh and so on.
macro_rules! wide_entries {
    (export $($name:ident => $inner:path;)*) => {$(
        /// # Safety
        /// As for the function of the C library that has this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                $crate::machine::pass_caller_to_wide!(),
                ".cfi_endproc",
                inner = sym $inner,
            )
        }
    )*};
}

/// As `entries`, for functions that mostly only subtract the bytes from the thread's budget, and
/// continue in the real one: that takes no more than a few instructions. The first of them find the
/// number of bytes, the last ones go to the real function, and both may go to `5` instead, which
/// is the function that is called otherwise; where every block counts it is at once.
macro_rules! counting_entries {
    (export $($name:ident($arguments:tt: $bytes:expr) =>
        $go_on:expr, $operands:tt, $inner:path;)*) => {
        $crate::memory::entry::counting_entries! {$(
            /// # Safety
            /// As for the function of the C library that has this name.
            #[unsafe(no_mangle)]
            pub $name($arguments: $bytes) => $go_on, $operands, $inner;
        )*}
    };
    ($($(#[$meta:meta])* $visible:vis $name:ident($arguments:tt: $bytes:expr) =>
        $go_on:expr, { $($operands:tt)* }, $inner:path;)*) => {$(
        $(#[$meta])*
        #[unsafe(naked)]
        $visible unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                $crate::machine::subtract_and_go_on!($bytes, $go_on),
                $crate::machine::pass_caller!($arguments),
                $crate::machine::jump!("{inner}"),
                ".cfi_endproc",
                $($operands)*
                exact = sym $crate::memory::state::IS_EXACT,
                left = const $crate::memory::local::LEFT,
                inner = sym $inner,
            )
        }
    )*};
}

/// Functions that free the block in a register. Mostly it is not followed: one load shows that, and
/// they continue in the real one.
macro_rules! freeing_entries {
    (export $($name:ident($block:tt) => $go_on:expr, $operands:tt, $inner:path;)*) => {
        $crate::memory::entry::freeing_entries! {$(
            /// # Safety
            /// As for the function of the C library that has this name.
            #[unsafe(no_mangle)]
            pub $name($block) => $go_on, $operands, $inner;
        )*}
    };
    ($($(#[$meta:meta])* $visible:vis $name:ident($block:tt) =>
        $go_on:expr, { $($operands:tt)* }, $inner:path;)*) => {$(
        $(#[$meta])*
        #[unsafe(naked)]
        $visible unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                $crate::machine::go_on_unless_followed!($block, $go_on),
                $crate::machine::jump!("{inner}"),
                ".cfi_endproc",
                $($operands)*
                hash = const profundo_probe::heap::followed::HASH,
                shift = const profundo_probe::heap::followed::FEW_SHIFT,
                few = sym $crate::memory::state::FEW,
                inner = sym $inner,
            )
        }
    )*};
}

pub(crate) use crate::machine::caller;
pub(crate) use {counting_entries, entries, freeing_entries, wide_entries};
