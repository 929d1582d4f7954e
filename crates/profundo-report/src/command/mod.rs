//! The reports of the command. Each is a builder that is a [`View`]: it has its choices
//! ([`Choices`](crate::Choices)) and its appearance ([`Look`](crate::Look)), and gives its answer
//! as text or as JSON. Larger ones are folders, with a `text.rs` and a `json.rs`. Their tables
//! declare each [`Column`](crate::table::Column) once, for both.

mod allocs;
mod annotate;
mod calls;
mod checklist;
mod counted_lines;
pub(crate) mod cpus;
mod diff;
mod energy;
mod exceptions;
mod functions;
mod heap;
mod launched;
mod lineless;
mod lines;
mod locals;
mod memory;
mod memory_lines;
mod next_steps;
mod ready;
mod regressions;
mod remarks;
#[cfg(test)]
mod schema;
mod shares;
mod short_tree;
mod spans;
mod spread;
mod stacks;
mod statprof;
mod summary;
mod syscalls;
mod totals;
mod trace;
mod traffic;
mod view;

pub use allocs::{Allocs, lines_that_allocate};
pub use annotate::{Annotate, ListedInstruction, Listing};
pub use calls::Callers;
pub use checklist::{Check, Checklist, Mark, Mend};
pub use counted_lines::CountedLines;
pub use diff::{Compared, Diff};
pub use exceptions::Exceptions;
pub use functions::Functions;
pub use heap::{HeapFacts, HeapQuestion, HeapSnapshot};
pub use lines::Lines;
pub use locals::{FrameLocals, Local, ThreadLocals};
pub use memory::Memory;
pub use memory_lines::MemoryLines;
pub use next_steps::NextStep;
use next_steps::write_next;
pub use ready::Ready;
pub use regressions::{Regressions, ServiceVersions};
pub(crate) use remarks::write_filter;
use remarks::{write_empty, write_end, write_warnings};
use shares::{BOLD, FEW, GRAY, KindColumns, WIDE, heat, push_share, share_width};
pub use spans::Spans;
pub use spread::Spread;
pub use stacks::Stacks;
pub use statprof::Statprof;
pub use summary::{Summary, SummaryPart};
pub use syscalls::Syscalls;
pub use trace::{CallOrder, Neighbours, Only, Trace};
pub use traffic::Io;
pub use view::View;
use view::ViewOptions;
