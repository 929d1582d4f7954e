//! Functions that only jump to another one, which then replaces them on the stack: `unicode_join`
//! is a jump to `PyUnicode_Join`, so both are `str.join`.

use object::{Architecture, Object, ObjectSection};
use rustc_hash::FxHashMap;

use super::memory::Memory;
use crate::plt;
use crate::symtab::sections_named;

/// Gives the targets of named functions the same names.
pub(super) fn follow(
    file: &object::File<'_>,
    memory: &Memory<'_>,
    names: &mut FxHashMap<u64, String>,
) {
    let jump: fn(u64, &[u8]) -> Option<u64> = match file.architecture() {
        Architecture::X86_64 => jump_of_x86_64,
        Architecture::Aarch64 => jump_of_aarch64,
        _ => return,
    };
    let code: Vec<(u64, &[u8])> = file
        .sections()
        .filter(|section| memory.is_code(section.address()))
        .filter_map(|section| Some((section.address(), section.data().ok()?)))
        .collect();
    let stubs = sections_named(file, &plt::SECTIONS);
    let mut found: FxHashMap<u64, Option<String>> = FxHashMap::default();
    for (&start, name) in names.iter() {
        let bytes = code.iter().find_map(|(at, bytes)| {
            let offset = usize::try_from(start.checked_sub(*at)?).ok()?;
            bytes.get(offset..).filter(|bytes| !bytes.is_empty())
        });
        let Some(target) = bytes.and_then(|bytes| jump(start, bytes)) else {
            continue;
        };
        // A library with replaceable functions calls its own ones through stubs as well.
        let target = match plt::slot_of(&stubs, target) {
            Some(slot) => memory.word(slot).unwrap_or(0),
            None => target,
        };
        if !memory.is_code(target) || names.contains_key(&target) {
            continue;
        }
        // A target of several names gets none of them.
        found
            .entry(target)
            .and_modify(|known| *known = known.take().filter(|known| known == name))
            .or_insert_with(|| Some(name.clone()));
    }
    let found = found.into_iter();
    names.extend(found.filter_map(|(target, name)| Some((target, name?))));
}

/// The target of a function at `start` that is a jump and nothing else.
fn jump_of_x86_64(start: u64, code: &[u8]) -> Option<u64> {
    const LANDING: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    let (start, code) = match code.strip_prefix(&LANDING) {
        Some(rest) => (start + 4, rest),
        None => (start, code),
    };
    match code {
        [0xe9, rest @ ..] => {
            let distance = i32::from_le_bytes(*rest.first_chunk()?);
            Some((start + 5).wrapping_add_signed(distance.into()))
        }
        [0xeb, distance, ..] => Some((start + 2).wrapping_add_signed((*distance as i8).into())),
        _ => None,
    }
}

fn jump_of_aarch64(start: u64, code: &[u8]) -> Option<u64> {
    const LANDING: u32 = 0xd503_245f;
    let word = |at: usize| Some(u32::from_le_bytes(*code.get(at..)?.first_chunk()?));
    let at = if word(0)? == LANDING { 4 } else { 0 };
    let instruction = word(at)?;
    if instruction >> 26 != 0b00_0101 {
        return None;
    }
    let distance = ((instruction << 6) as i32 >> 6) * 4;
    Some((start + at as u64).wrapping_add_signed(distance.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_alone_leads_elsewhere() {
        let far = [0xf3, 0x0f, 0x1e, 0xfa, 0xe9, 0x10, 0, 0, 0];
        assert_eq!(jump_of_x86_64(0x1000, &far), Some(0x1019));
        assert_eq!(jump_of_x86_64(0x1000, &far[4..]), Some(0x1015));
        assert_eq!(jump_of_x86_64(0x1000, &[0xeb, 0xfe]), Some(0x1000));
        assert_eq!(jump_of_x86_64(0x1000, &[0x55, 0xe9, 0, 0, 0, 0]), None);
        assert_eq!(jump_of_x86_64(0x1000, &[0xe9, 0]), None);
        let back = 0x17ff_ffff_u32.to_le_bytes();
        assert_eq!(jump_of_aarch64(0x1000, &back), Some(0xffc));
        assert_eq!(
            jump_of_aarch64(0x1000, &0x9400_0001_u32.to_le_bytes()),
            None
        );
    }
}
