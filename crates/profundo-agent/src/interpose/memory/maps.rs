//! Pages that the program maps, and unmaps.
//!
//! Only writable, anonymous ones count. Large spaces that are reserved without being usable yet do
//! not.

use core::ffi::{c_int, c_void};

use profundo_probe::heap::Caller;
use profundo_wire::Source;

use crate::memory::counting::count;
use crate::memory::ends::unmapped;
use crate::memory::entry::{caller, entries, wide_entries};
use crate::memory::local::local;
use crate::memory::next_symbols;
use crate::memory::state::is_allocator;

type Pages = *mut c_void;

// The functions of these names, as the program calls them.
wide_entries! {
    export
    mmap => mmap_from;
    mmap64 => mmap64_from;
    mremap => mremap_from;
}

entries! {
    export
    sbrk(1) => sbrk_from;
}

/// The arguments of a mapping.
struct Wanted {
    address: Pages,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
}

impl Wanted {
    /// True if the mapping is memory to be used, and no file or mere room.
    fn is_memory(&self) -> bool {
        let is_no_file = self.flags & libc::MAP_ANONYMOUS != 0;
        let is_writable = self.protection & libc::PROT_WRITE != 0;
        is_no_file && is_writable && self.flags & libc::MAP_NORESERVE == 0
    }

    fn map(&self, map: Option<Map>, caller: impl FnOnce() -> Caller) -> Pages {
        let local = local();
        let Some(map) = map else {
            crate::next_symbols::set_errno(libc::ENOSYS);
            return libc::MAP_FAILED;
        };
        let Self {
            address,
            bytes,
            protection,
            flags,
            file,
            offset,
        } = *self;
        let is_in_place = flags & libc::MAP_FIXED != 0;
        if is_in_place {
            unmapped(local, address as u64, bytes as u64);
        }
        let left = local.take();
        // SAFETY: the program's own arguments.
        let pages = unsafe { map(address, bytes, protection, flags, file, offset) };
        if pages == libc::MAP_FAILED || !self.is_memory() {
            local.set(left);
            return pages;
        }
        let caller = caller();
        if is_allocator(caller.registers.ip) {
            local.set(left);
            return pages;
        }
        count(local, left, pages, bytes, Source::Mapped, || caller);
        pages
    }
}

type Map = unsafe extern "C-unwind" fn(Pages, usize, c_int, c_int, c_int, i64) -> Pages;

unsafe extern "C-unwind" fn mmap_from(
    address: Pages,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
    stack: *const u64,
    frame: u64,
    base: u64,
) -> Pages {
    let wanted = Wanted {
        address,
        bytes,
        protection,
        flags,
        file,
        offset,
    };
    // SAFETY: this is called by an entry.
    wanted.map(next_symbols::mmap(), || unsafe {
        caller(stack, frame, base)
    })
}

unsafe extern "C-unwind" fn mmap64_from(
    address: Pages,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
    stack: *const u64,
    frame: u64,
    base: u64,
) -> Pages {
    let wanted = Wanted {
        address,
        bytes,
        protection,
        flags,
        file,
        offset,
    };
    // SAFETY: this is called by an entry.
    wanted.map(next_symbols::mmap64(), || unsafe {
        caller(stack, frame, base)
    })
}

/// # Safety
/// As for `munmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn munmap(address: Pages, bytes: usize) -> c_int {
    let local = local();
    unmapped(local, address as u64, bytes as u64);
    match next_symbols::munmap() {
        // SAFETY: the caller's arguments, passed on.
        Some(real) => unsafe { real(address, bytes) },
        None => crate::next_symbols::missing(),
    }
}

unsafe extern "C-unwind" fn mremap_from(
    old: Pages,
    bytes: usize,
    new: usize,
    flags: c_int,
    to: Pages,
    _: usize,
    stack: *const u64,
    frame: u64,
    base: u64,
) -> Pages {
    let local = local();
    let Some(real) = next_symbols::mremap() else {
        crate::next_symbols::set_errno(libc::ENOSYS);
        return libc::MAP_FAILED;
    };
    // Once they have moved, another mapping may take their place.
    let may_move =
        flags & libc::MREMAP_MAYMOVE != 0 && new > bytes || flags & libc::MREMAP_FIXED != 0;
    if may_move {
        unmapped(local, old as u64, bytes as u64);
    }
    let left = local.take();
    // SAFETY: the program's own arguments; the last one is a register, whether it was set or not.
    let pages = unsafe { real(old, bytes, new, flags, to) };
    if !may_move && pages != libc::MAP_FAILED && new != bytes {
        // The part that is kept stays accounted to its site; growth counts as new memory.
        let kept = if new < bytes { new } else { 0 };
        unmapped(
            local,
            (old as u64).wrapping_add(kept as u64),
            (bytes - kept) as u64,
        );
    }
    // The origin of the mapping is not known. It counts as memory if it grows, which mappings of
    // files rarely do.
    if pages == libc::MAP_FAILED || new <= bytes {
        local.set(left);
        return pages;
    }
    // SAFETY: this is called by an entry.
    let caller = unsafe { caller(stack, frame, base) };
    if is_allocator(caller.registers.ip) {
        local.set(left);
        return pages;
    }
    count(local, left, pages, new, Source::Mapped, || caller);
    pages
}

unsafe extern "C-unwind" fn sbrk_from(
    bytes: isize,
    stack: *const u64,
    frame: u64,
    base: u64,
) -> Pages {
    let local = local();
    let Some(real) = next_symbols::sbrk() else {
        crate::next_symbols::set_errno(libc::ENOMEM);
        return libc::MAP_FAILED;
    };
    let left = local.take();
    // SAFETY: the program's own argument.
    let end = unsafe { real(bytes) };
    let has_failed = end == libc::MAP_FAILED;
    if bytes < 0 && !has_failed {
        let gone = bytes.unsigned_abs() as u64;
        unmapped(local, (end as u64).wrapping_sub(gone), gone);
    }
    if bytes <= 0 || has_failed {
        local.set(left);
        return end;
    }
    // SAFETY: this is called by an entry.
    let caller = unsafe { caller(stack, frame, base) };
    if is_allocator(caller.registers.ip) {
        local.set(left);
        return end;
    }
    count(local, left, end, bytes as usize, Source::Mapped, || caller);
    end
}
