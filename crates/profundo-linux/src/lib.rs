//! The kernel's interfaces that a profiler needs: perf events and their rings, `/proc`, clocks,
//! memory shared with another process, energy counters.
//!
//! It knows nothing of profiles. It knows processes and threads by their numbers, memory by
//! addresses, and time in nanoseconds and cycles.

pub mod account;
pub mod cgroup;
pub mod clock;
pub mod container;
pub mod delivery;
pub mod energy;
pub mod headroom;
pub mod io_counters;
pub mod machine;
pub mod map;
pub mod memory;
pub mod perf;
pub mod proc;
pub mod random;
pub mod sys;
mod syscall_names;
pub mod tracefs;
pub mod urgency;
pub mod users;

pub use syscall_names::syscall_name;
