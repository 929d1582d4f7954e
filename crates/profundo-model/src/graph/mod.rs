//! A heap as a graph: objects and their references.
//!
//! A producer passes objects to a [`Sink`] one at a time, in any order, so that a heap larger than
//! the free memory can be written. A [`Graph`] is a heap in memory, for questions.
//!
//! ```
//! use profundo_model::graph::{Builder, Label, Sink};
//!
//! let mut heap = Builder::default();
//! let kind = heap.node_kind("synthetic")?;
//! let list = heap.node_kind("list")?;
//! let element = heap.edge_kind("element")?;
//! let name = heap.name(b"")?;
//! let root = heap.node(kind, name, 0, 0)?;
//! let table = heap.node(list, name, 0x1000, 64)?;
//! heap.edge(element, Label::Index(3), root, table)?;
//!
//! let graph = heap.finish();
//! let edge = graph.edges_of(root).next().unwrap();
//! assert_eq!((graph.edge_to(edge), graph.size(table)), (table, 64));
//! # Ok::<(), profundo_model::graph::Full>(())
//! ```

mod build;
mod sink;
mod table;

pub use build::{Builder, Full};
pub use sink::{EdgeKindId, Label, NameId, NodeId, NodeKindId, REDACTED, Sink};
pub use table::{Columns, EdgeId, Graph, Odd, Texts};
