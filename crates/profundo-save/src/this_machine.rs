//! What all recordings of this command begin with.

use profundo_ingest::Ingest;
use profundo_linux::machine;
use profundo_model::Machine;

use crate::qualified_names;

/// A recording on this machine: its processors and its kernel, and names as its sources have them.
pub(crate) fn noted(ingest: Ingest) -> Ingest {
    let mut ingest = ingest.qualified_names(qualified_names::by_source());
    let this = machine::this();
    ingest.profile_mut().meta.machine = Some(Machine {
        cpu: this.cpu,
        cpus: this.cpus,
        kernel: this.kernel,
        others: None,
    });
    ingest
}
