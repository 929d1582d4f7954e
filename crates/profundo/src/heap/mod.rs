//! Heap objects and their possible referrers: Julia's `Profile.take_heap_snapshot`.
//!
//! ```
//! #[global_allocator]
//! static ALLOC: profundo::Alloc = profundo::Alloc::system().following();
//!
//! # fn main() -> profundo::Result<()> {
//! # let folder = std::env::temp_dir().join(format!("profundo-doc-heap-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let list: Vec<Box<u64>> = (0..10).map(Box::new).collect();
//! let snapshot = profundo::heap::options().dir(&folder).take()?; // or profundo::heap::snapshot()
//! println!("{snapshot}"); // its file is opened by Chrome's DevTools: Memory, Load
//! assert!(snapshot.blocks() > list.len() as u64);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! The program goes on while the snapshot is made: its memory is copied at one instant, as by a
//! fork, and read by the calling thread. Each live block of the program's allocator is an object,
//! of the type that [`allocs`](crate::allocs) finds; that allocator must be
//! [`Alloc`](crate::Alloc), and [follow](crate::Alloc::following) all blocks.
//!
//! The scan is conservative, since any word may be a pointer: each reference is named `may`, with
//! the position of its word. The roots are the threads' stacks, the data of the program and its
//! libraries, and all other memory outside of blocks. Blocks that no root reaches are below
//! `(Unreachable)`: they are leaked, or their pointers are hidden. A pointer that is only in a
//! register of another thread is not seen, because threads are not stopped; the registers that the
//! kernel shows of a waiting thread are scanned, and so are those of the calling thread.

mod options;
mod pages;
mod place;
mod roots;
mod snapshot;
mod types;

use std::path::Path;

use crate::error::Result;

pub use options::{Options, options};
pub use pages::take_page_profile;
pub use snapshot::Snapshot;

/// Takes a snapshot, in a new file `PID_TIME.heapsnapshot` of the current directory, or of the one
/// for temporary files if that is not writable.
pub fn snapshot() -> Result<Snapshot> {
    options().take()
}

/// Assembles `out` from the part files of a [streamed](Options::streaming) snapshot, on this
/// machine or another. The parts stay.
pub fn assemble(prefix: impl AsRef<Path>, out: impl AsRef<Path>) -> Result<()> {
    profundo_formats::heapsnapshot::assemble(prefix, out)?;
    Ok(())
}

/// Removes the part files of a streamed snapshot. Missing ones are no error.
pub fn remove_parts(prefix: impl AsRef<Path>) -> Result<()> {
    Ok(profundo_formats::heapsnapshot::remove_parts(
        prefix.as_ref(),
    )?)
}
