//! What the command has counted of this program so far, and may forget: Julia's `Profile.clear_malloc_data`.

/// Forgets what a command that records this program (`profundo track-allocation`, `run`, `record`) has recorded of it
/// and of the processes beside it so far, so that the start of the program is not in it. Where nobody records it from
/// outside, there is nothing to forget. Returns whether there was anybody who has forgotten.
///
/// What the program records of itself stays: that is for [`clear`](crate::clear) and
/// [`allocs::clear`](crate::allocs::clear).
///
/// ```
/// let tables = vec![0_u8; 1 << 20]; // What is not to be counted.
/// profundo::clear_malloc_data();
/// # drop(tables);
/// ```
pub fn clear_malloc_data() -> bool {
    // SAFETY: looks for a name among the libraries that are loaded.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"profundo_clear".as_ptr()) };
    if found.is_null() {
        return false;
    }
    // SAFETY: the command's agent is the only one with this name, and this is what its function takes and returns.
    let forget: extern "C" fn() -> libc::c_int = unsafe { std::mem::transmute(found) };
    forget() == 1
}
