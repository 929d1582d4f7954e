//! Questions on memory.

mod gauges;
mod growth;

pub use gauges::{ProcessMemory, gauges};
pub use growth::Growth;
