//! The parts of the probe on their own, without a signal: buffer, slots, caches, stack reads, and
//! the stacks it runs on.

mod buffer;
mod caches;
mod listings;
mod memory;
mod python;
mod stacks;
mod threads;

/// Zeroed memory for tables that live as long as the process.
fn zeroed<T>(count: usize) -> &'static [T] {
    // SAFETY: the tables under test are made of atomics and plain data, valid when zero.
    let table: Vec<T> = (0..count).map(|_| unsafe { std::mem::zeroed() }).collect();
    Box::leak(table.into_boxed_slice())
}
