//! Helpers for the tests of several crates: skipping with a reason, a folder that is removed with
//! its test, compilers and interpreters of this machine, and waiting for a condition with a
//! deadline and a message.
//!
//! A crate takes it as a dev-dependency only. It is not for what one crate's tests need alone, and
//! it knows nothing of samples or profiles: no other crate of ours is below it.
//!
//! A test asks for what it needs, and returns where that is missing:
//!
//! ```
//! use profundo_testing::{Folder, compile_text, wait_until};
//!
//! # fn test() {
//! let folder = Folder::new("example");
//! let source = "int main(void) { return 7; }";
//! // Where there is no compiler, this says so in the way that `cargo xtask test` counts.
//! let Some(program) = compile_text("gcc", &folder, "seven.c", source, &["-O1"]) else {
//!     return;
//! };
//! let mut child = std::process::Command::new(program).spawn().unwrap();
//! wait_until("the end of the program", || child.try_wait().unwrap().is_some());
//! # }
//! # test();
//! ```

mod command;
mod compile;
mod damage;
mod folder;
mod pythons;
mod skip;
mod tools;
mod wait;

pub use command::profundo;
pub use compile::{compile, compile_text, run_compiler};
pub use damage::damage;
pub use folder::{Folder, files_below};
pub use pythons::{
    Python, Version, choose, pyenv_folders, python, pythons, pythons_for, wants_all_pythons,
};
pub use skip::skip;
pub use tools::{find_tool, tool};
pub use wait::{PATIENCE, wait_for, wait_for_exit, wait_until, wait_until_or};
