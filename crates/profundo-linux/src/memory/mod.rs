//! A process's memory, as `/proc` shows it: resident, anonymous and swapped bytes at little cost,
//! and the proportional share of pages, which the kernel has to walk for.

mod process_memory;
mod proportional;

pub use process_memory::MemoryReader;
pub use proportional::{Asking, Pages, Question, shared_bytes};
