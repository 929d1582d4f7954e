//! The manual, as `man` reads it: a page on the whole, and one on each command.

use anyhow::Result;
use clap::{Command, CommandFactory};

use crate::options::{self, Arguments};

/// The page of the command that is named, or else all pages, one after the other.
pub fn pages(name: Option<&str>) -> Result<Vec<u8>> {
    let mut whole = Arguments::command().disable_help_subcommand(true);
    // Gives the commands their full names, and the options that they share.
    whole.build();
    let mut text = Vec::new();
    match name {
        Some(name) => match whole.find_subcommand(name) {
            Some(command) => page(command, &mut text)?,
            None => options::refuse(&format!("there is no command `{name}`")),
        },
        None => {
            page(&whole, &mut text)?;
            for command in whole
                .get_subcommands()
                .filter(|command| !command.is_hide_set())
            {
                page(command, &mut text)?;
            }
        }
    }
    Ok(text)
}

fn page(command: &Command, text: &mut Vec<u8>) -> Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    clap_mangen::Man::new(command.clone())
        .title(name)
        .source(concat!("profundo ", env!("CARGO_PKG_VERSION")))
        .render(text)?;
    Ok(())
}
