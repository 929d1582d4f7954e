//! The addresses of a module's file, from its own head: how far it was moved in memory.
//!
//! Formats write where a part of a file was mapped. The address of code *in* the file also depends
//! on the address that the linker gave to that part, which only the file says: linkers other than
//! GNU's do not put it where the offset is.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The number to subtract from an address in memory to get the address in the file, for a file
/// whose bytes from `offset` on are mapped from `start` to `end`. Without the file, it is that of
/// the usual linker.
pub(crate) fn bias(path: &str, [start, end]: [u64; 2], offset: u64) -> u64 {
    /// Programs that are not moved lie below.
    const MOVED: u64 = 0x1000_0000;
    let usual = start.wrapping_sub(offset);
    match head(path).as_deref().and_then(Elf::of) {
        Some(elf) if !elf.is_moved => 0,
        Some(elf) => elf.bias([start, end], offset).unwrap_or(usual),
        None if usual <= MOVED => 0,
        None => usual,
    }
}

/// The first bytes of a file.
fn head(path: &str) -> Option<Vec<u8>> {
    /// Linkers put the table of segments at the start.
    const HEAD: u64 = 8 << 10;
    let path = Path::new(path);
    // A pipe or a device would keep us.
    if !(path.is_absolute() && path.metadata().is_ok_and(|about| about.is_file())) {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(HEAD).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The segments of a 64-bit ELF file of this machine's byte order.
struct Elf {
    /// Whether it can lie anywhere.
    is_moved: bool,
    /// The offset, the address and the size in memory of each part that is loaded.
    loaded: Vec<[u64; 3]>,
}

impl Elf {
    fn of(head: &[u8]) -> Option<Self> {
        const MOVABLE: u16 = 3;
        const LOADED: u32 = 1;
        if !head.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let half = |at: usize| Some(u16::from_le_bytes(*head.get(at..)?.first_chunk()?));
        let word = |at: usize| Some(u32::from_le_bytes(*head.get(at..)?.first_chunk()?));
        let long = |at: usize| Some(u64::from_le_bytes(*head.get(at..)?.first_chunk()?));
        let table = usize::try_from(long(32)?).ok()?;
        let (size, count) = (usize::from(half(54)?), usize::from(half(56)?));
        let mut loaded = Vec::new();
        for number in 0..count {
            let at = table.checked_add(number.checked_mul(size)?)?;
            if word(at)? == LOADED {
                loaded.push([long(at + 8)?, long(at + 16)?, long(at + 40)?]);
            }
        }
        Some(Self {
            is_moved: half(16)? == MOVABLE,
            loaded,
        })
    }

    /// That of the part with this offset, or of all parts together.
    fn bias(&self, [start, end]: [u64; 2], offset: u64) -> Option<u64> {
        /// Parts are mapped in whole pages.
        const PAGE: u64 = 0xfff;
        let holds = |&&[from, _, size]: &&[u64; 3]| {
            let behind = from.saturating_add(size).saturating_add(PAGE) & !PAGE;
            let length = end.saturating_sub(start);
            from & !PAGE <= offset && offset.saturating_add(length) <= behind
        };
        // Two parts may share a page of the file: the later one has the code.
        if let Some(&[from, address, _]) = self.loaded.iter().rfind(holds) {
            let first = address.wrapping_sub(from).wrapping_add(offset);
            return Some(start.wrapping_sub(first));
        }
        let lowest = self.loaded.iter().map(|&[_, address, _]| address).min()?;
        (offset == 0).then(|| start.wrapping_sub(lowest & !PAGE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_file_low_programs_are_not_moved() {
        let check = |start, offset, moved| {
            assert_eq!(
                bias("/no/such/file", [start, start + 0x1000], offset),
                moved
            );
        };
        check(0x40_0000, 0, 0);
        check(0x40_1000, 0x1000, 0);
        check(0x7f00_0000_3000, 0x3000, 0x7f00_0000_0000);
    }

    #[test]
    fn a_part_has_the_address_that_the_linker_gave_it() {
        let elf = Elf {
            is_moved: true,
            loaded: vec![[0, 0, 0x5a0], [0x5a0, 0x15a0, 0x2000]],
        };
        const MOVED: u64 = 0x5555_0000_0000;
        let check = |[start, end]: [u64; 2], offset| {
            let found = elf.bias([MOVED + start, MOVED + end], offset);
            assert_eq!(found, Some(MOVED), "{start:x}-{end:x} from {offset:x}");
        };
        // The code of `lld` lies a page behind its offset.
        check([0x1000, 0x4000], 0);
        check([0x2000, 0x4000], 0x1000);
        // The whole file.
        check([0, 0x4000], 0);
        assert_eq!(elf.bias([0x2000, 0x3000], 0x9000), None);
    }

    #[test]
    fn this_program_is_read() {
        let path = std::env::current_exe().expect("a path");
        let head = head(path.to_str().expect("a text")).expect("a file");
        let elf = Elf::of(&head).expect("an ELF file");
        assert!(elf.loaded.len() > 1);
        for end in 0..head.len().min(2000) {
            let _ = Elf::of(&head[..end]);
        }
    }
}
