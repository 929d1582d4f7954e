//! What a borrowed thread would need to find its way back by itself: a frame as the kernel leaves one for a signal, to which
//! everything that it does for us returns.
//!
//! It is there for the case that we are killed meanwhile. Then the thread comes to the end of what it was to do, returns to
//! the instructions that end the handler of a signal, and the kernel gives it back all its registers from the frame.

/// Of a frame: where registers, the mask of signals and the state of vectors stand, from its first byte on, which is the
/// address to return to.
const FLAGS: usize = 8;
const STACK_FLAGS: usize = 32;
const GENERAL: usize = 48;
const STATE_POINTER: usize = GENERAL + 184;
const MASK: usize = GENERAL + 256;

/// From the frame to the state of vectors, which is to be aligned.
const HEAD: u64 = 504;
const ALIGNMENT: u64 = 64;

/// In the state: where it says how large it is, and which parts there are; as ptrace tells the latter, so does the kernel.
const MAGIC: usize = 464;
const PARTS: u64 = 0x4650_5853;
const END: u32 = 0x4650_5845;

/// A call that is to be made again; of one that knows by itself how it goes on, that cannot be told in a frame.
const RESTART: std::ops::RangeInclusive<i64> = -514..=-512;
const RESTART_BLOCK: i64 = -516;
const SYSCALL: u64 = 2;

/// The bytes of a frame, and where they are to be written.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) place: u64,
    pub(super) bytes: Vec<u8>,
}

/// The parts of the state that are in use, as the processor notes them.
const IN_USE: usize = 512;

/// Memory for tiles (AMX) is not given to a thread before it asks for it, and until then the kernel takes no frame that has room for
/// them: it would give back the vectors' lower halves only.
const TILES: u32 = 18;

/// The state as a frame of this thread's has it, and which parts that are.
fn of_a_frame(state: &[u8]) -> (&[u8], u64) {
    let word = |at: usize| {
        let word = state.get(at..).and_then(|it| it.first_chunk());
        word.map_or(0, |word| u64::from_le_bytes(*word))
    };
    let (parts, tiles) = (word(MAGIC), 1 << TILES);
    if parts & tiles == 0 || word(IN_USE) & tiles != 0 {
        return (state, parts);
    }
    /// What the processor tells of the parts of its state.
    const STATE_LEAF: u32 = 0xd;
    let start = core::arch::x86_64::__cpuid_count(STATE_LEAF, TILES).ebx as usize;
    let before = state.get(..start).filter(|it| it.len() > IN_USE);
    before.map_or((state, parts), |before| (before, parts & !tiles))
}

/// How many bytes a frame takes with a state of so many.
fn length(state: &[u8]) -> u64 {
    HEAD + state.len() as u64 + 4
}

/// A frame that ends below `end`, and gives back all these. `back`: where the instructions stand that end a handler.
pub(super) fn below(
    end: u64,
    back: u64,
    registers: &libc::user_regs_struct,
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
    // The state is whole, and the segment of the stack is told.
    put(FLAGS, &7_u64.to_le_bytes());
    // No such flags exist: the stack for signals stays as it is.
    put(STACK_FLAGS, &0xff_u32.to_le_bytes());
    let it = again(registers);
    let words = [
        it.r8,
        it.r9,
        it.r10,
        it.r11,
        it.r12,
        it.r13,
        it.r14,
        it.r15,
        it.rdi,
        it.rsi,
        it.rbp,
        it.rbx,
        it.rdx,
        it.rax,
        it.rcx,
        it.rsp,
        it.rip,
        it.eflags,
        it.cs | it.ss << 48,
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

/// The registers with which a system call that was interrupted is made again.
fn again(registers: &libc::user_regs_struct) -> libc::user_regs_struct {
    let mut registers = *registers;
    if registers.orig_rax as i64 >= 0 {
        match registers.rax as i64 {
            result if RESTART.contains(&result) => {
                registers.rax = registers.orig_rax;
                registers.rip -= SYSCALL;
            }
            RESTART_BLOCK => registers.rax = -i64::from(libc::EINTR) as u64,
            _ => {}
        }
    }
    registers
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::inject::borrowed;

    /// The parts and the size that the kernel has written into a frame.
    static PARTS_OF_KERNEL: AtomicU64 = AtomicU64::new(0);
    static SIZE_OF_KERNEL: AtomicU64 = AtomicU64::new(0);

    extern "C" fn look(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the kernel's own frame, whose state is longer than this.
        let (parts, size) = unsafe {
            let state = (*context.cast::<libc::ucontext_t>()).uc_mcontext.fpregs;
            let told = state.cast::<u8>().add(MAGIC + 8);
            (told.cast::<u64>().read(), told.add(8).cast::<u32>().read())
        };
        PARTS_OF_KERNEL.store(parts, Ordering::Relaxed);
        SIZE_OF_KERNEL.store(size.into(), Ordering::Relaxed);
    }

    #[test]
    fn a_frame_has_the_parts_that_the_kernel_takes_back() {
        // SAFETY: the handler only looks; the child makes no call that is not allowed after a fork.
        let state = unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = look as *const () as usize;
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
            let state = borrowed::state(child);
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
