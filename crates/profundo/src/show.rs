//! Reports: `print`, and the builder for all options.

use std::io::{IsTerminal, Write};
use std::path::Path;

use profundo_report::{Format, GroupBy, Numbers, Recur, SortBy, When};

use crate::data::{Data, FetchOptions, fetch_with};
use crate::error::{Error, Result};
use crate::names::{Names, names_of};

/// A report on all samples, or on data and names given ones. By default it is Julia's: a tree, C
/// frames hidden, in the order of the source.
///
/// ```
/// use profundo::{Format, GroupBy, SortBy};
///
/// # fn main() -> profundo::Result<()> {
/// profundo::profile!(std::hint::black_box((0..1000).sum::<u64>()))?;
/// let text = profundo::report()
///     .format(Format::Flat)
///     .sorted_by(SortBy::Overhead)
///     .group_by(GroupBy::Thread)
///     .c(true)
///     .to_text()?;
/// # drop(text);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a report does nothing until it is printed or written"]
pub struct Report {
    options: profundo_report::Report,
    data: Option<(Data, Names)>,
}

/// A report with default options.
pub fn report() -> Report {
    Report::default()
}

/// Prints all samples as a tree on stdout.
pub fn print() -> Result<()> {
    report().print()
}

/// Writes data and names as a tree.
pub fn print_to(out: impl Write, data: &Data, names: &Names) -> Result<()> {
    report().of(data, names).write(out)
}

/// Writes all samples as a tree to a file, 1000 columns wide.
pub fn print_path(path: impl AsRef<Path>) -> Result<()> {
    report().write_path(path)
}

macro_rules! forward {
    ($($(#[$doc:meta])* $name:ident($value:ty);)*) => {
        impl Report {
            $(
                $(#[$doc])*
                pub fn $name(mut self, value: $value) -> Self {
                    self.options = self.options.$name(value);
                    self
                }
            )*
        }
    };
}

forward! {
    /// The shape: a tree, a flat table, or a table of functions with their shares.
    format(Format);
    /// Whether frames of other languages than Rust are shown. Hidden, their samples are credited to
    /// the innermost shown caller.
    c(bool);
    /// Whether several addresses of one line are merged into one row. If not, rows show their
    /// address.
    combine(bool);
    /// The level down to which a tree is unfolded: at 0 only the roots are shown.
    maxdepth(usize);
    /// Hides rows with a lower count; in a tree, with all below them.
    mincount(u64);
    /// Hides the nodes of a tree whose count is below this times the square root of their
    /// caller's count; 2.0 is a good start.
    noisefloor(f64);
    /// The order of siblings and rows.
    sorted_by(SortBy);
    /// Whether an order by counts starts with the highest, instead of ending with it.
    hot_first(bool);
    /// The grouping of the report.
    group_by(GroupBy);
    /// The treatment of recursion in a tree.
    recur(Recur);
    /// Whether the line on quality is shown.
    quality(bool);
    /// Whether colours are used.
    colors(When);
    /// Whether source lines are hyperlinks.
    hyperlinks(When);
}

impl Report {
    /// Reports on these samples and names, instead of those in the buffer.
    pub fn of(mut self, data: &Data, names: &Names) -> Self {
        self.data = Some((data.clone(), names.clone()));
        self
    }

    /// Only the samples of these threads.
    pub fn threads(mut self, threads: impl Into<Numbers>) -> Self {
        self.options = self.options.threads(threads);
        self
    }

    /// Only the samples of these tasks.
    pub fn tasks(mut self, tasks: impl Into<Numbers>) -> Self {
        self.options = self.options.tasks(tasks);
        self
    }

    /// The width in columns; by default the environment's `COLUMNS`, the terminal's, or 80.
    pub fn width(mut self, columns: usize) -> Self {
        self.options = self.options.width(columns);
        self
    }

    /// The editor that hyperlinks are meant for, instead of the environment's.
    pub fn editor(mut self, editor: impl Into<String>) -> Self {
        self.options = self.options.editor(editor);
        self
    }

    /// As wide and as colourful as stderr permits.
    pub(crate) fn for_stderr(mut self) -> Self {
        self.options = self.options.terminal(std::io::stderr().is_terminal());
        self
    }

    fn profile(&self) -> Result<std::sync::Arc<profundo_model::Profile>> {
        // Wrong options are reported before names are looked up, and whether or not there is data.
        self.options.check()?;
        let found;
        let (data, names) = match &self.data {
            Some(given) => given,
            None => {
                // The report itself says that the buffer was full.
                let without_warning = FetchOptions {
                    limitwarn: false,
                    ..FetchOptions::default()
                };
                let data = fetch_with(without_warning)?;
                found = (data.clone(), names_of(&data));
                &found
            }
        };
        if !data.has_meta() && !data.is_empty() {
            return Err(Error::MissingMetadata);
        }
        Ok(names.apply(data))
    }

    /// Prints on stdout, as wide and as colourful as the terminal permits.
    pub fn print(self) -> Result<()> {
        Ok(self.options.print(&*self.profile()?)?)
    }

    /// Writes the report.
    pub fn write(self, out: impl Write) -> Result<()> {
        Ok(self.options.write(&*self.profile()?, out)?)
    }

    /// The report as a string.
    pub fn to_text(&self) -> Result<String> {
        Ok(self.options.render(&*self.profile()?)?)
    }

    /// Writes the report to a file, 1000 columns wide unless a width is set.
    pub fn write_path(self, path: impl AsRef<Path>) -> Result<()> {
        Ok(self.options.write_to_path(&*self.profile()?, path)?)
    }
}
