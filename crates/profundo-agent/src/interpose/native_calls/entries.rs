//! Native functions that were built with `-pg`: each calls `mcount` where it begins, or
//! `__fentry__` before anything else, and nothing when it ends.
//!
//! The caller does not expect that any register changes, those for vectors included. After us the C
//! library's function is called as if by the program, so `gmon.out` is what it would be.
//!
//! The caller is found by the frame pointer, which such functions keep. At `__fentry__` it is not
//! the function's own yet, so no caller is known.

use core::arch::naked_asm;
use core::sync::atomic::AtomicU32;

use profundo_probe::calls::EndlessCall;

use crate::calls::native_calls::thread_tree::ThreadTree;
use crate::calls::native_calls::{
    BEGINNINGS, enter_current_tree, enter_new_tree, is_counted_by, missed, place,
};
use crate::{next_symbols, start};

/// The way to keep vector registers. 0: not known yet; 1: the lower halves are all; 2: the upper
/// halves too, where they are in use; 3: the upper halves always, since their use cannot be
/// queried.
static VECTORS: AtomicU32 = AtomicU32::new(0);

/// All registers are kept but r11, which a call into another library clobbers. It holds the next
/// function to call.
macro_rules! entry {
    ($name:ident, $count:ident) => {
        /// # Safety
        /// Called at the beginning of a function, as compilers emit it.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                "push rax",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "push r8",
                "push r9",
                "push r10",
                "push rbx",
                "push r12",
                "mov r12, rsp",
                "mov eax, dword ptr [rip + {vectors}]",
                "test eax, eax",
                "jnz 3f",
                // The first time: has the system wide vectors, and does the processor report
                // whether they are in use?
                "mov eax, 1",
                "xor ecx, ecx",
                "cpuid",
                "bt ecx, 27",
                "mov eax, 1",
                "jnc 2f",
                "mov eax, 13",
                "mov ecx, 1",
                "cpuid",
                "bt eax, 2",
                "mov eax, 2",
                "jc 2f",
                "mov eax, 3",
                "2:",
                "mov dword ptr [rip + {vectors}], eax",
                "3:",
                "cmp eax, 2",
                "jb 5f",
                "ja 4f",
                "mov ecx, 1",
                "xgetbv",
                "test eax, 0xE4",
                "jz 5f",
                // Vectors of any width, and masks.
                "4:",
                "sub rsp, 2816",
                "and rsp, -64",
                "xor eax, eax",
                "mov [rsp + 512], rax",
                "mov [rsp + 520], rax",
                "mov [rsp + 528], rax",
                "mov [rsp + 536], rax",
                "mov [rsp + 544], rax",
                "mov [rsp + 552], rax",
                "mov [rsp + 560], rax",
                "mov [rsp + 568], rax",
                "mov eax, 0xE6",
                "xor edx, edx",
                "xsave64 [rsp]",
                "mov rdi, [r12 + 80]",
                "mov rsi, rbp",
                "call {count}",
                "mov r11, rax",
                "mov eax, 0xE6",
                "xor edx, edx",
                "xrstor64 [rsp]",
                "jmp 6f",
                "5:",
                "sub rsp, 128",
                "and rsp, -16",
                "movaps [rsp], xmm0",
                "movaps [rsp + 16], xmm1",
                "movaps [rsp + 32], xmm2",
                "movaps [rsp + 48], xmm3",
                "movaps [rsp + 64], xmm4",
                "movaps [rsp + 80], xmm5",
                "movaps [rsp + 96], xmm6",
                "movaps [rsp + 112], xmm7",
                "mov rdi, [r12 + 80]",
                "mov rsi, rbp",
                "call {count}",
                "mov r11, rax",
                "movaps xmm0, [rsp]",
                "movaps xmm1, [rsp + 16]",
                "movaps xmm2, [rsp + 32]",
                "movaps xmm3, [rsp + 48]",
                "movaps xmm4, [rsp + 64]",
                "movaps xmm5, [rsp + 80]",
                "movaps xmm6, [rsp + 96]",
                "movaps xmm7, [rsp + 112]",
                "6:",
                "mov rsp, r12",
                "pop r12",
                "pop rbx",
                "pop r10",
                "pop r9",
                "pop r8",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop rax",
                "jmp r11",
                vectors = sym VECTORS,
                count = sym $count,
            )
        }
    };
}

entry!(mcount, count);
entry!(_mcount, count);
entry!(__fentry__, count_alone);

/// The function to call where the C library has none.
#[unsafe(naked)]
unsafe extern "C" fn nothing() {
    naked_asm!("ret")
}

/// The calling thread's tree, entered.
#[inline]
fn enter_thread_tree() -> Option<&'static ThreadTree> {
    enter_current_tree().or_else(|| {
        // A library that was initialised before us may have called.
        start::ensure();
        enter_new_tree()
    })
}

/// Counts a call of the function that contains this address, and returns the next function to call.
/// `frame`: where the function keeps its caller's frame pointer and, above that, its return
/// address.
unsafe extern "C" fn count(address: u64, frame: *const [u64; 2]) -> usize {
    if !is_counted_by(BEGINNINGS) {
        // The other instrumentation reports it.
    } else if let Some(thread_tree) = enter_thread_tree() {
        // SAFETY: this thread has entered the thread tree, and no other thread uses it. The frame
        // is the function's own. Its caller's is read if it lies where a counted one was.
        unsafe {
            let [outer, from] = frame.read();
            let (tree, calls) = thread_tree.work();
            let returns_to = || (outer as *const [u64; 2]).read()[1];
            let call = EndlessCall {
                address,
                from,
                place: place(frame as u64),
                outer: place(outer),
            };
            tree.enter_from(calls, call, returns_to);
        }
        thread_tree.leave_at_once();
    } else {
        missed();
    }
    next_symbols::mcount().map_or(nothing as *const () as usize, |function| {
        function as *const () as usize
    })
}

/// Counts a call whose caller is not known.
unsafe extern "C" fn count_alone(address: u64, _: *const [u64; 2]) -> usize {
    if !is_counted_by(BEGINNINGS) {
        // The other instrumentation reports it.
    } else if let Some(thread_tree) = enter_thread_tree() {
        // SAFETY: as above.
        unsafe {
            let (tree, calls) = thread_tree.work();
            tree.enter_alone(calls, address);
        }
        thread_tree.leave_at_once();
    } else {
        missed();
    }
    next_symbols::__fentry__().map_or(nothing as *const () as usize, |function| {
        function as *const () as usize
    })
}
