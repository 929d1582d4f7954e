//! The signals that the agent's clocks send, out of the program's sight.
//!
//! The program sees its own actions ([`actions`]) and its own mask ([`blocked`]). A signal that it
//! uses itself goes back to it ([`claims`], [`traps`]).

pub mod actions;
pub mod answer;
pub mod blocked;
pub mod claims;
pub mod pending;
pub mod sent;
pub mod sets;
pub mod timers;
pub mod traps;
pub mod waiting;
