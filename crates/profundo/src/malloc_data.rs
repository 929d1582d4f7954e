//! The counts of this program that the command holds, and a request to clear them: Julia's
//! `Profile.clear_malloc_data`.

/// Asks a command that records this program (`profundo track-allocation`, `run`, `record`) to clear
/// what it has recorded so far of the program and the processes beside it, so that the program's
/// start is not included. Without such a command it does nothing. Returns whether there was one.
///
/// The program's own recordings stay: these are cleared by [`clear`](crate::clear) and
/// [`allocs::clear`](crate::allocs::clear).
///
/// ```
/// let tables = vec![0_u8; 1 << 20]; // Not to be counted.
/// profundo::clear_malloc_data();
/// # drop(tables);
/// ```
pub fn clear_malloc_data() -> bool {
    // SAFETY: looks for a name among the libraries that are loaded.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"profundo_clear".as_ptr()) };
    if found.is_null() {
        return false;
    }
    // SAFETY: the command's agent is the only one with this name, and this is what its function
    // takes and returns.
    let forget: extern "C" fn() -> libc::c_int = unsafe { std::mem::transmute(found) };
    forget() == 1
}
