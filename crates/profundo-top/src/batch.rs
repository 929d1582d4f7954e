//! The page's numbers as plain text, one page after the other: for files, pipes and terminals that
//! cannot show a page.

use std::io::{self, Write};
use std::time::Instant;

use anyhow::Result;
use profundo_report::terminal_width;

use super::live::wait;
use super::{Left, Running, page};
use crate::options::Top;

/// Prints pages until the end.
pub fn print(running: &Running, options: &Top) -> Result<Left> {
    let mut state = super::state(options);
    let columns = u16::try_from(terminal_width()).unwrap_or(u16::MAX);
    let mut until = options.duration.map(|duration| Instant::now() + duration);
    let mut is_first = true;
    let mut is_last = options.once;
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let descriptors = [running.signals.descriptor(), running.bell.descriptor()];
        wait(&descriptors, left);
        running.bell.heard();
        while let Some(got) = running.signals.next() {
            if let Some(signal) = running.handle(got) {
                return Ok(Left::Signal(signal));
            }
        }
        if let Some(picture) = running.board.take() {
            let mut text = page::plain(&picture, &mut state, columns, options.limit);
            if !is_first {
                text.insert(0, '\n');
            }
            match written(&text) {
                // The reader has closed the pipe. The program goes on, and keeps its recorder.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Ok(Left::Signal(libc::SIGPIPE));
                }
                written => written?,
            }
            is_first = false;
            if is_last || picture.head.ended.is_some() {
                return Ok(Left::Quit);
            }
        } else if running.is_broken() {
            return Ok(Left::Quit);
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            if !is_first {
                return Ok(Left::Quit);
            }
            // The program was shorter than the interval: there is at least one page.
            (until, is_last) = (None, true);
            running.ask(state.question());
        }
    }
}

fn written(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
