//! The names by which Python code calls C functions: `sorted` is `builtin_sorted`, `list.append` is
//! `list_append`.
//!
//! They are read from the tables in the file that CPython itself reads (`tables.rs`), so they hold
//! for every version and for every extension module, also for a file without symbols.

use std::path::Path;

use rustc_hash::FxHashMap;

use crate::image::Image;
use memory::Memory;
use object::{Object, ObjectSymbol};
use tables::Given;

mod jumps;
mod kept;
mod memory;
mod tables;

/// The Python names of the functions in one file.
#[derive(Debug, Default)]
pub(crate) struct PythonNames {
    /// By the functions' addresses.
    names: FxHashMap<u64, String>,
}

impl PythonNames {
    /// The Python names of a file; none where it is neither an interpreter nor an extension module.
    /// `cache` is the folder for long lists of names.
    pub(crate) fn of(image: &Image, cache: Option<&Path>) -> Self {
        let Some(file) = image.object().filter(uses_python) else {
            return Self::default();
        };
        if let Some(names) = cache.and_then(|cache| kept::read(cache, &image.build_id)) {
            return Self { names };
        }
        let names = Memory::of(&file).map(|memory| {
            let mut names = chosen(tables::read(&memory));
            jumps::follow(&file, &memory, &mut names);
            names
        });
        let names = names.unwrap_or_default();
        if let Some(cache) = cache {
            kept::keep(cache, &image.build_id, &names);
        }
        Self { names }
    }

    /// True if there are no names.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of the function that begins at an address.
    pub(crate) fn get(&self, start: u64) -> Option<&str> {
        self.names.get(&start).map(String::as_str)
    }
}

/// Whether a file makes modules or types, or is the interpreter.
fn uses_python(file: &object::File<'_>) -> bool {
    const NAMES: [&str; 6] = [
        "PyModuleDef_Init",
        "PyModule_Create2",
        "PyType_Ready",
        "PyType_FromSpec",
        "PyType_FromSpecWithBases",
        "PyType_FromModuleAndSpec",
    ];
    file.dynamic_symbols()
        .any(|symbol| symbol.name().is_ok_and(|name| NAMES.contains(&name)))
}

/// One name for each function. A function with several names is called by the method that they
/// share, and has no Python name if they share none.
fn chosen(given: Vec<Given>) -> FxHashMap<u64, String> {
    let mut by_function: FxHashMap<u64, Vec<Given>> = FxHashMap::default();
    for given in given {
        by_function.entry(given.function).or_default().push(given);
    }
    by_function
        .into_iter()
        .filter_map(|(function, given)| Some((function, choose(&given)?)))
        .collect()
}

fn choose(given: &[Given]) -> Option<String> {
    // `dict.get` is a method; its being a slot as well (`__contains__`) adds nothing.
    let methods: Vec<&Given> = given.iter().filter(|name| name.is_method).collect();
    let candidates = match methods.is_empty() {
        true => given.iter().collect(),
        false => methods,
    };
    let (first, others) = candidates.split_first()?;
    let is_same_owner = others.iter().all(|name| name.owner == first.owner);
    let is_same_method = others.iter().all(|name| name.method == first.method);
    match (is_same_owner, is_same_method) {
        (true, true) => Some(joined(&first.owner, &first.method)),
        (false, true) if first.is_method => Some(first.method.clone()),
        (true, false) if first.is_method => alias(&candidates),
        _ => None,
    }
}

/// Of several names in one table the shortest: `acquire` of `acquire_lock`, `acquire` and
/// `__enter__`. A function mostly known by special names gets none.
fn alias(given: &[&Given]) -> Option<String> {
    let is_special = |name: &&&Given| name.method.starts_with("__");
    if given.iter().filter(is_special).count() > 1 {
        return None;
    }
    let plain = given.iter().filter(|name| !is_special(name));
    let best = plain.min_by_key(|name| name.method.len())?;
    Some(joined(&best.owner, &best.method))
}

fn joined(owner: &str, method: &str) -> String {
    let owner = owner.strip_prefix("builtins.").unwrap_or(owner);
    match (owner, method) {
        ("" | "builtins", method) => method.to_owned(),
        (owner, "") => owner.to_owned(),
        (owner, method) => format!("{owner}.{method}"),
    }
}

#[cfg(test)]
mod tests;
