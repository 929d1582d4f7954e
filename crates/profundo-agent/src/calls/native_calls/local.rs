//! The thread tree of the calling thread: a word in its own static block, which is found by two
//! instructions. Beside it is the number of calls that a thread without a tree could not count.

use core::cell::Cell;

use super::thread_tree::ThreadTree;
use crate::machine::{own_address, own_block};

own_block!("profundo_thread_tree", 16, 8);

/// The thread-local fields, all zero at first.
#[repr(C)]
struct Fields {
    thread_tree: Cell<*const ThreadTree>,
    missed: Cell<u64>,
}

#[inline(always)]
fn fields() -> &'static Fields {
    let address: *const Fields = own_address!("profundo_thread_tree");
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
