//! The bytes that the program copies.
//!
//! Copies of a page or more count, about one per megabyte is reported, and the real function does
//! the copying. Shorter ones go straight on to it.

use core::arch::naked_asm;
use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

use profundo_probe::shared::COPIES;
use profundo_wire::{Block, Source};

use crate::home;
use crate::memory::entry::caller;
use crate::memory::local::{COPIES as COPIES_LEFT, local};
use crate::memory::state;
use crate::symbols::{self, Scope};

const FUNCTIONS: [&CStr; 5] = [
    c"memcpy",
    c"memmove",
    c"mempcpy",
    c"__memcpy_chk",
    c"__memmove_chk",
];

/// The real functions; 0 until they are known.
static REAL: [AtomicUsize; FUNCTIONS.len()] = [const { AtomicUsize::new(0) }; FUNCTIONS.len()];

/// Shorter copies do not count.
const FLOOR: usize = COPIES.floor as usize;

/// Looks the real functions up. The loader chooses each for the CPU (an ifunc), so the loader has
/// to be asked.
pub fn resolve() {
    for (name, real) in FUNCTIONS.into_iter().zip(&REAL) {
        if symbols::is_defined(name, Scope::Interposed) {
            // SAFETY: the name ends in a NUL. The lookup of an existing name allocates nothing.
            let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
            real.store(found as usize, Ordering::Relaxed);
        }
    }
}

/// The real function of this name, which the loader has chosen.
pub fn real_of(name: &CStr) -> Option<usize> {
    let index = FUNCTIONS.iter().position(|&known| known == name)?;
    let real = REAL.get(index)?.load(Ordering::Relaxed);
    (real != 0).then_some(real)
}

/// The function of this name, as the program calls it. Before the real one is known it copies by
/// itself, byte by byte, in the direction that is right.
macro_rules! entry {
    ($($index:literal $name:ident => $result:tt;)*) => {$(
        /// # Safety
        /// As for the function of the C library.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                crate::machine::copy!($result),
                ".cfi_endproc",
                real = sym REAL,
                index = const $index * 8,
                floor = const FLOOR,
                copies = const COPIES_LEFT,
                sample_copy = sym sample_copy,
            )
        }
    )*};
}

entry! {
    0 memcpy => start;
    1 memmove => start;
    2 mempcpy => end;
    3 __memcpy_chk => start;
    4 __memmove_chk => start;
}

/// Reports a copy.
#[cold]
#[inline(never)]
unsafe extern "C" fn sample_copy(bytes: usize, stack: *const u64, frame: u64, base: u64) {
    /// While nothing is recorded, the number of bytes until the next check.
    const RECHECK_BYTES: u64 = 16 << 20;
    let local = local();
    if !state::is_on() {
        return local.set_copies(RECHECK_BYTES);
    }
    let is_first = local.has_no_copies();
    let left = local.draw(COPIES.mean);
    local.set_copies(left);
    if is_first {
        // The first copy of this thread counts like those that follow.
        if local.may_copy(bytes as u64) {
            return;
        }
        local.set_copies(local.draw(COPIES.mean));
    }
    let Some(home) = home::current() else {
        return;
    };
    // SAFETY: this is called by an entry.
    let caller = unsafe { caller(stack, frame, base) };
    let block = Block {
        size: bytes as u64,
        source: Source::Copied,
        ..Block::default()
    };
    // SAFETY: a process that has entered itself has a probe.
    let recorded = unsafe { home.probe() }.record_block(&caller, block);
    if recorded.is_err() {
        let lost = &home.ring().header.memory.lost;
        lost.fetch_add(1, Ordering::Relaxed);
    }
}
