//! The samples that a report is about, and how much of their stacks. These choices are the same for
//! every report, so that several reports may show the same samples.

use profundo_analysis::{Filter, Hidden, Libraries, Selection, Shown};
use profundo_model::Profile;

/// The samples that a report is about. The default is the library's: all samples, C frames hidden.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choices {
    /// The samples.
    pub filter: Filter,
    /// The part of their stacks that is shown.
    pub shown: Shown,
    /// True if advice is for a user of the command, and not of the Rust library.
    pub(crate) is_command: bool,
}

impl Choices {
    /// The library's choices: all samples, C frames hidden.
    pub fn new() -> Self {
        Self::default()
    }

    /// The command's choices: all samples, and of their stacks all but plumbing.
    pub fn command() -> Self {
        Self {
            filter: Filter::default(),
            shown: Shown::COMMAND,
            is_command: true,
        }
    }

    /// Sets the samples.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Sets the languages that are hidden.
    pub fn hidden(mut self, hidden: Hidden) -> Self {
        self.shown.hidden = hidden;
        self
    }

    /// Sets the treatment of code that is not the reader's own.
    pub fn libraries(mut self, libraries: Libraries) -> Self {
        self.shown.libraries = libraries;
        self
    }

    /// Sets whether only the reader's own code is shown: the time of libraries is that of their
    /// nearest caller.
    pub fn only_mine(self, only_mine: bool) -> Self {
        self.libraries(if only_mine {
            Libraries::Hidden
        } else {
            Libraries::Shown
        })
    }

    /// The samples.
    pub(crate) fn select(&self, profile: &Profile) -> Selection {
        Selection::new(profile, &self.filter)
    }

    /// The text of the filter and its transforms, where there is one: `focus=^parse thread=main`.
    pub fn words(&self) -> Option<String> {
        (!self.filter.is_nothing()).then(|| self.filter.to_string())
    }
}
