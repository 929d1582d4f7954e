//! The names of programs in notes.

use crate::program::Program;

/// A program by its name and its process.
pub(crate) fn with_pid(program: &Program) -> String {
    format!("{} ({})", name_of(&program.command), program.pid)
}

/// The program's own name, of a command line.
pub(crate) fn name_of(command: &str) -> &str {
    let program = command.split(' ').next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or(program);
    if name.is_empty() { "a program" } else { name }
}

/// Some of many.
pub(crate) fn list(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.get(..SHOWN.min(names.len())).unwrap_or_default();
    let more = names.len() - shown.len();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
