//! Pages that the program asks the kernel for, and gives back.
//!
//! Only those count that it can write to and that are no file's. Large spaces that are reserved without being
//! usable yet are no memory.

use core::ffi::{c_int, c_void};

use profundo_wire::Source;

use core::arch::naked_asm;

use crate::memory::calls::{caller, count};
use crate::memory::ends::unmapped;
use crate::memory::local::{CALLER, local};
use crate::memory::real;
use crate::memory::state::is_allocator;

type Pages = *mut c_void;

/// As the entries of `malloc`; there is no room for further arguments, so that the registers are passed on in
/// the thread's own place.
macro_rules! entry {
    ($($name:ident => $inner:path;)*) => {$(
        /// # Safety
        /// As for the function of the C library.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "mov rax, qword ptr [rip + profundo_local@GOTTPOFF]",
                "mov qword ptr fs:[rax + {caller}], rsp",
                "mov qword ptr fs:[rax + {caller} + 8], rbp",
                "mov qword ptr fs:[rax + {caller} + 16], rbx",
                "jmp {inner}",
                ".cfi_endproc",
                caller = const CALLER,
                inner = sym $inner,
            )
        }
    )*};
}

entry! {
    mmap => mmap_from;
    mmap64 => mmap64_from;
    mremap => mremap_from;
    sbrk => sbrk_from;
}

/// What the program asks for.
struct Wanted {
    address: Pages,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
}

impl Wanted {
    /// Whether it is memory to be used.
    fn is_memory(&self) -> bool {
        let is_no_file = self.flags & libc::MAP_ANONYMOUS != 0;
        let is_writable = self.protection & libc::PROT_WRITE != 0;
        is_no_file && is_writable && self.flags & libc::MAP_NORESERVE == 0
    }

    fn map(&self, map: Option<Map>) -> Pages {
        let local = local();
        let [stack, frame, base] = local.caller();
        let Some(map) = map else {
            crate::real::set_errno(libc::ENOSYS);
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
        // SAFETY: the entry has put it there.
        let caller = unsafe { caller(stack as *const u64, frame, base) };
        if is_allocator(caller.registers.ip) {
            local.set(left);
            return pages;
        }
        count(local, left, (pages, bytes, Source::Mapped), || caller);
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
) -> Pages {
    Wanted {
        address,
        bytes,
        protection,
        flags,
        file,
        offset,
    }
    .map(real::mmap())
}

unsafe extern "C-unwind" fn mmap64_from(
    address: Pages,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> Pages {
    Wanted {
        address,
        bytes,
        protection,
        flags,
        file,
        offset,
    }
    .map(real::mmap64())
}

/// # Safety
/// As for `munmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn munmap(address: Pages, bytes: usize) -> c_int {
    let local = local();
    unmapped(local, address as u64, bytes as u64);
    match real::munmap() {
        // SAFETY: the caller's arguments, passed on.
        Some(real) => unsafe { real(address, bytes) },
        None => crate::real::missing(),
    }
}

unsafe extern "C-unwind" fn mremap_from(
    old: Pages,
    bytes: usize,
    new: usize,
    flags: c_int,
    to: Pages,
) -> Pages {
    let local = local();
    let [stack, frame, base] = local.caller();
    let Some(real) = real::mremap() else {
        crate::real::set_errno(libc::ENOSYS);
        return libc::MAP_FAILED;
    };
    unmapped(local, old as u64, bytes as u64);
    let left = local.take();
    // SAFETY: the program's own arguments; the last one is a register, whether it was set or not.
    let pages = unsafe { real(old, bytes, new, flags, to) };
    // What it was made of is not known. It is taken for memory if it grows, which is what files are not
    // usually made to do.
    if pages == libc::MAP_FAILED || new <= bytes {
        local.set(left);
        return pages;
    }
    // SAFETY: the entry has put it there.
    let caller = || unsafe { caller(stack as *const u64, frame, base) };
    count(local, left, (pages, new, Source::Mapped), caller);
    pages
}

unsafe extern "C-unwind" fn sbrk_from(bytes: isize) -> Pages {
    let local = local();
    let [stack, frame, base] = local.caller();
    let Some(real) = real::sbrk() else {
        crate::real::set_errno(libc::ENOMEM);
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
    // SAFETY: the entry has put it there.
    let caller = || unsafe { caller(stack as *const u64, frame, base) };
    count(local, left, (end, bytes as usize, Source::Mapped), caller);
    end
}
