//! `malloc` and its family, C++'s operators, pages, and copies.
//!
//! These functions are exported by the agent only where memory is recorded: the command takes their
//! names out of the file that it loads into other programs.

pub mod copies;
mod cpp;
mod malloc;
mod maps;

/// Looks all real functions up, again where files were loaded or unloaded meanwhile. For an agent
/// that comes late, before the program's slots lead to ours.
pub fn look_up() {
    crate::memory::next_symbols::resolve();
    copies::resolve();
    cpp::look_again();
}
