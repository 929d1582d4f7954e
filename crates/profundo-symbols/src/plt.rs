//! Names of PLT stubs, the few instructions through which calls into other libraries go.
//!
//! No symbol covers them. Each stub jumps through a slot of the global offset table, and the
//! relocation of that slot names the function, so the jump is decoded: that needs no guess
//! about the order or size of the stubs, which differ from linker to linker.

use object::read::SymbolIndex;
use object::{Architecture, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable};

use crate::demangle::STUB;
use crate::image::Image;
use crate::symtab::sections_named;

pub(crate) const SECTIONS: [&str; 3] = [".plt", ".plt.sec", ".plt.got"];
/// The relocation sections with the slots' symbols: those of `.plt.got` are in the second, large
/// one.
const RELOCATIONS: [&str; 2] = [".rela.plt", ".rela.dyn"];
/// An entry of these, on x86-64: the slot, the symbol and the kind, an addend.
const ENTRY: usize = 24;
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
    let Some(symbols) = file.dynamic_symbol_table() else {
        return names;
    };
    for section in RELOCATIONS {
        let is_open =
            |(name, stub): (&Option<String>, &Option<u64>)| name.is_none() && stub.is_some();
        if !names.iter().zip(&stubs).any(is_open) {
            break;
        }
        let entries = file.section_by_name(section);
        let bytes = entries.and_then(|section| section.data().ok());
        for (slot, symbol) in entries_of(bytes.unwrap_or_default(), &stubs) {
            let text = symbols
                .symbol_by_index(symbol)
                .ok()
                .and_then(|symbol| symbol.name().ok())
                .filter(|text| !text.is_empty());
            let Some(text) = text else { continue };
            for (name, stub) in names.iter_mut().zip(&stubs) {
                if *stub == Some(slot) && name.is_none() {
                    *name = Some(format!("{text}{STUB}"));
                }
            }
        }
    }
    names
}

/// What the dynamic linker writes into a slot of the global offset table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SlotContent {
    /// The address of this symbol.
    Symbol(String),
    /// This address of the same file.
    Address(u64),
}

/// The content of each of these `slots`. Calls that go through a slot, without a stub, are `call
/// *0x2fe2(%rip)`.
pub(crate) fn contents(image: &Image, slots: &[u64]) -> Vec<Option<SlotContent>> {
    let mut contents = vec![None; slots.len()];
    let Some(file) = image.object() else {
        return contents;
    };
    if file.architecture() != Architecture::X86_64 {
        return contents;
    }
    let symbols = file.dynamic_symbol_table();
    let wanted: Vec<Option<u64>> = slots.iter().copied().map(Some).collect();
    for section in RELOCATIONS {
        let section = file.section_by_name(section);
        let bytes = section.and_then(|section| section.data().ok());
        for (slot, symbol, addend) in all_entries(bytes.unwrap_or_default(), &wanted) {
            let content = match symbol {
                0 => Some(SlotContent::Address(addend)),
                symbol => symbols
                    .as_ref()
                    .and_then(|table| table.symbol_by_index(SymbolIndex(symbol as usize)).ok())
                    .and_then(|symbol| symbol.name().ok().map(str::to_owned))
                    .map(SlotContent::Symbol),
            };
            for (wanted, found) in slots.iter().zip(&mut contents) {
                if *wanted == slot && found.is_none() {
                    found.clone_from(&content);
                }
            }
        }
    }
    contents
}

/// The entries of a relocation section that fill one of the slots, each with its symbol. A large
/// library has tens of thousands of them, and a profile asks for a few: they are passed over by
/// their first word.
fn entries_of<'a>(
    bytes: &'a [u8],
    stubs: &[Option<u64>],
) -> impl Iterator<Item = (u64, SymbolIndex)> + 'a {
    all_entries(bytes, stubs)
        .filter(|(_, symbol, _)| *symbol != 0)
        .map(|(slot, symbol, _)| (slot, SymbolIndex(symbol as usize)))
}

/// The same entries, with the number of the symbol, which may be none, and the addend.
fn all_entries<'a>(
    bytes: &'a [u8],
    stubs: &[Option<u64>],
) -> impl Iterator<Item = (u64, u64, u64)> + 'a {
    let mut slots: Vec<u64> = stubs.iter().copied().flatten().collect();
    slots.sort_unstable();
    let first = slots.first().copied().unwrap_or(u64::MAX);
    let last = slots.last().copied().unwrap_or(0);
    bytes
        .as_chunks::<ENTRY>()
        .0
        .iter()
        .filter_map(move |entry| {
            let (words, _) = entry.as_chunks::<8>();
            let slot = u64::from_le_bytes(words[0]);
            if slot < first || slot > last || slots.binary_search(&slot).is_err() {
                return None;
            }
            let symbol = u64::from_le_bytes(words[1]) >> 32;
            Some((slot, symbol, u64::from_le_bytes(words[2])))
        })
}

/// The address of the table slot that the stub at `address` jumps through.
pub(crate) fn slot_of(sections: &[(u64, &[u8])], address: u64) -> Option<u64> {
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
    fn the_slot_follows_from_the_jump() {
        // endbr64; jmp *0x2fd6(%rip); nopw
        let sec = [
            0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xd6, 0x2f, 0, 0, 0x66, 0x0f, 0x1f, 0x44, 0, 0,
        ];
        assert_eq!(slot_of(&[(0x1000, &sec)], 0x1004), Some(0x3fe0));
        assert_eq!(slot_of(&[(0x1000, &sec)], 0x1010), None);
        assert_eq!(slot_of(&[(0x1000, &sec[..6])], 0x1004), None);
    }
}
