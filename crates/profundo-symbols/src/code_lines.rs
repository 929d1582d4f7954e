//! The lines of source files that have code: those with a row in the line table.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::Problem;
use crate::arena::Arena;
use crate::dwarf::DebugInfo;
use crate::module_file::{FileOptions, ModuleFile};

/// By source file, the lines with code in the file at `path`; none where it has no debug
/// information.
pub(crate) fn of(
    files: &FileOptions,
    path: &Path,
) -> Result<BTreeMap<String, BTreeSet<u32>>, Problem> {
    let module = ModuleFile::open(files, &path.to_string_lossy(), &[]);
    let split_files = Arena::new();
    // Readers of a broken file may panic; that must not end the program.
    let read = || match DebugInfo::open(&module, &split_files)? {
        Some(debug) => debug.code_lines(),
        None => Ok(BTreeMap::new()),
    };
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        Err(Problem::Damaged {
            reason: "a reader panicked".to_owned(),
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::Symbolizer;

    #[test]
    fn this_function_has_lines_with_code() {
        let call = line!() + 2;
        let found = Symbolizer::new()
            .code_lines(&std::env::current_exe().unwrap())
            .unwrap();
        let own = found
            .iter()
            .find(|(path, _)| path.ends_with("src/code_lines.rs"));
        let (_, lines) = own.expect("this file has code");
        assert!(lines.contains(&call), "{call} of {lines:?}");
        // A comment has none.
        assert!(!lines.contains(&1));
        let nothing = std::path::Path::new("/nonexistent");
        assert!(Symbolizer::new().code_lines(nothing).unwrap().is_empty());
    }
}
