//! The command as it is typed, on programs as they are.

mod files;
mod launch;
mod looking;
mod machine;
mod terminal;
mod usage;
