//! Heap snapshots: what a page has beside recordings, or in place of them.
//!
//! A snapshot is no recording: it has objects and references, and no time. So it has a list of its
//! own in the [`Library`](crate::Library), and questions of its own. Its graph is read once, and
//! the facts that all answers use are found once.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use profundo_model::graph::Graph;
use profundo_report::HeapFacts;

use crate::{Error, Version};

/// A heap snapshot that can be read again and again.
pub trait Snapshot: Send + Sync {
    /// Its file.
    fn path(&self) -> &Path;

    /// Reads it. The error is a sentence for the reader.
    fn read(&self) -> Result<Graph, String>;

    /// The state of the file.
    fn version(&self) -> Version {
        Version::of(self.path())
    }
}

/// A snapshot with what was found in it.
pub(crate) struct Heap {
    pub graph: Graph,
    pub facts: HeapFacts,
}

/// A snapshot of a page.
pub(crate) struct Kept {
    pub source: Box<dyn Snapshot>,
    heap: Mutex<Option<(Version, Arc<Heap>)>>,
}

impl Kept {
    pub fn new(source: Box<dyn Snapshot>) -> Self {
        Self {
            source,
            heap: Mutex::default(),
        }
    }

    /// The heap, as its file is now.
    pub fn heap(&self) -> Result<Arc<Heap>, Error> {
        let version = self.source.version();
        // Held while it is read: two questions at once would read the file twice.
        let mut kept = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, heap)) = &*kept
            && *known == version
        {
            return Ok(Arc::clone(heap));
        }
        *kept = None;
        let graph = self.source.read().map_err(Error::Read)?;
        let facts = HeapFacts::new(&graph);
        let heap = Arc::new(Heap { graph, facts });
        *kept = Some((version, Arc::clone(&heap)));
        Ok(heap)
    }
}
