//! Completions in a shell: options and verbs, recordings, and the names in the recording that the
//! command line is about.
//!
//! The shell's script calls `profundo`, with `$PROFUNDO_COMPLETE` set, for each press of the tab
//! key. So the candidates are those of this version and of this folder.

mod names;
mod recordings;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Command;
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

pub use names::{files, functions, threads, transforms};
pub use recordings::recordings;

/// The variable that a shell's script sets. Its value is the shell's name.
const VARIABLE: &str = "PROFUNDO_COMPLETE";

/// Answers a request of a shell, and ends then. `arguments` makes the whole command line.
pub fn answer(arguments: fn() -> Command) {
    if std::env::var_os(VARIABLE).is_some() {
        CompleteEnv::with_factory(arguments)
            .var(VARIABLE)
            .complete();
    }
}

/// Prints the script for a shell.
pub fn script(shell: Shell) -> Result<ExitCode> {
    let shells = Shells::builtins();
    let Some(completer) = shells.completer(&shell.to_string()) else {
        bail!("there are no completions for {shell}");
    };
    let mut text = Vec::new();
    completer.write_registration(VARIABLE, "profundo", "profundo", "profundo", &mut text)?;
    io::stdout().write_all(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The words that have been typed so far, without `profundo` itself.
pub fn typed() -> Vec<OsString> {
    let words = std::env::args_os().skip_while(|word| word != "--");
    words.skip(2).collect()
}
