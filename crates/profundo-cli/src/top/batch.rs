//! The same numbers as plain text, a page after the other: for files, pipes and terminals without a
//! page.

use std::io::{self, Write};
use std::time::Instant;

use anyhow::Result;
use profundo_report::terminal_width;

use super::live::wait;
use super::{Left, Running, page};
use crate::options::Top;

/// Prints until it is enough.
pub fn print(running: &Running, options: &Top) -> Result<Left> {
    let mut state = super::state(options);
    let columns = u16::try_from(terminal_width()).unwrap_or(u16::MAX);
    let until = options.duration.map(|duration| Instant::now() + duration);
    let mut is_first = true;
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let descriptors = [running.signals.descriptor(), running.bell.descriptor()];
        wait(&descriptors, left);
        running.bell.heard();
        while let Some(got) = running.signals.next() {
            if let Some(signal) = running.heed(got) {
                return Ok(Left::Signal(signal));
            }
        }
        if let Some(picture) = running.board.take() {
            let text = page::plain(&picture, &mut state, columns, options.limit);
            let mut out = io::stdout().lock();
            if !is_first {
                writeln!(out)?;
            }
            out.write_all(text.as_bytes())?;
            out.flush()?;
            is_first = false;
            if options.once || picture.head.ended.is_some() {
                return Ok(Left::Quit);
            }
        } else if running.is_broken() {
            return Ok(Left::Quit);
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(Left::Quit);
        }
    }
}
