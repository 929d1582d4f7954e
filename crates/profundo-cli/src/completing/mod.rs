//! What a shell offers when the tab key is pressed: options and verbs, recordings, and the names that are in the
//! recording that is looked at.
//!
//! The shell's script calls `profundo` again, with `$PROFUNDO_COMPLETE` set, for each press. So what it offers is
//! that of this version and of this folder.

mod names;
mod processes;
mod recordings;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::CommandFactory;
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

use crate::options::Arguments;

pub use names::{files, functions, threads};
pub use processes::processes;
pub use recordings::{recordings, report_words};

/// The variable that a shell's script sets. Its value is the shell's name.
const VARIABLE: &str = "PROFUNDO_COMPLETE";

/// Answers a shell that asks, and ends then.
pub fn answer() {
    if std::env::var_os(VARIABLE).is_some() {
        CompleteEnv::with_factory(Arguments::command)
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

/// What has been typed so far, without `profundo` itself.
fn typed() -> Vec<OsString> {
    let words = std::env::args_os().skip_while(|word| word != "--");
    words.skip(2).collect()
}
