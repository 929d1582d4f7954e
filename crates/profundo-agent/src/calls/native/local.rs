//! Which desk the calling thread has: a word in its own static block, which is found by two instructions. Beside it stands how many calls
//! of a thread without one were not counted.

use core::arch::{asm, global_asm};
use core::cell::Cell;

use super::thread_tree::Desk;

global_asm!(
    ".pushsection .tbss.profundo_desk, \"awT\", @nobits",
    ".balign 8",
    ".hidden profundo_desk",
    ".globl profundo_desk",
    ".type profundo_desk, @object",
    ".size profundo_desk, 16",
    "profundo_desk:",
    ".zero 16",
    ".popsection",
);

/// What a thread has, all zero at first.
#[repr(C)]
struct Own {
    desk: Cell<*const Desk>,
    missed: Cell<u64>,
}

#[inline(always)]
fn own() -> &'static Own {
    let address: *const Own;
    // SAFETY: `fs:0` holds the thread pointer, and the offset from it is in the table that the linker has made for that. Nothing is
    // written.
    unsafe {
        asm!(
            "mov {address}, qword ptr fs:[0]",
            "add {address}, qword ptr [rip + profundo_desk@GOTTPOFF]",
            address = out(reg) address,
            options(nostack, readonly),
        );
    }
    // SAFETY: only this thread and its handlers reach it, through cells, and zeros are valid ones. It is as large as that.
    unsafe { &*address }
}

const _: () = assert!(size_of::<Own>() == 16);

/// The thread's desk; null if it has none yet.
#[inline(always)]
pub fn desk() -> *const Desk {
    own().desk.get()
}

/// Gives it another one.
pub fn set_desk(desk: *const Desk) {
    own().desk.set(desk);
}

/// How many of its calls were not counted.
pub fn missed() -> &'static Cell<u64> {
    &own().missed
}
