//! Questions about allocations: callers, holders, and growth.
//!
//! A heap is known either by a sample of its blocks, each of which stands for many, or by exact
//! sums for each stack. Both give the same answers; those of a sample come with their ranges.

mod allocations;
mod by_line;
mod entries;
mod figure;
mod gauges;
mod grown;
mod growth;
mod kept;
mod leaks;
mod measured;
mod moment;
mod peak;
mod runs;
mod stacks;
mod tracked;
mod trend;
mod uses;

pub use allocations::{
    Allocations, CopyRow, HeapLine, HeapOptions, HeapRow, allocations, allocations_joined,
};
pub use by_line::{FunctionMemory, LineMemory, memory_by_line};
pub(crate) use entries::allocated_at;
pub use entries::{has_allocations, records_allocations};
pub use figure::{Figure, Holding, Sum};
pub(crate) use gauges::{Gauged, keep_uses};
pub use gauges::{ProcessMemory, gauges};
pub use growth::Growth;
pub use kept::keep_only;
pub use leaks::Leak;
pub(crate) use measured::unit;
pub use measured::{heap_samples, is_recorded, measured, measured_at};
pub use moment::{HeldAt, HeldRow, held_at};
pub use peak::Peak;
pub use runs::goes_on;
pub use stacks::{HeapStack, by_shown_stack};
pub use tracked::{Tracked, allocated_by_source, unattributed};
pub use uses::Use;

#[cfg(test)]
mod tests;
