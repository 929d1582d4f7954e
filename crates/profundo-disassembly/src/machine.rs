//! The processors whose code is read, and the two ways to write that of Intel's.

/// A kind of processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Machine {
    /// Intel's and AMD's, in 64-bit mode.
    X86_64,
    /// The same in 32-bit mode.
    X86,
}

/// A processor whose code is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("only x86 and x86-64 code can be disassembled, and this is {0}")]
pub struct UnknownMachine(pub String);

/// A way to write instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Syntax {
    /// That of AT&T, with the target last: `mov %rsi,%rdi`. It is what `objdump`, `gdb` and `perf`
    /// print.
    #[default]
    Att,
    /// That of Intel's manuals, with the target first: `mov rdi, rsi`.
    Intel,
}
