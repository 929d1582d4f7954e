//! Names from symbol tables, for code without debug information.
//!
//! A table may have a million symbols while a profile asks for a few hundred addresses, so no
//! index is built: one pass over the table keeps the best symbol for each wanted address.

use object::read::SymbolIndex;
use object::{File, Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind, elf};

use crate::image::Image;
use crate::module_file::ModuleFile;

/// A symbol that an address may belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Candidate {
    start: u64,
    size: u64,
    rank: Rank,
    index: SymbolIndex,
}

/// The rank of a name among several for the same code; greater is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    is_function: bool,
    /// `write` before `__write`.
    few_underscores: std::cmp::Reverse<u8>,
    is_strong: bool,
    is_global: bool,
    short: std::cmp::Reverse<usize>,
}

/// The symbol name of each of `addresses`, which are sorted; `None` where there is none.
pub(crate) fn names(module: &ModuleFile, addresses: &[u64]) -> Vec<Option<String>> {
    // A stripped file keeps its dynamic symbols; the full table is then in the debug file.
    let mut found = vec![None; addresses.len()];
    let code = code_sections(module);
    for (image, dynamic) in [
        (&module.main, false),
        (&module.debug, false),
        (&module.mini, false),
        (&module.main, true),
    ] {
        let Some(image) = image else { continue };
        fill(&mut found, image, dynamic, &code, addresses);
    }
    found
}

/// Start and end of each section with code, sorted.
fn code_sections(module: &ModuleFile) -> Vec<(u64, u64)> {
    let mut code: Vec<(u64, u64)> = [&module.main, &module.debug]
        .into_iter()
        .flatten()
        .filter_map(Image::object)
        .flat_map(|file| {
            let sections = file.sections();
            sections
                .filter(is_code)
                .map(|section| {
                    (
                        section.address(),
                        section.address().saturating_add(section.size()),
                    )
                })
                .collect::<Vec<_>>()
        })
        .collect();
    code.sort_unstable();
    code.dedup();
    code
}

/// Decided by the flags and not by the kind: in a separate debug file the code itself is left out.
fn is_code<'data>(section: &impl ObjectSection<'data>) -> bool {
    let code = elf::SHF_ALLOC | elf::SHF_EXECINSTR;
    matches!(section.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags & code == code)
}

fn fill(
    found: &mut [Option<String>],
    image: &Image,
    dynamic: bool,
    code: &[(u64, u64)],
    addresses: &[u64],
) {
    if found.iter().all(Option::is_some) {
        return;
    }
    let Some(file) = image.object() else { return };
    let symbols = if dynamic {
        file.dynamic_symbols()
    } else {
        file.symbols()
    };
    // The best symbol whose size covers the address, and the last one at or below it.
    let mut inside: Vec<Option<Candidate>> = vec![None; addresses.len()];
    let mut below: Vec<Option<Candidate>> = vec![None; addresses.len()];
    for symbol in symbols {
        if symbol.is_undefined() || !matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Unknown)
        {
            continue;
        }
        let start = symbol.address();
        let first = addresses.partition_point(|address| *address < start);
        if first == addresses.len() {
            continue;
        }
        // Most symbols are of other functions: they are skipped before their names are read.
        let end = start.saturating_add(symbol.size());
        let is_covered = below[first].is_some_and(|best| best.start > start);
        if addresses[first] >= end && is_covered {
            continue;
        }
        let Some(candidate) = candidate(&symbol) else {
            continue;
        };
        if below[first].is_none_or(|best| (best.start, best.rank) < (start, candidate.rank)) {
            below[first] = Some(candidate);
        }
        for (address, best) in addresses[first..].iter().zip(&mut inside[first..]) {
            if *address >= end {
                break;
            }
            if best.is_none_or(|best| (best.start, best.rank) < (start, candidate.rank)) {
                *best = Some(candidate);
            }
        }
    }
    let mut last: Option<Candidate> = None;
    for (index, address) in addresses.iter().enumerate() {
        last = below[index].or(last);
        if found[index].is_some() {
            continue;
        }
        // Hand-written assembly often gives no size; such a symbol reaches to the next one, but
        // not out of its section.
        let section = code
            .iter()
            .find(|(start, end)| (*start..*end).contains(address));
        let unsized_below = last.filter(|symbol| {
            symbol.size == 0 && section.is_some_and(|(start, _)| symbol.start >= *start)
        });
        let best = inside[index].or(unsized_below);
        found[index] = best
            .and_then(|best| {
                let table = if dynamic {
                    file.dynamic_symbol_table()
                } else {
                    file.symbol_table()
                };
                name_of(&table?, best.index)
            })
            .filter(|name| !name.is_empty());
    }
}

fn name_of<'data>(
    table: &impl object::ObjectSymbolTable<'data>,
    index: SymbolIndex,
) -> Option<String> {
    let symbol = table.symbol_by_index(index).ok()?;
    Some(String::from_utf8_lossy(symbol.name_bytes().ok()?).into_owned())
}

fn candidate<'data>(symbol: &impl ObjectSymbol<'data>) -> Option<Candidate> {
    let name = symbol.name_bytes().ok()?;
    // `$x` and its like mark the kind of the following bytes and name nothing.
    if name.is_empty() || name.starts_with(b"$") {
        return None;
    }
    let underscores = name.iter().take_while(|byte| **byte == b'_').count();
    let rank = Rank {
        is_function: symbol.kind() == SymbolKind::Text,
        few_underscores: std::cmp::Reverse(underscores.min(255) as u8),
        is_strong: !symbol.is_weak(),
        is_global: symbol.is_global(),
        short: std::cmp::Reverse(name.len()),
    };
    Some(Candidate {
        start: symbol.address(),
        size: symbol.size(),
        rank,
        index: symbol.index(),
    })
}

/// The sections of `file` that are named in `names`: name, address and contents.
pub(crate) fn sections_named<'data>(file: &File<'data>, names: &[&str]) -> Vec<(u64, &'data [u8])> {
    names
        .iter()
        .filter_map(|name| file.section_by_name(name))
        .filter_map(|section| Some((section.address(), section.data().ok()?)))
        .collect()
}
