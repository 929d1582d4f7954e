//! Names of PLT stubs, the few instructions through which calls into other libraries go.
//!
//! No symbol covers them. Each stub jumps through a slot of the global offset table, and the
//! relocation of that slot names the function, so the jump is decoded: that needs no guess
//! about the order or size of the stubs, which differ from linker to linker.

use object::{Architecture, Object, ObjectSymbol, ObjectSymbolTable, RelocationTarget};

use crate::demangle::STUB;
use crate::image::Image;
use crate::symtab::sections_named;

const SECTIONS: [&str; 3] = [".plt", ".plt.sec", ".plt.got"];
/// Stubs are aligned to this and no longer than this, on x86-64.
const STUB_SIZE: u64 = 16;

/// `name@plt` for each address in a PLT stub.
pub(crate) fn names(image: &Image, addresses: &[u64]) -> Vec<Option<String>> {
    let stubs: Vec<Option<u64>> = match image.object() {
        Some(file) if file.architecture() == Architecture::X86_64 => {
            let sections = sections_named(&file, &SECTIONS);
            addresses
                .iter()
                .map(|address| slot_of(&sections, *address))
                .collect()
        }
        _ => return vec![None; addresses.len()],
    };
    let mut names = vec![None; addresses.len()];
    if stubs.iter().all(Option::is_none) {
        return names;
    }
    let Some(file) = image.object() else {
        return names;
    };
    let (Some(relocations), Some(symbols)) =
        (file.dynamic_relocations(), file.dynamic_symbol_table())
    else {
        return names;
    };
    for (slot, relocation) in relocations {
        let RelocationTarget::Symbol(symbol) = relocation.target() else {
            continue;
        };
        for (name, _) in names
            .iter_mut()
            .zip(&stubs)
            .filter(|(_, stub)| **stub == Some(slot))
        {
            *name = symbols
                .symbol_by_index(symbol)
                .ok()
                .and_then(|symbol| symbol.name().ok())
                .filter(|text| !text.is_empty())
                .map(|text| format!("{text}{STUB}"));
        }
    }
    names
}

/// The address of the table slot that the stub at `address` jumps through.
fn slot_of(sections: &[(u64, &[u8])], address: u64) -> Option<u64> {
    let (start, contents) = sections.iter().find(|(start, contents)| {
        address
            .checked_sub(*start)
            .is_some_and(|offset| offset < contents.len() as u64)
    })?;
    // Stubs of 8 bytes exist (`.plt.got` without IBT): there the jump begins in either half.
    let offset = (address - start) & !(STUB_SIZE - 1);
    let stub = contents.get(usize::try_from(offset).ok()?..)?;
    let stub = &stub[..stub.len().min(STUB_SIZE as usize)];
    let mut jumps =
        (0..stub.len().saturating_sub(5)).filter(|at| stub[*at..].starts_with(&[0xff, 0x25]));
    let wanted = usize::try_from(address - start - offset).ok()?;
    // The first jump that ends after the address, else the last.
    let at = jumps
        .clone()
        .find(|at| at + 6 > wanted)
        .or(jumps.next_back())?;
    let displacement = i32::from_le_bytes(stub[at + 2..at + 6].try_into().ok()?);
    let next = start.wrapping_add(offset).wrapping_add(at as u64 + 6);
    Some(next.wrapping_add_signed(displacement.into()))
}

#[cfg(test)]
mod tests {
    use super::slot_of;

    #[test]
    fn the_jump_tells_the_slot() {
        // endbr64; jmp *0x2fd6(%rip); nopw
        let sec = [
            0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xd6, 0x2f, 0, 0, 0x66, 0x0f, 0x1f, 0x44, 0, 0,
        ];
        assert_eq!(slot_of(&[(0x1000, &sec)], 0x1004), Some(0x3fe0));
        assert_eq!(slot_of(&[(0x1000, &sec)], 0x1010), None);
        assert_eq!(slot_of(&[(0x1000, &sec[..6])], 0x1004), None);
    }
}
