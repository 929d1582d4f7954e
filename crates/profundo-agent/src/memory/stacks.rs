//! The file that says which stack each number is: where the process writes to it.

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

use profundo_probe::shared::{STACKS_FILE, WINDOW_WORDS};

use crate::{files, session};

const BYTES: usize = 8 * WINDOW_WORDS;

/// The window that is mapped, in the child of a fork too.
static WINDOW: AtomicPtr<u64> = AtomicPtr::new(ptr::null_mut());

/// Makes the file of the process with this ring, which has its first window.
pub fn make_file(number: u32) -> Option<()> {
    let mut room = [0; session::PATH];
    let path = session::file_of(&mut room, STACKS_FILE, number)?;
    let first = files::make_and_map(path, BYTES, BYTES).ok()?;
    replace(first.cast().as_ptr());
    Some(())
}

/// A window of the file, with its memory taken, in place of the former one. Null: there is none.
pub fn window(number: u64, former: *mut u64) -> *mut u64 {
    if (number, former) == (0, ptr::null_mut()) {
        return WINDOW.load(Ordering::Relaxed);
    }
    let mut room = [0; session::PATH];
    let own = session::own_number();
    let path = own.and_then(|own| session::file_of(&mut room, STACKS_FILE, own));
    let mapped = path.and_then(|path| files::map_part(path, number as usize * BYTES, BYTES));
    let mapped = mapped.map_or(ptr::null_mut(), |it| it.cast().as_ptr());
    replace(mapped);
    mapped
}

fn replace(window: *mut u64) {
    if let Some(former) = NonNull::new(WINDOW.swap(window, Ordering::Relaxed)) {
        // SAFETY: it was mapped here, and whoever has asked for another one does not use it any more.
        unsafe { files::unmap(former.cast(), BYTES) };
    }
}
