//! What runs inside of `malloc`: when to look, and which blocks are followed until they are freed.
//!
//! Nothing in here allocates or calls the C library. A signal handler that interrupts it must not come back
//! in: who calls keeps a mark for its thread.

pub mod followed;
pub mod gaps;
pub mod known;
mod log;
pub mod shadow;
pub mod sites;
mod spin;
mod tell;

pub use followed::{Followed, Full};
pub use gaps::Gaps;
pub use known::Known;
pub use log::ReadLog;
pub use shadow::{Shade, Shadow};
pub use sites::Sites;
pub use spin::Spin;
pub use tell::{Caller, Numbers, Untold};
