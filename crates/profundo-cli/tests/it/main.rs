//! The command as it is typed, on programs as they are.

mod allocs;
mod asked;
mod bench;
mod cache;
mod doctor;
mod endings;
mod energy;
mod files;
mod gc_log;
mod heap;
mod launch;
mod looking;
mod machine;
mod memory;
mod names;
mod options;
mod refused;
mod short_processes;
mod source_text;
mod terminal;
mod time;
mod top;
mod traced;
mod track;
mod usage;
mod users;
