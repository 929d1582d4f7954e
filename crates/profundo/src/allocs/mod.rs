//! Who allocates, how much, and of what: Julia's `Profile.Allocs`.
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
//! profundo::allocs::print()?; // a tree of who allocated how much, on stdout
//! # drop(answer);
//! # Ok(())
//! # }
//! ```
//!
//! Without a rate, one allocation about each 512 KiB is recorded, at random by the bytes: so large ones are
//! as good as certain, the sums are right whatever the sizes, and the report says how sure they are. With
//! `sample_rate` each has the same chance, as in Julia. Recorded are blocks of Rust's global allocator, which
//! must be [`Alloc`](crate::Alloc); what is resized is freed and allocated anew. All threads are, those
//! that start later too; our own are not.
//!
//! What is counted without being recorded: [`here`] says what a piece of code allocates on its own
//! thread, for tests that say "this does not allocate", and [`count`], [`bytes`], [`live`] and [`peak`] are
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
