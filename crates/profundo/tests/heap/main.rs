//! Snapshots of the heap, of a program whose allocator follows all blocks.
//!
//! One is taken at a time, so the tests wait for each other.

mod copies;
mod graph;
mod options;
mod pages;
mod peek;
mod shapes;
mod storm;

use std::sync::{Mutex, MutexGuard, PoisonError};

use profundo_testing::Folder;

#[global_allocator]
static ALLOC: profundo::Alloc = profundo::Alloc::system().following();

/// The right to take snapshots.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder that is removed after the test.
fn folder() -> Folder {
    Folder::new("heap")
}
