//! An object file that a JIT compiler has put into memory: its sections have the addresses of the
//! code, its symbols the functions, its debug information their lines.

use std::sync::Arc;

use object::read::{Object, ObjectSection, ObjectSymbol};
use object::{ObjectKind, SymbolKind, SymbolSection};

use crate::code::{At, Code, Line, name_of};
use crate::debug_lines::debug_lines;

/// The largest number of functions from one file.
const MOST: usize = 1 << 16;

/// The contents of an object file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectCode {
    /// Its functions, sorted.
    pub codes: Vec<Code>,
}

/// Reads an object file. `None`: it is none, or one for another kind of machine.
pub fn object_code(bytes: &[u8]) -> Option<ObjectCode> {
    let file = object::File::parse(bytes).ok()?;
    if !file.is_64() || !file.is_little_endian() {
        return None;
    }
    let is_relocatable = file.kind() == ObjectKind::Relocatable;
    let mut codes: Vec<Code> = Vec::new();
    for symbol in file.symbols().take(MOST) {
        let SymbolSection::Section(section) = symbol.section() else {
            continue;
        };
        let is_code = symbol.kind() == SymbolKind::Text && symbol.size() > 0;
        let Some(name) = symbol
            .name_bytes()
            .ok()
            .filter(|name| !name.is_empty() && is_code)
        else {
            continue;
        };
        // In a linked file, symbols have addresses; in an unlinked one, offsets in sections.
        let base = match is_relocatable {
            true => file
                .section_by_index(section)
                .map_or(0, |section| section.address()),
            false => 0,
        };
        let start = base.wrapping_add(symbol.address());
        // A section without an address was not loaded.
        let is_loaded = base != 0 || !is_relocatable;
        if is_loaded && start.checked_add(symbol.size()).is_some() {
            codes.push(Code {
                start,
                size: symbol.size(),
                name: name_of(name),
                since: At::Always,
                lines: Arc::default(),
            });
        }
    }
    codes.sort_by_key(|code| code.start);
    // Aliases: the first one is kept.
    codes.dedup_by_key(|code| code.start);
    let lines = debug_lines(&file);
    for code in &mut codes {
        code.lines = lines_of(code, &lines);
    }
    Some(ObjectCode { codes })
}

/// The lines of a function among all `lines`, which are sorted.
fn lines_of(code: &Code, lines: &[(u64, Arc<str>, u32)]) -> Arc<[Line]> {
    let end = code.start + code.size;
    // The line before may reach into it.
    let after = lines.partition_point(|line| line.0 <= code.start);
    let first = after.saturating_sub(1);
    let lines = lines.get(first..).unwrap_or_default().iter();
    lines
        .take_while(|line| line.0 < end)
        .map(|(address, file, line)| Line {
            offset: address.saturating_sub(code.start),
            file: Arc::clone(file),
            line: *line,
        })
        .collect()
}
