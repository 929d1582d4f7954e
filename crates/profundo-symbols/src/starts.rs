//! The starts of a stripped file's functions, from the unwind tables, which are never stripped.
//!
//! Each function has an entry in `.eh_frame` with its first address and its length. The name made
//! from it (`place_name`: `libruby.so.3.1+0x1a40`) is the same for all addresses of the function,
//! differs from that of every other function, and is an address of the file, which `objdump` and
//! `addr2line` understand.

use std::ops::Range;

use gimli::{
    BaseAddresses, EhFrame, EhFrameHdr, EhHdrTable, EndianSlice, RunTimeEndian, UnwindSection,
};
use object::{Object, ObjectSection};

use crate::image::Image;

type Bytes<'a> = EndianSlice<'a, RunTimeEndian>;

/// The start of the function of each of the `addresses`; `None` where no table has it.
pub(crate) fn of(image: &Image, addresses: &[u64]) -> Vec<Option<u64>> {
    let found = extents(image, addresses).into_iter();
    found
        .map(|extent| extent.map(|extent| extent.start))
        .collect()
}

/// The extent of the function of each of the `addresses`, which are sorted; `None` where no table
/// has it.
pub(crate) fn extents(image: &Image, addresses: &[u64]) -> Vec<Option<Range<u64>>> {
    let nothing = vec![None; addresses.len()];
    let Some(file) = image.object() else {
        return nothing;
    };
    let section = |name| {
        let section = file.section_by_name(name)?;
        Some((section.address(), section.data().ok()?))
    };
    let Some((at, bytes)) = section(".eh_frame") else {
        return nothing;
    };
    let mut bases = BaseAddresses::default().set_eh_frame(at);
    if let Some((text, _)) = section(".text") {
        bases = bases.set_text(text);
    }
    let endian = match file.is_little_endian() {
        true => RunTimeEndian::Little,
        false => RunTimeEndian::Big,
    };
    let frames = EhFrame::new(bytes, endian);
    // Most files have an index, which is searched; without it the table is read from its beginning.
    if let Some((at, bytes)) = section(".eh_frame_hdr") {
        let bases = bases.clone().set_eh_frame_hdr(at);
        let header = EhFrameHdr::new(bytes, endian).parse(&bases, file_word(&file));
        if let Ok(header) = header
            && let Some(index) = header.table()
        {
            let found = addresses.iter();
            return found
                .map(|&address| by_index(&index, &frames, &bases, address))
                .collect();
        }
    }
    one_by_one(&frames, &bases, addresses)
}

fn file_word(file: &object::File<'_>) -> u8 {
    if file.is_64() { 8 } else { 4 }
}

fn by_index(
    index: &EhHdrTable<'_, Bytes<'_>>,
    frames: &EhFrame<Bytes<'_>>,
    bases: &BaseAddresses,
    address: u64,
) -> Option<Range<u64>> {
    let find = EhFrame::cie_from_offset;
    let entry = index.fde_for_address(frames, bases, address, find).ok()?;
    Some(entry.initial_address()..entry.end_address())
}

fn one_by_one(
    frames: &EhFrame<Bytes<'_>>,
    bases: &BaseAddresses,
    addresses: &[u64],
) -> Vec<Option<Range<u64>>> {
    let mut found = vec![None; addresses.len()];
    let mut entries = frames.entries(bases);
    // Damage ends the table.
    while let Ok(Some(entry)) = entries.next() {
        let gimli::CieOrFde::Fde(partial) = entry else {
            continue;
        };
        let Ok(entry) = partial.parse(EhFrame::cie_from_offset) else {
            continue;
        };
        let (start, end) = (entry.initial_address(), entry.end_address());
        let first = addresses.partition_point(|&address| address < start);
        let rest = addresses[first..].iter().zip(&mut found[first..]);
        for (_, place) in rest.take_while(|(address, _)| **address < end) {
            *place = Some(start..end);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn both_ways_give_the_starts_of_our_own_functions() {
        let image = Image::open(Path::new("/proc/self/exe")).unwrap();
        let file = image.object().unwrap();
        let symbols = file.symbol_map();
        let mut functions: Vec<u64> = (symbols.symbols().iter())
            .filter(|symbol| symbol.name().contains("profundo_symbols"))
            .map(|symbol| symbol.address())
            .take(200)
            .collect();
        functions.sort_unstable();
        functions.dedup();
        assert!(functions.len() > 50);
        let inside: Vec<u64> = functions.iter().map(|start| start + 1).collect();
        let found = of(&image, &inside);
        let right = functions.iter().zip(&found);
        let right = right
            .filter(|(start, found)| **found == Some(**start))
            .count();
        // Data has symbols too.
        assert!(right * 10 >= functions.len() * 9, "{right}");

        let section = file.section_by_name(".eh_frame").unwrap();
        let bases = BaseAddresses::default().set_eh_frame(section.address());
        let frames = EhFrame::new(section.data().unwrap(), RunTimeEndian::Little);
        assert_eq!(
            one_by_one(&frames, &bases, &inside),
            extents(&image, &inside)
        );
        assert_eq!(of(&image, &[1]), [None]);
    }
}
