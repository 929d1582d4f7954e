//! What is on the heap, and who may hold it: Julia's `Profile.take_heap_snapshot`.
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
//! The program goes on while the snapshot is made: its memory is copied as a fork does it, at one instant, and read by the
//! thread that asks. Each live block of the program's allocator is an object, of the type that [`allocs`](crate::allocs) finds;
//! that allocator must be [`Alloc`](crate::Alloc), and [follow](crate::Alloc::following) all blocks.
//!
//! Nobody knows which words are pointers, so all are looked at: each reference is named `may`, and says which word it is. The
//! roots are the threads' stacks, the data of the program and its libraries, and what else of the memory is no
//! block's. What no root leads to hangs below `(Unreachable)`: it is lost, or hidden. A pointer that is only in a register of
//! another thread is not seen, because nobody stops that thread to ask it; what registers the kernel tells of a thread
//! that waits are looked at, and so are those of the thread that takes the snapshot.

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

/// Takes a snapshot, in a new file `PID_TIME.heapsnapshot` of the current directory, or of the one for temporary files
/// where that cannot be written to.
pub fn snapshot() -> Result<Snapshot> {
    options().take()
}

/// Makes `out` of the part files of a [streamed](Options::streaming) snapshot, on this machine or another. They stay.
pub fn assemble(prefix: impl AsRef<Path>, out: impl AsRef<Path>) -> Result<()> {
    profundo_formats::heapsnapshot::assemble(prefix, out)?;
    Ok(())
}

/// Removes the part files of a streamed snapshot. Those that are not there are no error.
pub fn remove_parts(prefix: impl AsRef<Path>) -> Result<()> {
    Ok(profundo_formats::heapsnapshot::remove_parts(
        prefix.as_ref(),
    )?)
}
