//! Which thread tree the calling thread has: a word in its own static block, which is found by two instructions. Beside it stands how many calls
//! of a thread without one were not counted.

use core::arch::{asm, global_asm};
use core::cell::Cell;

use super::thread_tree::ThreadTree;

global_asm!(
    ".pushsection .tbss.profundo_thread_tree, \"awT\", @nobits",
    ".balign 8",
    ".hidden profundo_thread_tree",
    ".globl profundo_thread_tree",
    ".type profundo_thread_tree, @object",
    ".size profundo_thread_tree, 16",
    "profundo_thread_tree:",
    ".zero 16",
    ".popsection",
);

/// What a thread has, all zero at first.
#[repr(C)]
struct Own {
    thread_tree: Cell<*const ThreadTree>,
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
            "add {address}, qword ptr [rip + profundo_thread_tree@GOTTPOFF]",
            address = out(reg) address,
            options(nostack, readonly),
        );
    }
    // SAFETY: only this thread and its handlers reach it, through cells, and zeros are valid ones. It is as large as that.
    unsafe { &*address }
}

const _: () = assert!(size_of::<Own>() == 16);

/// The thread's thread tree; null if it has none yet.
#[inline(always)]
pub fn thread_tree() -> *const ThreadTree {
    own().thread_tree.get()
}

/// Gives it another one.
pub fn set_thread_tree(thread_tree: *const ThreadTree) {
    own().thread_tree.set(thread_tree);
}

/// How many of its calls were not counted.
pub fn missed() -> &'static Cell<u64> {
    &own().missed
}
