//! The file of the stacks and their numbers: where the process has it mapped.

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

use profundo_probe::shared::{STACKS_BYTES, STACKS_FILE};

use crate::{files, session};

static STACKS: AtomicPtr<u64> = AtomicPtr::new(ptr::null_mut());

/// The address of the mapping. Null: none.
#[inline]
pub fn place() -> *mut u64 {
    STACKS.load(Ordering::Relaxed)
}

/// Gives the file back, but not its place.
///
/// # Safety
/// A thread that still writes a stack may find zeros.
pub unsafe fn forget() {
    if let Some(place) = NonNull::new(place()) {
        // SAFETY: the caller vouches; the mapping is ours, and that long.
        unsafe { files::map_zeroed_over(place.cast(), STACKS_BYTES) };
    }
}

/// Maps the file of the process with this ring, in the place of its parent's if there is one. For
/// one thread alone.
pub fn map(number: u32) -> Option<()> {
    let mut room = [0; session::PATH];
    let path = session::file_of(&mut room, STACKS_FILE, number)?;
    let new = files::map(path, STACKS_BYTES)?;
    match NonNull::new(place()) {
        None => STACKS.store(new.cast().as_ptr(), Ordering::Relaxed),
        Some(old) => {
            // SAFETY: both are ours and of one length, and there is one thread, which writes no
            // stack.
            if !unsafe { files::move_over(new, old.cast(), STACKS_BYTES) } {
                return None;
            }
        }
    }
    Some(())
}
