//! The output options of lists and tables that are not reports on a recording.

use clap::Args;
use profundo_report::When;

use super::choices::one_of;
use super::values::columns;

// The options of a list that is not a report on a recording.
#[expect(missing_docs, reason = "clap would print it as what the command does")]
#[derive(Debug, Clone, Default, Args)]
pub struct Paper {
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Print for this many columns
    #[arg(long, value_name = "COLUMNS", value_parser = columns, allow_negative_numbers = true)]
    pub width: Option<usize>,
    /// Colours: auto, always or never
    #[arg(long, value_name = "WHEN", value_parser = one_of(When::CHOICES), hide_possible_values = true)]
    pub color: Option<When>,
}
