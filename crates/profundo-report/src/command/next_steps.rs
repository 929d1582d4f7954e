//! The commands to type next, each with what it shows.

use std::io;

use super::{BOLD, GRAY};
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::width::width;

/// A command to type next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextStep {
    /// The command as it is typed.
    pub command: String,
    /// The command's subject, in a few words.
    pub shows: &'static str,
}

impl NextStep {
    /// A command, and what it shows.
    pub fn new(command: impl Into<String>, shows: &'static str) -> Self {
        Self {
            command: command.into(),
            shows,
        }
    }
}

/// Writes the commands, one per line. What a command shows is left out where the page has no room
/// for it.
pub(super) fn write_next(page: &mut Page<'_>, steps: &[NextStep]) -> io::Result<()> {
    const TITLE: &str = "Next: ";
    const GAP: &str = "   # ";
    // A long command does not move the words of the others to the right.
    const LONG: usize = 44;
    let widths = steps.iter().map(|step| width(&step.command));
    let column = widths.filter(|&width| width <= LONG).max().unwrap_or(0);
    let mut line = Line::default();
    for (at, step) in steps.iter().enumerate() {
        let title = if at == 0 { TITLE } else { "      " };
        line.push(title, BOLD);
        line.push(&step.command, Style::PLAIN);
        let pad = column.saturating_sub(width(&step.command));
        let needed = line.width() + pad + GAP.len() + width(step.shows);
        if !step.shows.is_empty() && needed <= page.columns {
            line.push_spaces(pad);
            line.push(GAP, GRAY);
            line.push(step.shows, GRAY);
        }
        page.line(&mut line)?;
    }
    Ok(())
}
