//! The appearance of a report: its width, colours and links. It has nothing to do with the report's
//! subject.

use std::io::IsTerminal;

use crate::When;
use crate::page::link::Links;
use crate::page::width::{plain_width, terminal_width};

/// The appearance of a report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Look {
    width: Option<usize>,
    terminal: bool,
    colors: When,
    hyperlinks: When,
    editor: Option<String>,
}

impl Look {
    /// The appearance that suits text that does not go to a terminal.
    pub fn new() -> Self {
        Self::default()
    }

    /// The appearance that suits standard output.
    pub fn stdout() -> Self {
        Self::new().terminal(std::io::stdout().is_terminal())
    }

    /// The appearance that suits standard error.
    pub fn stderr() -> Self {
        Self::new().terminal(std::io::stderr().is_terminal())
    }

    /// Sets the number of columns to print for. `None` asks the environment's `COLUMNS`, then the
    /// terminal if the text goes to one, and else takes 80.
    pub fn width(mut self, width: impl Into<Option<usize>>) -> Self {
        self.width = width.into();
        self
    }

    /// Sets whether the text goes to a terminal. Only the caller knows.
    pub fn terminal(mut self, terminal: bool) -> Self {
        self.terminal = terminal;
        self
    }

    /// Sets whether there are colours.
    pub fn colors(mut self, colors: When) -> Self {
        self.colors = colors;
        self
    }

    /// Sets whether source lines are hyperlinks. Automatic means: where there are colours.
    pub fn hyperlinks(mut self, hyperlinks: When) -> Self {
        self.hyperlinks = hyperlinks;
        self
    }

    /// The editor that hyperlinks are meant for. Where it is not set, the environment's
    /// `PROFUNDO_EDITOR`, `VISUAL` and `EDITOR` are asked.
    pub fn editor(mut self, editor: impl Into<String>) -> Self {
        self.editor = Some(editor.into());
        self
    }

    /// True if the text goes to a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// The width that was asked for.
    pub(crate) fn asked_width(&self) -> Option<usize> {
        self.width
    }

    /// The number of columns to print for.
    pub(crate) fn columns(&self) -> usize {
        let columns = self.width.unwrap_or_else(|| {
            if self.terminal {
                terminal_width()
            } else {
                plain_width()
            }
        });
        columns.max(1)
    }

    /// True if colours are used. A terminal may say that it has none.
    pub(crate) fn is_colored(&self) -> bool {
        let no_color = || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        self.colors
            .decide(|| self.terminal && !no_color() && !is_dumb())
    }

    /// The form of hyperlinks, where there are any.
    pub(crate) fn links(&self) -> Option<Links> {
        self.hyperlinks
            .decide(|| self.is_colored())
            .then(|| match &self.editor {
                Some(editor) => Links::for_editor(editor),
                None => Links::from_environment(),
            })
    }
}
