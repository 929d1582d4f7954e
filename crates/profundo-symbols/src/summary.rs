//! The result of naming, module by module, for the reports' notes and for `doctor`.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::Problem;

/// The result in one module. The counts are of distinct addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModuleSummary {
    /// The module's path; empty for addresses that lie in no module.
    pub path: Arc<str>,
    /// Its build id, empty where there is none.
    pub build_id: Vec<u8>,
    /// Addresses with a function and a source line.
    pub with_line: usize,
    /// Addresses with a function from a symbol table only.
    pub with_function: usize,
    /// Addresses without a name.
    pub unnamed: usize,
    /// The separate file that the debug information came from.
    pub debug_file: Option<PathBuf>,
    /// Its problems.
    pub problems: Vec<Problem>,
}

/// The result of naming a profile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// A row for each module that had addresses to name, most addresses first.
    pub modules: Vec<ModuleSummary>,
}

impl Summary {
    /// The number of addresses without a name.
    pub fn unnamed(&self) -> usize {
        self.modules.iter().map(|module| module.unnamed).sum()
    }

    /// The number of addresses.
    pub fn addresses(&self) -> usize {
        self.modules.iter().map(ModuleSummary::addresses).sum()
    }
}

impl ModuleSummary {
    /// The number of addresses in the module.
    pub fn addresses(&self) -> usize {
        self.with_line + self.with_function + self.unnamed
    }
}

impl fmt::Display for Summary {
    /// A line for each module that has a problem; nothing where all is well.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for module in self
            .modules
            .iter()
            .filter(|module| !module.problems.is_empty())
        {
            let path = if module.path.is_empty() {
                "no module"
            } else {
                &module.path
            };
            write!(f, "{path}: ")?;
            for (index, problem) in module.problems.iter().enumerate() {
                let separator = if index == 0 { "" } else { "; " };
                write!(f, "{separator}{problem}")?;
            }
            writeln!(
                f,
                " ({} of {} addresses unnamed)",
                module.unnamed,
                module.addresses()
            )?;
        }
        Ok(())
    }
}
