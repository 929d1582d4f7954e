//! The options that are one of a few names.

use profundo_analysis::{UnknownChoice, choose};

/// The shape of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Format {
    /// A tree of calls, from the root.
    #[default]
    Tree,
    /// A row for each function at each line.
    Flat,
    /// A row for each function, with its share of the time and how sure that is.
    Functions,
}

impl Format {
    /// Every value with its name.
    pub const CHOICES: [(&'static str, Self); 3] = [
        ("tree", Self::Tree),
        ("flat", Self::Flat),
        ("functions", Self::Functions),
    ];

    /// The name.
    pub fn name(self) -> &'static str {
        name_of(self, &Self::CHOICES)
    }
}

impl std::str::FromStr for Format {
    type Err = UnknownChoice;

    fn from_str(value: &str) -> Result<Self, UnknownChoice> {
        choose("format", value, &Self::CHOICES)
    }
}

/// The order of siblings and of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SortBy {
    /// By file, then function, then line.
    #[default]
    FileFuncLine,
    /// By the count of samples, the highest last.
    Count,
    /// By the count of samples that end there, the highest last.
    Overhead,
    /// In a tree by the count of samples that end there or below, the highest last; it differs
    /// from the count only where recursion is flattened. A table has no such count, and falls
    /// back to its default order.
    FlatCount,
}

impl SortBy {
    /// Every value with its name.
    pub const CHOICES: [(&'static str, Self); 4] = [
        ("filefuncline", Self::FileFuncLine),
        ("count", Self::Count),
        ("overhead", Self::Overhead),
        ("flat_count", Self::FlatCount),
    ];
}

impl std::str::FromStr for SortBy {
    type Err = UnknownChoice;

    fn from_str(value: &str) -> Result<Self, UnknownChoice> {
        choose("sorted_by", value, &Self::CHOICES)
    }
}

/// The unit of a profile's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Unit {
    /// Snapshots of a stack.
    #[default]
    Snapshots,
    /// Bytes: each sample is an allocation, its count is its size.
    Bytes,
    /// Allocations: each sample is one, its count is how many it stands for.
    Allocations,
}

impl Unit {
    /// The noun for the counts of a profile of allocations.
    pub(crate) fn of_allocations(self) -> Option<&'static str> {
        match self {
            Self::Snapshots => None,
            Self::Bytes => Some("bytes"),
            Self::Allocations => Some("allocations"),
        }
    }
}

/// The condition for something that not every reader of the text understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum When {
    /// If the text goes to a terminal that has colours, and `NO_COLOR` is not set.
    #[default]
    Auto,
    /// Whatever the text goes to.
    Always,
    /// On no output.
    Never,
}

impl When {
    /// Every value with its name.
    pub const CHOICES: [(&'static str, Self); 3] = [
        ("auto", Self::Auto),
        ("always", Self::Always),
        ("never", Self::Never),
    ];

    /// The decision, where `auto` is what to do if it was left open.
    pub(crate) fn decide(self, auto: impl FnOnce() -> bool) -> bool {
        match self {
            Self::Auto => auto(),
            Self::Always => true,
            Self::Never => false,
        }
    }
}

impl std::str::FromStr for When {
    type Err = UnknownChoice;

    fn from_str(value: &str) -> Result<Self, UnknownChoice> {
        choose("when", value, &Self::CHOICES)
    }
}

/// The name of a choice.
pub(crate) fn name_of<T: Copy + PartialEq>(
    value: T,
    choices: &[(&'static str, T)],
) -> &'static str {
    choices
        .iter()
        .find(|(_, choice)| *choice == value)
        .map_or("", |(name, _)| name)
}
