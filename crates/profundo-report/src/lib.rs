//! Reports on a profile, as text and as JSON.
//!
//! There are two kinds. [`Report`] is after Julia's Profile: a call tree, a flat table, a table of
//! functions. The others are those of the command, each a [`View`]: shares of time with their 95 %
//! intervals, told apart by Python, native code and system calls, with the source. All share
//! [`Choices`], which select the samples of a report, and [`Look`], its appearance.
//!
//! A report says where the time went and how far it can be trusted: below the numbers stand the
//! number of snapshots, the utilization, and a line on quality. What must not be missed, such as
//! a buffer that filled up, is a line that starts with `Warning:`.
//!
//! Where Julia's reports surprise, these do not: every sample's self count is credited, the oldest
//! one's too; a flat table that does not combine addresses lists every inlined function; long
//! paths stay in their column, and the function column takes what is left of the screen; and
//! groups without samples are only warned about where there are any.
//!
//! It is not for arithmetic: every number comes from `profundo-analysis`.
//!
//! Constraints: no unsafe code. A report is a function of the profile and of its options. Only
//! where an option says "automatic" are the environment (`COLUMNS`, `NO_COLOR`,
//! `PROFUNDO_EDITOR`, `VISUAL`, `EDITOR`) and the terminal asked. The disk is asked whether a
//! source file exists, for hyperlinks, and for the lines that the profile does not carry, where
//! the file has not changed since. No colour says anything that the text does not, and no name does
//! anything to the terminal.
//!
//! ```
//! use profundo_model::Profile;
//! use profundo_report::{Choices, Filter, Format, Functions, Look, Report, SortBy, View};
//!
//! let profile = Profile::from_folded("main;work;leaf 3\nmain;idle 1").unwrap();
//! let report = Report::new().format(Format::Flat).sorted_by(SortBy::Overhead).width(80);
//! let text = report.render(&profile).unwrap();
//! assert!(text.ends_with("`group_by` to break down by thread and/or task.\n"));
//!
//! let choices = Choices::command().filter(Filter::default().function("work"));
//! let functions = Functions::new().choices(choices).look(Look::new().width(80));
//! assert!(functions.render(&profile).unwrap().contains("3 of 4 samples"));
//! assert!(functions.json(&profile).unwrap().contains("\"self_share\": 1.0"));
//! ```

#![forbid(unsafe_code)]

mod benchmark;
mod command;
mod error;
mod json;
mod julia;
mod naming;
mod options;
mod page;
mod pages;
mod quality;
mod table;
mod time;

pub use benchmark::{Benchmark, Clocked, this_machine};
pub use command::{
    Allocs, Annotate, CallOrder, Callers, Check, Checklist, Compared, CountedLines, Diff,
    Exceptions, FrameLocals, Functions, HeapFacts, HeapQuestion, HeapSnapshot, Io, Lines,
    ListedInstruction, Listing, Local, Mark, Memory, MemoryLines, Mend, Neighbours, NextStep, Only,
    Ready, Regressions, ServiceVersions, Spans, Spread, Stacks, Statprof, Summary, SummaryPart,
    Syscalls, ThreadLocals, Trace, View, lines_that_allocate,
};
pub use error::Error;
pub use julia::Report;
pub use naming::{Names, SourceText};
pub use options::{Choices, Format, SortBy, Unit, When};
pub use page::{EditorLinks, Look, terminal_width};
pub use pages::{HtmlPage, html_pages};
pub use profundo_analysis::{
    Filter, GroupBy, Hidden, Libraries, Numbers, Pattern, Recur, Shown, UnknownChoice,
};
pub use time::Time;

/// Text in columns, and numbers as people read them: for pages that are laid out elsewhere.
pub mod text {
    pub use crate::benchmark::significant;
    pub use crate::page::units::{bar, bytes, duration, percent, whole_percent};
    pub use crate::page::width::{keep_head, keep_tail, width};
    pub use crate::quality::words as missing;
}
