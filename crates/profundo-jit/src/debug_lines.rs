//! The line tables of an unlinked object file: its debug sections hold gaps, and relocations that
//! say how to fill them. Debuggers fill them, and so does this.

use std::borrow::Cow;
use std::sync::Arc;

use gimli::{EndianSlice, LittleEndian, SectionId};
use object::read::{Object, ObjectSection, ObjectSymbol};
use object::{ObjectKind, RelocationKind, RelocationTarget, SymbolSection};
use rustc_hash::FxHashMap;

/// More rows than this are not taken from one file.
const MOST_ROWS: usize = 1 << 20;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The starts of lines, sorted by address; line 0 where a sequence of code ends.
pub(crate) fn debug_lines(file: &object::File<'_>) -> Vec<(u64, Arc<str>, u32)> {
    let load = |id: SectionId| Ok::<_, gimli::Error>(contents(file, id.name()));
    let Ok(sections) = gimli::DwarfSections::load(load) else {
        return Vec::new();
    };
    let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
    let mut rows = Vec::new();
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        // An unreadable part ends with its unit.
        let _ = dwarf
            .unit(header)
            .and_then(|unit| unit_rows(&dwarf, &unit, &mut rows));
    }
    rows.sort_by_key(|row| row.0);
    rows
}

fn unit_rows(
    dwarf: &gimli::Dwarf<Slice<'_>>,
    unit: &gimli::Unit<Slice<'_>>,
    out: &mut Vec<(u64, Arc<str>, u32)>,
) -> gimli::Result<()> {
    let Some(program) = unit.line_program.clone() else {
        return Ok(());
    };
    let mut files: FxHashMap<u64, Arc<str>> = FxHashMap::default();
    let mut rows = program.rows();
    while let Some((header, row)) = rows.next_row()? {
        if out.len() >= MOST_ROWS {
            break;
        }
        let index = row.file_index();
        let file = match files.get(&index) {
            Some(file) => Arc::clone(file),
            None => {
                let path = row.file(header).map(|file| path(dwarf, unit, header, file));
                let path: Arc<str> = path.transpose()?.unwrap_or_default().into();
                files.insert(index, Arc::clone(&path));
                path
            }
        };
        let line = match row.end_sequence() {
            true => 0,
            false => row
                .line()
                .map_or(0, |line| u32::try_from(line.get()).unwrap_or(0)),
        };
        out.push((row.address(), file, line));
    }
    Ok(())
}

fn path(
    dwarf: &gimli::Dwarf<Slice<'_>>,
    unit: &gimli::Unit<Slice<'_>>,
    header: &gimli::LineProgramHeader<Slice<'_>>,
    file: &gimli::FileEntry<Slice<'_>>,
) -> gimli::Result<String> {
    let text = |value| -> gimli::Result<String> {
        Ok(dwarf
            .attr_string(unit, value)?
            .to_string_lossy()
            .into_owned())
    };
    let mut path = String::new();
    let mut push = |part: &str| {
        if part.starts_with('/') {
            path.clear();
        } else if !path.is_empty() && !path.ends_with('/') {
            path.push('/');
        }
        path.push_str(part);
    };
    if let Some(directory) = &unit.comp_dir {
        push(&directory.to_string_lossy());
    }
    if let Some(directory) = file.directory(header) {
        push(&text(directory)?);
    }
    push(&text(file.path_name())?);
    Ok(path)
}

/// A section with its gaps filled; empty if there is none.
fn contents<'a>(file: &object::File<'a>, name: &str) -> Cow<'a, [u8]> {
    let Some(section) = file.section_by_name(name) else {
        return Cow::default();
    };
    let Ok(bytes) = section.uncompressed_data() else {
        return Cow::default();
    };
    if file.kind() != ObjectKind::Relocatable {
        return bytes;
    }
    let mut bytes = bytes.into_owned();
    for (offset, relocation) in section.relocations() {
        let RelocationTarget::Symbol(index) = relocation.target() else {
            continue;
        };
        let Ok(symbol) = file.symbol_by_index(index) else {
            continue;
        };
        let base = match symbol.section() {
            SymbolSection::Section(index) => file
                .section_by_index(index)
                .map_or(0, |section| section.address()),
            _ => 0,
        };
        if relocation.kind() != RelocationKind::Absolute {
            continue;
        }
        let value = base
            .wrapping_add(symbol.address())
            .wrapping_add_signed(relocation.addend());
        let size = usize::from(relocation.size() / 8);
        let place = usize::try_from(offset)
            .ok()
            .and_then(|offset| bytes.get_mut(offset..offset.checked_add(size)?));
        if let (Some(place), Some(value)) = (place, value.to_le_bytes().get(..size)) {
            place.copy_from_slice(value);
        }
    }
    Cow::Owned(bytes)
}
