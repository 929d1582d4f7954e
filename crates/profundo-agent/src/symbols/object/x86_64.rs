//! x86-64: the kinds of relocations, and the instructions that a slot leads to at first.

/// A relocation of an address in data, of a word of the global offset table, and of one that calls
/// go through.
pub(super) const ADDRESS: u32 = 1;
pub(super) const GLOBAL: u32 = 6;
pub(super) const CALL: u32 = 7;

/// The bytes of code that are looked at.
pub(super) const LONGEST: usize = 16;

/// True for instructions that pass a slot's number to the loader.
pub(super) fn asks_loader(code: &[u8; LONGEST], number: usize) -> bool {
    /// A mark for indirect jumps, which may come first.
    const TARGET: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    const PUSH: u8 = 0x68;
    /// The common beginning of all, as the linker mold makes it: the number is in `r11`.
    const PUSH_R11: [u8; 4] = [0x41, 0x53, 0xff, 0x35];
    let code = code.strip_prefix(&TARGET).unwrap_or(code);
    match code {
        [PUSH, a, b, c, d, ..] => u32::from_le_bytes([*a, *b, *c, *d]) as usize == number,
        other => other.starts_with(&PUSH_R11),
    }
}
