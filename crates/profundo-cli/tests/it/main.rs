//! The command as it is typed, on programs as they are.

mod cache;
mod files;
mod launch;
mod looking;
mod machine;
mod memory;
mod options;
mod terminal;
mod usage;
mod users;
