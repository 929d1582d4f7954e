//! The names and lines that a file has, found out without a lookup.

use std::path::{Path, PathBuf};

use crate::Problem;
use crate::module_file::{FileOptions, ModuleFile};

/// The available names of a file's code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DebugInformation {
    /// Functions, files and lines. The path is that of the separate file, if there is one.
    Lines(Option<PathBuf>),
    /// The names of all functions. The path is that of the separate file, if there is one.
    Functions(Option<PathBuf>),
    /// The names of exported functions, or none.
    Exports,
    /// The file cannot be read.
    Unreadable(Problem),
}

impl DebugInformation {
    /// The result for the file at `path`, or for its separate file below one of the roots.
    pub(crate) fn of(files: &FileOptions, path: &Path) -> Self {
        let module = ModuleFile::open(files, &path.to_string_lossy(), &[]);
        let Some(main) = &module.main else {
            let problem = module.problems.into_iter().next();
            return problem.map_or(Self::Exports, Self::Unreadable);
        };
        let beside =
            |image: &crate::image::Image| (image.path != main.path).then(|| image.path.clone());
        if let Some(image) = module.debug_image() {
            return Self::Lines(beside(image));
        }
        let images = [&module.main, &module.debug].into_iter().flatten();
        let mut whole = images.filter(|image| image.has_symbols());
        whole
            .next()
            .map_or(Self::Exports, |image| Self::Functions(beside(image)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Symbolizer;

    #[test]
    fn this_test_has_lines_and_what_is_no_program_has_nothing() {
        let symbolizer = Symbolizer::new();
        let own = std::env::current_exe().unwrap();
        let found = symbolizer.debug_information(&own);
        assert!(matches!(found, DebugInformation::Lines(None)), "{found:?}");
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let found = symbolizer.debug_information(&manifest);
        assert!(
            matches!(found, DebugInformation::Unreadable(_)),
            "{found:?}"
        );
    }
}
