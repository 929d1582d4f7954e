//! Which desk the calling thread has: a word in its own static block, which is found by two instructions.

use core::arch::{asm, global_asm};
use core::cell::Cell;

use super::desk::Desk;

global_asm!(
    ".pushsection .tbss.profundo_desk, \"awT\", @nobits",
    ".balign 8",
    ".hidden profundo_desk",
    ".globl profundo_desk",
    ".type profundo_desk, @object",
    ".size profundo_desk, 8",
    "profundo_desk:",
    ".zero 8",
    ".popsection",
);

#[inline(always)]
fn own() -> &'static Cell<*const Desk> {
    let address: *const Cell<*const Desk>;
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
    // SAFETY: only this thread and its handlers reach it, through a cell, and null is a valid pointer.
    unsafe { &*address }
}

/// The thread's desk; null if it has none yet.
#[inline(always)]
pub fn desk() -> *const Desk {
    own().get()
}

/// Gives it another one.
pub fn set_desk(desk: *const Desk) {
    own().set(desk);
}
