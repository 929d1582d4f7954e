//! How much the program copies.
//!
//! Copies of a page or more count, one of about each megabyte is told of, and the real function does the copying.
//! Shorter ones go straight on to it.

use core::arch::naked_asm;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use profundo_probe::shared::COPIES;
use profundo_wire::{Block, Source};

use crate::fork;
use crate::memory::calls::caller;
use crate::memory::local::{CALLER, local};
use crate::memory::state;

type Place = *mut c_void;

const FUNCTIONS: [&CStr; 5] = [
    c"memcpy",
    c"memmove",
    c"mempcpy",
    c"__memcpy_chk",
    c"__memmove_chk",
];

/// The real functions; 0 until they are known.
static REAL: [AtomicUsize; FUNCTIONS.len()] = [const { AtomicUsize::new(0) }; FUNCTIONS.len()];

/// What is shorter does not count.
const FLOOR: usize = COPIES.floor as usize;

/// Looks the real functions up. Each is chosen by the loader for the CPU, so it has to be asked.
pub fn resolve() {
    for (name, real) in FUNCTIONS.into_iter().zip(&REAL) {
        // SAFETY: the name ends in a NUL. What is there by this name is found without an allocation, and where
        // the C library lacks one, nobody calls it.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        real.store(found as usize, Ordering::Relaxed);
    }
}

/// The function of this name, as the program calls it. Before the real one is known it copies by itself, byte
/// by byte, in the direction that is right.
macro_rules! entry {
    ($($index:literal $name:ident => $inner:ident, $result:literal;)*) => {$(
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
                "mov rax, qword ptr [rip + profundo_local@GOTTPOFF]",
                "mov qword ptr fs:[rax + {caller}], rsp",
                "mov qword ptr fs:[rax + {caller} + 8], rbp",
                "mov qword ptr fs:[rax + {caller} + 16], rbx",
                "jmp {inner}",
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
                caller = const CALLER,
                inner = sym $inner,
            )
        }

        unsafe extern "C" fn $inner(to: Place, from: Place, bytes: usize, room: usize) -> Place {
            let local = local();
            if !local.may_copy(bytes as u64) {
                look(bytes);
            }
            let real = REAL.get($index).map_or(0, |real| real.load(Ordering::Relaxed));
            // SAFETY: the entry goes here only once the real function is known, which takes these arguments, or
            // the first three of them.
            unsafe {
                let real = core::mem::transmute::<
                    usize,
                    unsafe extern "C" fn(Place, Place, usize, usize) -> Place,
                >(real);
                real(to, from, bytes, room)
            }
        }
    )*};
}

entry! {
    0 memcpy => copy, "mov rax, rdi";
    1 memmove => move_, "mov rax, rdi";
    2 mempcpy => copy_behind, "lea rax, [rdi + rdx]";
    3 __memcpy_chk => copy_checked, "mov rax, rdi";
    4 __memmove_chk => move_checked, "mov rax, rdi";
}

/// Tells of a copy.
#[cold]
#[inline(never)]
fn look(bytes: usize) {
    /// While nothing is recorded it is looked again after so many bytes.
    const AGAIN: u64 = 16 << 20;
    let local = local();
    let [stack, frame, base] = local.caller();
    if !state::is_on() {
        return local.set_copies(AGAIN);
    }
    let is_first = local.has_no_copies();
    let left = local.draw(COPIES.mean);
    local.set_copies(left);
    if is_first {
        // The first one of this thread is no other than those that follow.
        if local.may_copy(bytes as u64) {
            return;
        }
        local.set_copies(local.draw(COPIES.mean));
    }
    let Some(home) = fork::home_of_this_process() else {
        return;
    };
    // SAFETY: the entry has put it there, and its caller waits.
    let caller = unsafe { caller(stack as *const u64, frame, base) };
    let block = Block {
        size: bytes as u64,
        source: Source::Copied,
        ..Block::default()
    };
    // SAFETY: a process that has entered itself has a probe.
    let told = unsafe { home.probe() }.tell_block(&caller, block);
    if told.is_err() {
        let lost = &home.ring().header.memory.lost;
        lost.fetch_add(1, Ordering::Relaxed);
    }
}
