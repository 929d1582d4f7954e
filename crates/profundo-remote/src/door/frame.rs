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
    let parts = state.get(MAGIC..MAGIC + 8).unwrap_or(&[0; 8]);
    put(magic, &(PARTS | u64::from(size + 4) << 32).to_le_bytes());
    put(magic + 8, parts);
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
