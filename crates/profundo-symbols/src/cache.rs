//! Names that were found, kept as long as the symbolizer. Module files are distinguished by path
//! and build id, so a rebuilt program is another module.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::module_file::ModuleFile;
use crate::{ModuleSummary, NamedFrame, Problem};

/// The source of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Debug information, with a source line.
    DebugInfo,
    /// A symbol table, or debug information without lines.
    Symbols,
    /// No source.
    Nothing,
}

/// The names of an address.
#[derive(Debug, Clone)]
pub(crate) struct Resolved {
    /// Innermost first; never empty.
    pub(crate) frames: Arc<[NamedFrame]>,
    /// Their source.
    pub(crate) source: Source,
}

/// The names of the addresses of one piece of a module.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The names in the order of the addresses.
    pub(crate) names: Vec<Resolved>,
    /// Split debug files that could not be opened.
    pub(crate) missing_split_files: Vec<PathBuf>,
    /// The problems on the way.
    pub(crate) problems: Vec<Problem>,
}

/// A module's file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ModuleKey {
    /// Its path as the target sees it; empty for addresses outside of all modules.
    pub(crate) path: Arc<str>,
    /// Its build id.
    pub(crate) build_id: Vec<u8>,
}

/// The names of a module.
#[derive(Debug, Default)]
pub(crate) struct ModuleNames {
    names: FxHashMap<u64, Resolved>,
    problems: Vec<Problem>,
    missing_split_files: BTreeSet<PathBuf>,
    debug_file: Option<PathBuf>,
}

impl ModuleNames {
    /// The names of an address in the file.
    pub(crate) fn get(&self, address: u64) -> Option<&Resolved> {
        self.names.get(&address)
    }

    /// The number of addresses.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Adds the facts about the module's files.
    pub(crate) fn add_files(&mut self, files: &ModuleFile) {
        self.debug_file = files.debug.as_ref().map(|image| image.path.clone());
        self.add_problems(files.problems.iter().cloned());
    }

    /// Adds the names of a piece of the module. Where `found` is short, the rest is unnamed.
    pub(crate) fn add(&mut self, key: &ModuleKey, addresses: &[u64], found: Found) {
        let mut names = found.names.into_iter();
        for address in addresses {
            let resolved = names.next().unwrap_or_else(|| unknown(key));
            self.names.insert(*address, resolved);
        }
        self.add_problems(found.problems);
        self.missing_split_files.extend(found.missing_split_files);
    }

    fn add_problems(&mut self, problems: impl IntoIterator<Item = Problem>) {
        for problem in problems {
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }

    /// A row of the summary, for these addresses of the module.
    pub(crate) fn summary(&self, key: &ModuleKey, addresses: &[u64]) -> ModuleSummary {
        let count = |source| {
            let of = |address: &&u64| self.get(**address).is_some_and(|r| r.source == source);
            addresses.iter().filter(of).count()
        };
        let mut problems = self.problems.clone();
        if let Some(first) = self.missing_split_files.first() {
            problems.push(Problem::SplitFilesMissing {
                count: self.missing_split_files.len(),
                first: first.clone(),
            });
        }
        // Addresses outside of all modules have no entry and no name.
        let unnamed = addresses.len() - count(Source::DebugInfo) - count(Source::Symbols);
        ModuleSummary {
            path: Arc::clone(&key.path),
            build_id: key.build_id.clone(),
            with_line: count(Source::DebugInfo),
            with_function: count(Source::Symbols),
            unnamed,
            debug_file: self.debug_file.clone(),
            problems,
        }
    }
}

/// The result for an unknown address.
pub(crate) fn unknown(key: &ModuleKey) -> Resolved {
    Resolved {
        frames: [NamedFrame::unknown(&key.path)].into(),
        source: Source::Nothing,
    }
}
