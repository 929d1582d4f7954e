//! Linux's perf: its recordings, and the texts that it prints of them.

mod comments;
mod event;
mod symbol;

pub(crate) mod data;
pub(crate) mod report;
pub(crate) mod script;

/// Whether a process of this name may run a command line.
fn is_of(command: &str, name: &str) -> bool {
    /// The kernel keeps so much of a name.
    const KEPT: usize = 15;
    let file = command.split(' ').next().unwrap_or_default();
    let file = file.rsplit('/').next().unwrap_or(file);
    !name.is_empty() && (file == name || name.len() >= KEPT && file.starts_with(name))
}
