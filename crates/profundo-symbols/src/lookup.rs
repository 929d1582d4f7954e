//! One round of lookups in one module: debug information first, then symbol tables, then PLT stubs.
//! A function without any name is called by its offset in its file.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use profundo_model::{Language, place_name};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::Arena;
use crate::cache::{Found, Resolved, Source};
use crate::cython::{self, Cython};
use crate::demangle::{demangle, is_long_form, is_short, with_generics};
use crate::dwarf::{DebugInfo, Family, RawFrame};
use crate::module_file::ModuleFile;
use crate::{NamedFrame, Problem, plt, starts, symtab};

/// Names `addresses`, which are sorted, in the module file with this path.
pub(crate) fn names(module: &ModuleFile, module_path: &str, addresses: &[u64]) -> Found {
    let split_files = Arena::new();
    let mut problems = Vec::new();
    let mut texts = Texts::default();
    let module_path = texts.text(module_path);

    let mut found: Vec<Vec<NamedFrame>> = Vec::with_capacity(addresses.len());
    let mut missing = Vec::new();
    // The addresses left to the symbol tables.
    let mut open: Vec<usize> = Vec::new();
    match guarded(|| DebugInfo::open(module, &split_files)) {
        Ok(Some(debug)) => {
            for (index, address) in addresses.iter().enumerate() {
                let frames = guarded(|| debug.frames(*address)).unwrap_or_else(|problem| {
                    note(&mut problems, problem);
                    Vec::new()
                });
                // C's names have no long form.
                let may_be_short = frames.last().is_none_or(|f| f.family != Family::Other);
                let frames: Vec<_> = frames.into_iter().map(|f| texts.frame(f)).collect();
                let function = frames.last().map_or("", |frame| &frame.function);
                if function.is_empty() || (may_be_short && is_short(function)) {
                    open.push(index);
                }
                found.push(frames);
            }
            missing = debug.missing();
        }
        Ok(None) => open.extend(0..addresses.len()),
        Err(problem) => {
            open.extend(0..addresses.len());
            note(&mut problems, problem);
        }
    }
    found.resize_with(addresses.len(), Vec::new);

    show_pyx(module, &mut found, &mut texts);
    let has_line: Vec<bool> = found
        .iter()
        .map(|frames| frames.first().is_some_and(|f| !f.file.is_empty()))
        .collect();
    for (index, symbol) in open.iter().zip(symbols(module, addresses, &open)) {
        let Some(symbol) = symbol else { continue };
        let name = texts.name(symbol.as_bytes(), None);
        apply_symbol(&mut found[*index], name, &module_path);
    }

    let is_nameless =
        |frames: &Vec<NamedFrame>| frames.iter().all(|frame| frame.function.is_empty());
    let nameless: Vec<usize> = (0..found.len())
        .filter(|&at| is_nameless(&found[at]))
        .collect();
    let starts = starts_of(module, addresses, &nameless);
    for (&index, start) in nameless.iter().zip(starts) {
        let Some(start) = start else { continue };
        let frames = &mut found[index];
        if frames.is_empty() {
            frames.push(NamedFrame::unknown(&module_path));
        }
        if let Some(frame) = frames.last_mut() {
            frame.function = texts.text(&place_name(&module_path, start));
        }
    }
    let named = add_python_names(module, addresses, &mut found, &mut texts);
    let nameless = nameless.into_iter().filter(|index| !named.contains(index));
    let mut nameless = nameless.peekable();

    let names = found
        .into_iter()
        .zip(has_line)
        .enumerate()
        .map(|(index, (mut frames, has_line))| {
            if frames.is_empty() {
                frames.push(NamedFrame::unknown(&module_path));
            }
            let is_nameless = nameless.next_if_eq(&index).is_some();
            let outermost = frames.len() - 1;
            for (index, frame) in frames.iter_mut().enumerate() {
                frame.inlined = index < outermost;
            }
            let source = match has_line {
                _ if is_nameless => Source::Nothing,
                true => Source::DebugInfo,
                false => Source::Symbols,
            };
            Resolved {
                frames: frames.into(),
                source,
            }
        })
        .collect();
    Found {
        names,
        missing_split_files: missing,
        problems,
    }
}

/// Gives functions compiled by Cython the names and lines of the program.
fn show_pyx(module: &ModuleFile, found: &mut [Vec<NamedFrame>], texts: &mut Texts) {
    let Some(main) = &module.main else { return };
    let mut cython: Option<Cython> = None;
    for frame in found.iter_mut().flatten() {
        let Some(name) = cython::name(&frame.function) else {
            continue;
        };
        let cython = cython.get_or_insert_with(|| Cython::of(&main.path));
        if let Some(at) = cython.line(&frame.file, frame.line) {
            frame.file = texts.text(&at.file);
            frame.line = at.line;
        }
        frame.function = texts.text(&profundo_model::with_python_name(&name, &frame.function));
    }
}

/// Puts Python names before those of C functions. Returns the functions that have no other name.
fn add_python_names(
    module: &ModuleFile,
    addresses: &[u64],
    found: &mut [Vec<NamedFrame>],
    texts: &mut Texts,
) -> FxHashSet<usize> {
    let mut named = FxHashSet::default();
    let Ok(names) = guarded(|| Ok(module.python())) else {
        return named;
    };
    if names.is_empty() {
        return named;
    }
    let all: Vec<usize> = (0..addresses.len()).collect();
    let starts = starts_of(module, addresses, &all);
    for ((index, start), frames) in starts.into_iter().enumerate().zip(found) {
        let name = start.and_then(|start| names.get(start));
        let (Some(name), Some(frame)) = (name, frames.last_mut()) else {
            continue;
        };
        frame.function = match profundo_model::is_start(&frame.function) {
            true => {
                named.insert(index);
                texts.text(name)
            }
            false => texts.text(&profundo_model::with_python_name(name, &frame.function)),
        };
    }
    named
}

/// The starts of the functions of the `addresses` that `nameless` picks.
fn starts_of(module: &ModuleFile, addresses: &[u64], nameless: &[usize]) -> Vec<Option<u64>> {
    let wanted: Vec<u64> = nameless.iter().map(|&index| addresses[index]).collect();
    match &module.main {
        Some(main) if !wanted.is_empty() => {
            let starts = guarded(|| Ok(starts::of(main, &wanted)));
            starts.unwrap_or_else(|_| vec![None; wanted.len()])
        }
        _ => vec![None; wanted.len()],
    }
}

/// The symbols at those of the `addresses` that `open` picks, PLT stubs included.
fn symbols(module: &ModuleFile, addresses: &[u64], open: &[usize]) -> Vec<Option<String>> {
    let wanted: Vec<u64> = open.iter().map(|index| addresses[*index]).collect();
    let mut symbols = symtab::names(module, &wanted);
    if let Some(main) = &module.main
        && symbols.iter().any(Option::is_none)
    {
        for (symbol, stub) in symbols.iter_mut().zip(plt::names(main, &wanted)) {
            *symbol = symbol.take().or(stub);
        }
    }
    symbols
}

/// Fills in what the debug information left open: the function of assembly code, whose lines it
/// may have, and the full name of a function of which it has only the last part.
fn apply_symbol(frames: &mut Vec<NamedFrame>, name: Name, module_path: &Arc<str>) {
    let Some(frame) = frames.last_mut() else {
        frames.push(NamedFrame {
            function: name.function,
            signature: name.signature,
            language: name.language,
            ..NamedFrame::unknown(module_path)
        });
        return;
    };
    // The symbol may be an alias, or one of many names of code that the linker merged: it
    // replaces a plain name only if it is that name's long form.
    if frame.function.is_empty() || is_long_form(&name.function, &frame.function) {
        frame.signature = match with_generics(&name.function, &frame.signature) {
            generics if generics.is_empty() => name.signature,
            generics => generics.into(),
        };
        frame.function = name.function;
        if name.language == Language::Rust {
            frame.language = Language::Rust;
        }
    }
}

/// The last line of defence: the readers of debug information report damage as errors, but a
/// profiler must not take its program down if one of them panics after all.
fn guarded<T>(read: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        Err(Problem::Damaged {
            reason: "a reader panicked".to_owned(),
        })
    })
}

fn note(problems: &mut Vec<Problem>, problem: Problem) {
    if !problems.contains(&problem) {
        problems.push(problem);
    }
}

/// Texts of one round, each stored once and each symbol demangled once.
#[derive(Debug, Default)]
struct Texts {
    texts: FxHashMap<Box<str>, Arc<str>>,
    names: FxHashMap<(Vec<u8>, Vec<u8>), Name>,
}

#[derive(Debug, Clone)]
struct Name {
    function: Arc<str>,
    signature: Arc<str>,
    language: Language,
}

impl Texts {
    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = text.into();
        self.texts.insert(text.into(), Arc::clone(&new));
        new
    }

    fn name(&mut self, symbol: &[u8], plain: Option<&[u8]>) -> Name {
        let key = (symbol.to_vec(), plain.unwrap_or_default().to_vec());
        if let Some(known) = self.names.get(&key) {
            return known.clone();
        }
        let demangled = demangle(&String::from_utf8_lossy(symbol));
        let mut signature = demangled.signature;
        if let Some(plain) = plain
            && demangled.language == Language::Rust
        {
            signature = with_generics(&demangled.function, &String::from_utf8_lossy(plain));
        }
        let name = Name {
            function: self.text(&demangled.function),
            signature: self.text(&signature),
            language: demangled.language,
        };
        self.names.insert(key, name.clone());
        name
    }

    fn frame(&mut self, raw: RawFrame<'_>) -> NamedFrame {
        let mut name = self.name(raw.name, raw.plain);
        if let Some(lambda) = &raw.lambda {
            name.function = self.text(lambda);
        }
        if raw.family == Family::Rust {
            name.language = Language::Rust;
            // With line tables only there are no linkage names, and the plain name has its
            // generics.
            if name.function.ends_with('>')
                && is_short(&name.function)
                && let Some((bare, _)) = name.function.split_once('<')
            {
                let bare = self.text(bare);
                name.signature = std::mem::replace(&mut name.function, bare);
            }
        }
        NamedFrame {
            function: name.function,
            signature: name.signature,
            file: self.text(&raw.file),
            line: raw.line,
            language: name.language,
            inlined: false,
        }
    }
}
