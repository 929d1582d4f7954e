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
    ($($index:literal $name:ident => $result:literal;)*) => {$(
        /// # Safety
        /// As for the function of the C library.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "mov rax, qword ptr [rip + {real} + {index}]",
                "test rax, rax",
                "jz 3f",
                "cmp rdx, {floor}",
                "jae 2f",
                "jmp rax",
                "2:",
                // Subtract the bytes from the copy budget, if they are less.
                "mov r10, qword ptr [rip + profundo_local@GOTTPOFF]",
                "mov r11, qword ptr fs:[r10 + {copies}]",
                "sub r11, rdx",
                "jbe 5f",
                "mov qword ptr fs:[r10 + {copies}], r11",
                "jmp rax",
                // The copy is reported.
                "5:",
                "mov r10, rsp",
                "push rdi",
                ".cfi_adjust_cfa_offset 8",
                "push rsi",
                ".cfi_adjust_cfa_offset 8",
                "push rdx",
                ".cfi_adjust_cfa_offset 8",
                "push rcx",
                ".cfi_adjust_cfa_offset 8",
                "push rax",
                ".cfi_adjust_cfa_offset 8",
                "mov rdi, rdx",
                "mov rsi, r10",
                "mov rdx, rbp",
                "mov rcx, rbx",
                "call {sample_copy}",
                "pop rax",
                ".cfi_adjust_cfa_offset -8",
                "pop rcx",
                ".cfi_adjust_cfa_offset -8",
                "pop rdx",
                ".cfi_adjust_cfa_offset -8",
                "pop rsi",
                ".cfi_adjust_cfa_offset -8",
                "pop rdi",
                ".cfi_adjust_cfa_offset -8",
                "jmp rax",
                "3:",
                $result,
                "mov r8, rdi",
                "sub r8, rsi",
                "mov rcx, rdx",
                "cmp r8, rdx",
                "jb 4f",
                "rep movsb",
                "ret",
                "4:",
                "lea rdi, [rdi + rdx - 1]",
                "lea rsi, [rsi + rdx - 1]",
                "std",
                "rep movsb",
                "cld",
                "ret",
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
    0 memcpy => "mov rax, rdi";
    1 memmove => "mov rax, rdi";
    2 mempcpy => "lea rax, [rdi + rdx]";
    3 __memcpy_chk => "mov rax, rdi";
    4 __memmove_chk => "mov rax, rdi";
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
