//! Reports on allocations: a tree or a flat table, in bytes or in counts.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use profundo_analysis::{Measure, block_samples, block_total};
use profundo_capture::heap;
use profundo_model::{Nanos, Profile};
use profundo_report::{Format, Recur, SortBy, Unit, When};

use super::results::{AllocResults, fetch};
use crate::error::{Error, Result};

/// A report on all allocations that were recorded, or on those given ones. By default it is
/// Julia's: a tree in bytes, C frames hidden, in the order of the source.
///
/// ```no_run
/// use profundo::{Format, SortBy, allocs};
///
/// # fn main() -> profundo::Result<()> {
/// allocs::report().format(Format::Flat).sorted_by(SortBy::Overhead).print()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a report does nothing until it is printed or written"]
pub struct Report {
    options: profundo_report::Report,
    format: Format,
    combine: Combine,
    measure: Measure,
    results: Option<Arc<AllocResults>>,
}

/// Whether several addresses of one line are merged into one row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Combine {
    #[default]
    Yes,
    No,
}

/// A report with default options.
pub fn report() -> Report {
    Report::default()
}

/// Prints all allocations as a tree on stdout.
pub fn print() -> Result<()> {
    report().print()
}

/// Writes allocations as a tree.
pub fn print_to(out: impl Write, results: &AllocResults) -> Result<()> {
    results.report().write(out)
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
    /// Whether frames of other languages than Rust, and the standard library's way to a block, are
    /// shown. Hidden, their allocations are credited to the innermost shown caller.
    c(bool);
    /// The level down to which a tree is unfolded: at 0 only the roots are shown.
    maxdepth(usize);
    /// Hides rows with fewer bytes (or counts); in a tree, with all below them.
    mincount(u64);
    /// Hides the nodes of a tree whose bytes (or counts) are below this times the square root of
    /// their caller's.
    noisefloor(f64);
    /// The order of siblings and rows.
    sorted_by(SortBy);
    /// Whether an order by counts starts with the highest, instead of ending with it.
    hot_first(bool);
    /// The treatment of recursion in a tree.
    recur(Recur);
    /// The width in columns; by default the environment's `COLUMNS`, the terminal's, or 80.
    width(usize);
    /// Whether colours are used.
    colors(When);
    /// Whether source lines are hyperlinks.
    hyperlinks(When);
}

impl Report {
    pub(super) fn of(results: &AllocResults) -> Self {
        Self {
            results: Some(Arc::new(results.clone())),
            ..Self::default()
        }
    }

    /// The shape: a tree or a flat table.
    pub fn format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// The measure: bytes, or allocations.
    pub fn measure(mut self, measure: Measure) -> Self {
        self.measure = measure;
        self
    }

    /// Whether several addresses of one line are merged into one row. They always are, as in Julia:
    /// `false` is an error.
    pub fn combine(mut self, combine: bool) -> Self {
        self.combine = if combine { Combine::Yes } else { Combine::No };
        self
    }

    /// The profile to print, and the options.
    fn ready(self) -> Result<(Profile, profundo_report::Report)> {
        if self.combine == Combine::No {
            return Err(Error::AllocationsCombine);
        }
        if self.format == Format::Functions {
            return Err(Error::AllocationsFormat);
        }
        let unit = match self.measure {
            Measure::Bytes => Unit::Bytes,
            Measure::Count => Unit::Allocations,
        };
        let mut options = self.options.format(self.format).unit(unit);
        options.check()?;
        let results = match self.results {
            Some(results) => results,
            None => Arc::new(fetch()?),
        };
        let profile = results.profile();
        let weights = results.weights();
        if let Some(remark) = remark(&results, self.measure) {
            options = options.remark(remark);
        }
        let profile = Profile {
            samples: block_samples(profile, weights, self.measure),
            meta: profundo_model::Meta {
                period: Nanos(1),
                ..profile.meta.clone()
            },
            ..profile.clone()
        };
        Ok((profile, options))
    }

    /// Prints on stdout, as wide and as colourful as the terminal permits.
    pub fn print(self) -> Result<()> {
        let _excluded = heap::exclude_allocations();
        let (profile, options) = self.ready()?;
        Ok(options.print(&profile)?)
    }

    /// Writes the report.
    pub fn write(self, out: impl Write) -> Result<()> {
        let (profile, options) = {
            let _excluded = heap::exclude_allocations();
            self.ready()?
        };
        Ok(options.write(&profile, out)?)
    }

    /// The report as a string.
    pub fn to_text(self) -> Result<String> {
        let _excluded = heap::exclude_allocations();
        let (profile, options) = self.ready()?;
        Ok(options.render(&profile)?)
    }

    /// Writes the report to a file, 1000 columns wide unless a width is set.
    pub fn write_path(self, path: impl AsRef<Path>) -> Result<()> {
        let _excluded = heap::exclude_allocations();
        let (profile, options) = self.ready()?;
        Ok(options.write_to_path(&profile, path)?)
    }
}

/// The uncertainty of the sums, where not all allocations were recorded.
fn remark(results: &AllocResults, measure: Measure) -> Option<String> {
    let weights = results.weights();
    if weights.iter().all(|&weight| weight == 1.0) {
        return None;
    }
    let total = block_total(results.profile(), weights, measure);
    let what = match measure {
        Measure::Bytes => "bytes",
        Measure::Count => "allocations",
    };
    Some(format!(
        "These are estimates from a sample: with 95 % confidence there were {:.0} to {:.0} {what}.",
        total.interval.low, total.interval.high
    ))
}
