//! The thread tree of the calling thread: a word in its own static block, which is found by two
//! instructions. Beside it is the number of calls that a thread without a tree could not count.

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

/// The thread-local fields, all zero at first.
#[repr(C)]
struct Fields {
    thread_tree: Cell<*const ThreadTree>,
    missed: Cell<u64>,
}

#[inline(always)]
fn fields() -> &'static Fields {
    let address: *const Fields;
    // SAFETY: `fs:0` holds the thread pointer, and the linker has put the offset from it into its
    // table. Nothing is written.
    unsafe {
        asm!(
            "mov {address}, qword ptr fs:[0]",
            "add {address}, qword ptr [rip + profundo_thread_tree@GOTTPOFF]",
            address = out(reg) address,
            options(nostack, readonly),
        );
    }
    // SAFETY: only this thread and its handlers reach it, through cells, and zeros are valid ones.
    // It is as large as that.
    unsafe { &*address }
}

const _: () = assert!(size_of::<Fields>() == 16);

/// The thread's thread tree; null if it has none yet.
#[inline(always)]
pub fn thread_tree() -> *const ThreadTree {
    fields().thread_tree.get()
}

/// Sets the thread's tree.
pub fn set_thread_tree(thread_tree: *const ThreadTree) {
    fields().thread_tree.set(thread_tree);
}

/// The number of its calls that were not counted.
pub fn missed() -> &'static Cell<u64> {
    &fields().missed
}
