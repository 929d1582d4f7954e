//! The machine code of a module: the extents of its functions, their bytes, and the names of the
//! addresses that code refers to.

use std::ops::Range;
use std::path::Path;

use object::{Architecture, Object, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::Problem;
use crate::demangle::demangle;
use crate::image::Image;
use crate::module_file::{FileOptions, ModuleFile};
use crate::plt::SlotContent;
use crate::{plt, starts, symtab};

/// The kind of processor that code is for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Processor {
    /// x86 in 64-bit mode.
    X86_64,
    /// x86 in 32-bit mode.
    X86,
    /// Another one, by its name.
    Other(String),
}

/// The code of a module's file, as it lies on this machine.
#[derive(Debug)]
pub struct MachineCode {
    module: ModuleFile,
    /// The functions with a symbol that has a size, by their start.
    functions: Vec<Range<u64>>,
}

impl MachineCode {
    pub(crate) fn open(
        files: &FileOptions,
        module_path: &str,
        build_id: &[u8],
    ) -> Result<Self, Problem> {
        let mut module = ModuleFile::open(files, module_path, build_id);
        if module.main.is_none() {
            return Err(match module.problems.is_empty() {
                true => Problem::NoSymbols,
                false => module.problems.remove(0),
            });
        }
        let mut functions = Vec::new();
        for image in [&module.main, &module.debug].into_iter().flatten() {
            if let Some(file) = image.object() {
                functions.extend(file.symbols().filter_map(|symbol| extent(&symbol)));
                functions.extend(file.dynamic_symbols().filter_map(|symbol| extent(&symbol)));
            }
        }
        functions.sort_unstable_by_key(|function: &Range<u64>| (function.start, function.end));
        functions.dedup();
        Ok(Self { module, functions })
    }

    fn image(&self) -> &Image {
        let main = self.module.main.as_ref();
        main.expect("a module without a file is an error above")
    }

    /// The file that the code is read from.
    pub fn path(&self) -> &Path {
        &self.image().path
    }

    /// The build id of that file; empty where it has none.
    pub fn build_id(&self) -> &[u8] {
        &self.image().build_id
    }

    /// The kind of processor that the code is for.
    pub fn processor(&self) -> Processor {
        match self.image().object().map(|file| file.architecture()) {
            Some(Architecture::X86_64) => Processor::X86_64,
            Some(Architecture::I386) => Processor::X86,
            Some(other) => Processor::Other(format!("{other:?}").to_lowercase()),
            None => Processor::Other("unknown".to_owned()),
        }
    }

    /// The extent of the function that each of the `addresses` lies in: of its symbol, or else of
    /// its entry in the unwind table. `None` where neither has it.
    pub fn functions(&self, addresses: &[u64]) -> Vec<Option<Range<u64>>> {
        let mut found: Vec<_> = (addresses.iter())
            .map(|&address| self.function(address))
            .collect();
        let mut open: Vec<usize> = (0..found.len()).filter(|&at| found[at].is_none()).collect();
        open.sort_by_key(|&at| addresses[at]);
        let wanted: Vec<u64> = open.iter().map(|&at| addresses[at]).collect();
        for (at, extent) in open.into_iter().zip(starts::extents(self.image(), &wanted)) {
            found[at] = extent;
        }
        found
    }

    /// The innermost symbol with a size around an address.
    fn function(&self, address: u64) -> Option<Range<u64>> {
        /// Symbols overlap rarely, and then a few of them.
        const MOST: usize = 32;
        let above = self
            .functions
            .partition_point(|function| function.start <= address);
        let below = &self.functions[above.saturating_sub(MOST)..above];
        let mut around = below
            .iter()
            .rev()
            .filter(|function| function.contains(&address));
        let first = around.next()?;
        // Of several symbols at one address, the longest has all of the function.
        let longest = around.take_while(|other| other.start == first.start);
        Some(
            longest
                .last()
                .filter(|other| other.end > first.end)
                .unwrap_or(first)
                .clone(),
        )
    }

    /// The bytes at these addresses, if the file has all of them.
    pub fn bytes(&self, range: &Range<u64>) -> Option<Vec<u8>> {
        let file = self.image().object()?;
        file.segments().find_map(|segment| {
            let length = range.end.checked_sub(range.start)?;
            segment
                .data_range(range.start, length)
                .ok()
                .flatten()
                .map(<[u8]>::to_vec)
        })
    }

    /// The names of the `addresses`, which are sorted: of a function or of data, with the distance
    /// from its start; of a stub in the procedure linkage table; of the function whose address lies
    /// in a slot.
    pub fn names(&self, addresses: &[u64]) -> Vec<Option<String>> {
        let image = self.image();
        let stubs = plt::names(image, addresses);
        let slots = plt::contents(image, addresses);
        let behind: Vec<u64> = (slots.iter())
            .map(|slot| match slot {
                Some(SlotContent::Address(address)) => *address,
                _ => 0,
            })
            .collect();
        let mut sorted = behind.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let names_behind = self.symbols(&sorted);
        let symbols = self.symbols(addresses);
        let mut names = Vec::with_capacity(addresses.len());
        for (((stub, slot), symbol), behind) in
            stubs.into_iter().zip(slots).zip(symbols).zip(behind)
        {
            let of_slot = match slot {
                Some(SlotContent::Symbol(name)) => Some(demangle(&name).function),
                Some(SlotContent::Address(_)) => {
                    let at = sorted.binary_search(&behind).ok();
                    at.and_then(|at| names_behind[at].clone())
                }
                None => None,
            };
            names.push(stub.or(of_slot).or(symbol));
        }
        names
    }

    /// The symbols around the `addresses`, which are sorted.
    fn symbols(&self, addresses: &[u64]) -> Vec<Option<String>> {
        let names = symtab::names(&self.module, addresses).into_iter();
        let named = names.zip(addresses).map(|(name, &address)| {
            let name = demangle(&name?).function;
            let start = self.function(address).map(|function| function.start);
            Some(match start.filter(|&start| start < address) {
                Some(start) => format!("{name}+0x{:x}", address - start),
                None => name,
            })
        });
        named.collect()
    }
}

/// The extent of a function's symbol.
fn extent<'data>(symbol: &impl ObjectSymbol<'data>) -> Option<Range<u64>> {
    let is_function = symbol.kind() == SymbolKind::Text && symbol.is_definition();
    let end = symbol.address().checked_add(symbol.size())?;
    (is_function && symbol.size() > 0).then_some(symbol.address()..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Symbolizer;
    use object::ObjectSection;

    /// The code of this test program.
    fn own() -> MachineCode {
        let own = std::env::current_exe().unwrap();
        Symbolizer::new()
            .machine_code(own.to_str().unwrap(), &[])
            .unwrap()
    }

    #[test]
    fn another_build_id_is_another_file() {
        let own = std::env::current_exe().unwrap();
        let found = Symbolizer::new().machine_code(own.to_str().unwrap(), b"another");
        assert!(
            matches!(found, Err(Problem::BuildIdDiffers { .. })),
            "{found:?}"
        );
    }

    #[test]
    fn symbols_and_unwind_tables_agree_on_the_extents_of_functions() {
        let code = own();
        let starts: Vec<u64> = (code.functions.iter())
            .filter(|function| function.end - function.start > 16)
            .map(|function| function.start)
            .take(500)
            .collect();
        let inside: Vec<u64> = starts.iter().map(|start| start + 1).collect();
        let of_symbols = code.functions(&inside);
        let of_table = starts::extents(code.image(), &inside);
        let is_same = |(one, other): &(&Option<Range<u64>>, &Option<Range<u64>>)| one == other;
        let same = of_symbols.iter().zip(&of_table).filter(is_same).count();
        assert!(same * 20 >= starts.len() * 19, "{same} of {}", starts.len());
    }

    #[test]
    fn a_function_has_its_bytes() {
        let code = own();
        let section = code.image().object().unwrap();
        let section = section.section_by_name(".text").unwrap();
        let range = section.address()..section.address() + 64;
        assert_eq!(code.bytes(&range).unwrap(), &section.data().unwrap()[..64]);
        assert_eq!(code.bytes(&(u64::MAX - 4..u64::MAX)), None);
        assert_eq!(code.functions(&[0]), [None]);
    }
}
