//! Allocations by caller, size and type: Julia's `Profile.Allocs`.
//!
//! ```
//! #[global_allocator]
//! static ALLOC: profundo::Alloc = profundo::Alloc::system();
//!
//! # fn work() -> Vec<String> { (0..100).map(|i| i.to_string()).collect() }
//! # fn main() -> profundo::Result<()> {
//! let answer = profundo::allocs::profile!(sample_rate = 1.0, work())?;
//! for alloc in &profundo::allocs::fetch()? {
//!     println!("{} bytes of {}", alloc.size(), alloc.type_of());
//! }
//! profundo::allocs::print()?; // a tree of bytes by caller, on stdout
//! # drop(answer);
//! # Ok(())
//! # }
//! ```
//!
//! Without a rate, about one allocation per 512 KiB is recorded, sampled by bytes: large ones are
//! almost certain to be recorded, the sums are unbiased whatever the sizes, and the report gives
//! their uncertainty. With `sample_rate` each has the same probability, as in Julia. Recorded are
//! blocks of Rust's global allocator, which must be [`Alloc`](crate::Alloc); a resized block counts
//! as freed and allocated anew. All threads are recorded, also those that start later, but not our
//! own.
//!
//! Without a recording, [`here`] counts the allocations of a piece of code on its own thread, for
//! tests that assert "this does not allocate", and [`count`], [`bytes`], [`live`] and [`peak`] are
//! the whole process's.

mod alloc;
mod counts;
pub(crate) mod hidden_frames;
mod log;
mod macros;
mod recording;
mod report;
mod results;

#[doc(inline)]
pub use crate::__profile_allocations as profile;
pub use alloc::{Alloc, AllocType};
pub use counts::{Counted, bytes, count, here, is_installed, live, peak, reset_peak};
pub use log::{enable_logging, enable_logging_every};
pub use profundo_analysis::Measure;
pub use recording::{Rate, Recording, capacity, clear, init, is_running, len, start, stop};
pub use report::{Report, print, print_to, report};
pub use results::{AllocResults, Iter, TypeTotal, fetch};
