//! The program that a `gmon.out` is of, and where its functions begin.

use std::fs;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol, SymbolKind};

use crate::source;

/// A program.
#[derive(Debug)]
pub(super) struct Program {
    pub path: PathBuf,
    /// The starts of its functions, in their order.
    pub starts: Vec<u64>,
}

/// Looks for the program beside the file: `a.out`, or the only one that has functions at all
/// called addresses. These are those after the first call of a function, which counts it.
pub(super) fn find(path: Option<&Path>, called: &[u64]) -> Option<Program> {
    /// Files that are looked at in the folder.
    const FILES: usize = 1000;
    let folder = path?.canonicalize().ok()?.parent()?.to_owned();
    let usual = program(&folder.join("a.out"), called);
    if usual.is_some() {
        return usual;
    }
    let entries = fs::read_dir(&folder).ok()?.take(FILES).flatten();
    let mut fitting = entries.filter_map(|entry| program(&entry.path(), called));
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}

/// The program at a path, if it has functions at the called addresses.
fn program(path: &Path, called: &[u64]) -> Option<Program> {
    let about = fs::metadata(path).ok()?;
    if !about.is_file() || !starts_like_a_program(path) {
        return None;
    }
    let bytes = source::load(path).ok()?;
    let file = object::File::parse(&bytes[..]).ok()?;
    let functions = file.symbols().filter(|symbol| symbol.is_definition());
    let functions = functions.filter(|symbol| symbol.kind() == SymbolKind::Text);
    let mut starts: Vec<u64> = functions.map(|symbol| symbol.address()).collect();
    starts.sort_unstable();
    starts.dedup();
    let fits = |address: &&u64| {
        /// The longest start of a function before it counts its call.
        const PROLOGUE: u64 = 64;
        let after = starts.partition_point(|start| start <= *address);
        let start = after.checked_sub(1).and_then(|at| starts.get(at));
        start.is_some_and(|start| **address - start <= PROLOGUE)
    };
    let fitting = called.iter().filter(fits).count();
    // A few calls are of functions without a name.
    let is_it = !starts.is_empty() && fitting * 10 >= called.len() * 9;
    is_it.then(|| Program {
        path: path.to_owned(),
        starts,
    })
}

fn starts_like_a_program(path: &Path) -> bool {
    let mut start = [0; 4];
    let file = fs::File::open(path);
    let read = file.and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start));
    read.is_ok() && start == *b"\x7fELF"
}
