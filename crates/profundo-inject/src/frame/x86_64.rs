//! x86-64: a frame with the processor's whole extended state, as `xsave` has written it.

use super::Frame;

/// The offsets of the registers, the signal mask and the extended state in a frame. Its first word
/// is the return address.
const FLAGS: usize = 8;
const STACK_FLAGS: usize = 32;
const GENERAL: usize = 48;
const STATE_POINTER: usize = GENERAL + 184;
const MASK: usize = GENERAL + 256;

/// The size of the frame before the extended state, which must be aligned.
const HEAD: u64 = 504;
const ALIGNMENT: u64 = 64;

/// The offsets of the state's size and parts in the state. The kernel and ptrace use the same
/// numbers for the parts.
const MAGIC: usize = 464;
const PARTS: u64 = 0x4650_5853;
const END: u32 = 0x4650_5845;

/// The parts of the state in use, as the processor notes them.
const IN_USE: usize = 512;

/// Memory for tiles (AMX) is given to a thread when it asks for it. Before that the kernel rejects
/// a frame with room for them, and restores only the lower halves of the vector registers.
const TILES: u32 = 18;

/// The state as in a frame of this thread, and its parts.
fn of_a_frame(state: &[u8]) -> (&[u8], u64) {
    let word = |at: usize| {
        let word = state.get(at..).and_then(|bytes| bytes.first_chunk());
        word.map_or(0, |word| u64::from_le_bytes(*word))
    };
    let (parts, tiles) = (word(MAGIC), 1 << TILES);
    if parts & tiles == 0 || word(IN_USE) & tiles != 0 {
        return (state, parts);
    }
    /// The processor's description of the parts of its state.
    const STATE_LEAF: u32 = 0xd;
    // SAFETY: every processor of x86-64 has the instruction.
    #[allow(unused_unsafe, reason = "only older compilers call it unsafe")]
    let described = unsafe { core::arch::x86_64::__cpuid_count(STATE_LEAF, TILES) };
    let start = described.ebx as usize;
    let before = state.get(..start).filter(|before| before.len() > IN_USE);
    before.map_or((state, parts), |before| (before, parts & !tiles))
}

/// The size of a frame with a state of this size.
fn length(state: &[u8]) -> u64 {
    HEAD + state.len() as u64 + 4
}

/// A frame that ends below `end` and restores these registers. `back`: the address of the
/// instructions that end a handler.
pub(crate) fn below(
    end: u64,
    back: u64,
    restored: &libc::user_regs_struct,
    state: &[u8],
    mask: u64,
) -> Frame {
    let (state, parts) = of_a_frame(state);
    let state_place = (end - state.len() as u64 - 4) & !(ALIGNMENT - 1);
    let place = state_place - HEAD;
    let mut bytes = vec![0; length(state) as usize];
    let mut put = |at: usize, with: &[u8]| {
        if let Some(there) = bytes.get_mut(at..at + with.len()) {
            there.copy_from_slice(with);
        }
    };
    put(0, &back.to_le_bytes());
    // The state is complete, and the stack segment is valid.
    put(FLAGS, &7_u64.to_le_bytes());
    // These flags do not exist, so the signal stack is left alone.
    put(STACK_FLAGS, &0xff_u32.to_le_bytes());
    let words = [
        restored.r8,
        restored.r9,
        restored.r10,
        restored.r11,
        restored.r12,
        restored.r13,
        restored.r14,
        restored.r15,
        restored.rdi,
        restored.rsi,
        restored.rbp,
        restored.rbx,
        restored.rdx,
        restored.rax,
        restored.rcx,
        restored.rsp,
        restored.rip,
        restored.eflags,
        restored.cs | restored.ss << 48,
    ];
    for (index, word) in words.iter().enumerate() {
        put(GENERAL + index * 8, &word.to_le_bytes());
    }
    put(STATE_POINTER, &state_place.to_le_bytes());
    put(MASK, &mask.to_le_bytes());
    let size = state.len() as u32;
    put(HEAD as usize, state);
    let magic = HEAD as usize + MAGIC;
    put(magic, &(PARTS | u64::from(size + 4) << 32).to_le_bytes());
    put(magic + 8, &parts.to_le_bytes());
    put(magic + 16, &u64::from(size).to_le_bytes());
    put(HEAD as usize + state.len(), &END.to_le_bytes());
    Frame { place, bytes }
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::borrowed::machine;

    /// The parts and the size that the kernel has written to a frame.
    static PARTS_OF_KERNEL: AtomicU64 = AtomicU64::new(0);
    static SIZE_OF_KERNEL: AtomicU64 = AtomicU64::new(0);

    extern "C" fn note_frame(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the kernel's own frame, whose state is longer than this.
        let (parts, size) = unsafe {
            let state = (*context.cast::<libc::ucontext_t>()).uc_mcontext.fpregs;
            let fields = state.cast::<u8>().add(MAGIC + 8);
            (
                fields.cast::<u64>().read(),
                fields.add(8).cast::<u32>().read(),
            )
        };
        PARTS_OF_KERNEL.store(parts, Ordering::Relaxed);
        SIZE_OF_KERNEL.store(size.into(), Ordering::Relaxed);
    }

    #[test]
    fn a_frame_has_the_parts_that_the_kernel_takes_back() {
        // SAFETY: the handler only looks; the child makes no call that is not allowed after a fork.
        let state = unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = note_frame as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGRTMAX(), &action, std::ptr::null_mut());
            libc::raise(libc::SIGRTMAX());
            let child = libc::fork();
            if child == 0 {
                libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
                libc::raise(libc::SIGSTOP);
                libc::_exit(0);
            }
            libc::waitpid(child, std::ptr::null_mut(), 0);
            let state = machine::state(child);
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, std::ptr::null_mut(), 0);
            state
        };
        let Ok(state) = state else {
            return;
        };
        let (state, parts) = of_a_frame(&state);
        assert_eq!(parts, PARTS_OF_KERNEL.load(Ordering::Relaxed));
        assert_eq!(state.len() as u64, SIZE_OF_KERNEL.load(Ordering::Relaxed));
    }
}
