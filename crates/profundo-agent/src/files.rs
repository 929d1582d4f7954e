//! Mapping the session's files: opened, mapped, closed again.

use core::ffi::CStr;
use core::ptr::{self, NonNull};

use profundo_probe::sys;

use crate::agent_memory;

/// Maps the first bytes of a file that is at least that long, for writing, at an address of the
/// kernel's choice.
pub fn map(path: &CStr, bytes: usize) -> Option<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let mapped = with_file(path, libc::O_RDWR | libc::O_NOFOLLOW, |file| {
        // A page beyond the end of the file raises SIGBUS when it is touched.
        let is_long_enough = length(file) >= bytes as i64;
        is_long_enough.then(|| map_at(0, bytes, protection, libc::MAP_SHARED, file))?
    });
    mapped.ok()?
}

/// The room for a file that grows, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// The bytes beyond its present length.
    pub more: usize,
    /// The least and the most bytes in all.
    pub least: usize,
    pub most: usize,
}

/// Maps a growing file for reading, with this room. It may be another process's link. Only the part
/// that its writer has announced may be touched. `place`: memory of ours that it takes the place
/// of, which is so long. Returns how much is mapped.
pub fn map_growing(
    path: &CStr,
    room: Room,
    place: Option<(NonNull<u8>, usize)>,
) -> Option<(NonNull<u8>, usize)> {
    const PAGE: usize = 4096;
    let mapped = with_file(path, libc::O_RDONLY, |file| {
        let length = usize::try_from(length(file))
            .ok()
            .filter(|&length| length > 0)?;
        let bytes = length.saturating_add(room.more);
        let bytes = bytes.max(room.least).min(room.most);
        let bytes = bytes.checked_next_multiple_of(PAGE)?;
        let (at, bytes, how) = match place {
            Some((place, room)) => (place.as_ptr() as usize, bytes.min(room), libc::MAP_FIXED),
            None => (0, bytes, 0),
        };
        let memory = map_at(at, bytes, libc::PROT_READ, libc::MAP_SHARED | how, file)?;
        Some((memory, bytes))
    });
    mapped.ok()?
}

/// True if a file can be opened to be read.
pub fn is_readable(path: &CStr) -> bool {
    with_file(path, libc::O_RDONLY | libc::O_NOCTTY, |_| ()).is_ok()
}

/// True if a file can be opened to be read, and may be mapped to be executed: a container may have
/// it in a file system where nothing may.
pub fn is_loadable(path: &CStr) -> bool {
    let flags = libc::O_RDONLY | libc::O_NOCTTY;
    with_file(path, flags, |file| !forbids_execution(file)).unwrap_or(false)
}

/// Whether a file lies in a file system that is mounted with `noexec`.
fn forbids_execution(file: usize) -> bool {
    /// `ST_NOEXEC`, and the word of the kernel's `struct statfs` that holds it.
    const NOEXEC: u64 = 8;
    const FLAGS: usize = 10;
    const WORDS: usize = 15;
    let mut about = [0_u64; WORDS];
    let place = about.as_mut_ptr() as usize;
    // SAFETY: the kernel fills the structure, which has so many words on 64-bit machines.
    let result = unsafe { sys::call(libc::SYS_fstatfs, [file, place, 0, 0, 0, 0]) };
    result == 0 && about[FLAGS] & NOEXEC != 0
}

fn length(file: usize) -> i64 {
    // SAFETY: the descriptor is ours; its offset does not matter.
    unsafe { sys::call(libc::SYS_lseek, [file, 0, libc::SEEK_END as usize, 0, 0, 0]) as i64 }
}

/// Makes a file of this length, of which only the `first` bytes have memory, and maps it. The error
/// is the system's.
pub fn make_and_map(path: &CStr, bytes: usize, first: usize) -> Result<NonNull<u8>, i32> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_NOFOLLOW;
    with_file(path, flags, |file| {
        if !may_be_so_long(bytes) {
            return Err(libc::EFBIG);
        }
        // SAFETY: the descriptor is ours.
        done(unsafe { sys::call(libc::SYS_ftruncate, [file, bytes, 0, 0, 0, 0]) })?;
        take_memory(file, 0, first)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        map_at(0, bytes, protection, libc::MAP_SHARED, file).ok_or(libc::ENOMEM)
    })?
}

/// Has a part of a file take its memory now, so that no write to it can fail later.
pub fn allocate(path: &CStr, from: usize, bytes: usize) -> bool {
    let flags = libc::O_RDWR | libc::O_NOFOLLOW;
    with_file(path, flags, |file| take_memory(file, from, bytes)) == Ok(Ok(()))
}

/// True if the program's limit permits a file of this length: the kernel sends a signal to a
/// process that goes beyond it.
fn may_be_so_long(bytes: usize) -> bool {
    let mut limit = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let (which, place) = (libc::RLIMIT_FSIZE as usize, &raw mut limit as usize);
    // SAFETY: the kernel fills in the structure, which is ours.
    let asked = unsafe { sys::call(libc::SYS_prlimit64, [0, which, 0, place, 0, 0]) };
    asked == 0 && limit.rlim_cur >= bytes as u64
}

fn take_memory(file: usize, from: usize, bytes: usize) -> Result<(), i32> {
    if !may_be_so_long(from.saturating_add(bytes)) {
        return Err(libc::EFBIG);
    }
    // SAFETY: the descriptor is ours.
    done(unsafe { sys::call(libc::SYS_fallocate, [file, 0, from, bytes, 0, 0]) })
}

/// A result of the kernel's that is not the expected one is an error of the system's.
fn done(answer: isize) -> Result<(), i32> {
    match answer {
        0 => Ok(()),
        error => Err(-error as i32),
    }
}

/// Opens a file while `f` runs. The error is the system's.
pub fn with_file<T>(path: &CStr, flags: i32, f: impl FnOnce(usize) -> T) -> Result<T, i32> {
    const PRIVATE: usize = 0o600;
    let flags = flags | libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: the path ends in a NUL.
    let file = unsafe {
        let here = libc::AT_FDCWD as usize;
        let path = path.as_ptr() as usize;
        sys::call(
            libc::SYS_openat,
            [here, path, flags as usize, PRIVATE, 0, 0],
        )
    };
    let Ok(file) = usize::try_from(file) else {
        return Err(-file as i32);
    };
    let result = f(file);
    // SAFETY: the descriptor is ours.
    unsafe { sys::call(libc::SYS_close, [file, 0, 0, 0, 0, 0]) };
    Ok(result)
}

/// Zeroed memory that is not backed until it is used.
pub fn map_zeroed(bytes: usize) -> Option<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let place = map_at(0, bytes, protection, flags, usize::MAX)?;
    agent_memory::enter(place.as_ptr() as u64, bytes as u64);
    Some(place)
}

/// Zeroed memory that stays mapped, and is zero again in the child of a fork; null if there is
/// none.
pub fn map_wiped(bytes: usize) -> *mut u8 {
    let Some(place) = map_zeroed(bytes) else {
        return ptr::null_mut();
    };
    // SAFETY: the memory is ours and unused.
    if unsafe { advise(place, bytes, libc::MADV_WIPEONFORK) } {
        return place.as_ptr();
    }
    // SAFETY: as above.
    unsafe { unmap(place, bytes) };
    ptr::null_mut()
}

/// Puts zeroed memory in the place of what is mapped there.
///
/// # Safety
/// The memory is ours, and not in use.
pub unsafe fn map_zeroed_over(address: NonNull<u8>, bytes: usize) -> bool {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    map_at(
        address.as_ptr() as usize,
        bytes,
        protection,
        flags,
        usize::MAX,
    )
    .is_some()
}

fn map_at(
    address: usize,
    bytes: usize,
    protection: i32,
    flags: i32,
    file: usize,
) -> Option<NonNull<u8>> {
    map_from(address, bytes, protection, flags, file, 0)
}

fn map_from(
    address: usize,
    bytes: usize,
    protection: i32,
    flags: i32,
    file: usize,
    from: usize,
) -> Option<NonNull<u8>> {
    // SAFETY: without MAP_FIXED nothing that exists is touched; with it the caller vouches.
    let mapped = unsafe {
        sys::call(
            libc::SYS_mmap,
            [
                address,
                bytes,
                protection as usize,
                flags as usize,
                file,
                from,
            ],
        )
    };
    if mapped < 0 && mapped > -4096 {
        return None;
    }
    NonNull::new(mapped as *mut u8)
}

/// Puts a mapping in the place of another one of the same length.
///
/// # Safety
/// Both are ours, and the replaced one is not in use.
pub unsafe fn move_over(from: NonNull<u8>, to: NonNull<u8>, bytes: usize) -> bool {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: the caller vouches for both.
    let moved = unsafe {
        sys::call(
            libc::SYS_mremap,
            [
                from.as_ptr() as usize,
                bytes,
                bytes,
                flags as usize,
                to.as_ptr() as usize,
                0,
            ],
        )
    };
    moved == to.as_ptr() as isize
}

/// Gives a mapping back.
///
/// # Safety
/// The mapping is ours, and not in use.
pub unsafe fn unmap(address: NonNull<u8>, bytes: usize) {
    agent_memory::leave(address.as_ptr() as u64);
    // SAFETY: the caller vouches.
    unsafe {
        sys::call(
            libc::SYS_munmap,
            [address.as_ptr() as usize, bytes, 0, 0, 0, 0],
        );
    }
}

/// Makes mapped memory of ours all zero, and gives it back to the kernel, but not its place.
///
/// # Safety
/// The mapping is ours and private, and zeros are a valid `T` for its users.
pub unsafe fn wipe<T>(place: NonNull<T>) {
    // SAFETY: the caller vouches.
    unsafe { advise(place.cast(), size_of::<T>(), libc::MADV_DONTNEED) };
}

/// Gives the kernel advice on memory of ours. Returns whether it agrees.
///
/// # Safety
/// The memory is ours, and the advice does no harm to its users.
pub unsafe fn advise(address: NonNull<u8>, bytes: usize, advice: i32) -> bool {
    // SAFETY: the caller vouches.
    unsafe {
        sys::call(
            libc::SYS_madvise,
            [address.as_ptr() as usize, bytes, advice as usize, 0, 0, 0],
        ) == 0
    }
}
