//! The functions of an executable, and their offsets in the file.

use std::collections::BTreeMap;
use std::path::Path;

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::Problem;
use crate::demangle::demangle;
use crate::image::Image;

/// A function in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionInFile {
    /// Its readable name.
    pub name: String,
    /// The file offset of its code.
    pub offset: u64,
}

/// The functions of the file, in the order of their offsets. Of several names, the alphabetically
/// first is taken.
pub fn functions_of(path: &Path) -> Result<Vec<FunctionInFile>, Problem> {
    let image = Image::open(path)?;
    let Some(file) = image.object() else {
        return Ok(Vec::new());
    };
    let code: Vec<(u64, u64, u64)> = file
        .segments()
        .map(|segment| {
            let (offset, length) = segment.file_range();
            (segment.address(), length, offset)
        })
        .collect();
    let place = |address: u64| {
        code.iter().find_map(|&(start, length, offset)| {
            let within = address
                .checked_sub(start)
                .filter(|&within| within < length)?;
            offset.checked_add(within)
        })
    };
    let mut found: BTreeMap<u64, String> = BTreeMap::new();
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        if symbol.kind() != SymbolKind::Text || !symbol.is_definition() || symbol.size() == 0 {
            continue;
        }
        let (Some(offset), Ok(name)) = (place(symbol.address()), symbol.name()) else {
            continue;
        };
        // The rarely used rest of a function, which is jumped to.
        if name.ends_with(".cold") {
            continue;
        }
        let name = demangle(name).function;
        found
            .entry(offset)
            .and_modify(|known| {
                if name < *known {
                    known.clone_from(&name);
                }
            })
            .or_insert(name);
    }
    match found.is_empty() {
        true => Err(Problem::NoSymbols),
        false => Ok(found
            .into_iter()
            .map(|(offset, name)| FunctionInFile { name, offset })
            .collect()),
    }
}
