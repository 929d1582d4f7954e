//! aarch64: the kinds of relocations, and the instructions that a slot leads to at first.

/// A relocation of an address in data, of a word of the global offset table, and of one that calls
/// go through.
pub(super) const ADDRESS: u32 = 257;
pub(super) const GLOBAL: u32 = 1025;
pub(super) const CALL: u32 = 1026;

/// The bytes of code that are looked at.
pub(super) const LONGEST: usize = 8;

/// True for instructions that pass a slot to the loader: all slots lead to the same ones, which the
/// slot's address in `x16` and the return address are kept by.
pub(super) fn asks_loader(code: &[u8; LONGEST], _: usize) -> bool {
    /// `stp x16, x30, [sp, #-16]!`.
    const KEEP: [u8; 4] = [0xf0, 0x7b, 0xbf, 0xa9];
    /// `bti c`, a mark for indirect jumps, which may come first.
    const TARGET: [u8; 4] = [0x5f, 0x24, 0x03, 0xd5];
    let (first, second) = code.split_at(KEEP.len());
    first == KEEP || first == TARGET && second == KEEP
}
