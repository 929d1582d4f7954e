//! Who is asked for what a recording does not have.

use super::Ingest;
use crate::qualified::QualifiedNames;

impl Ingest {
    /// Who is asked for the qualified names of functions whose interpreter does not know them.
    pub fn qualified_names(mut self, names: QualifiedNames) -> Self {
        self.qualified.ask(names);
        self
    }
}
