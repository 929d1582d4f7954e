//! Options of `regressions`.

use std::path::PathBuf;

use clap::Args;
use profundo_console::options::Paper;
use profundo_console::options::values::{count, percent_more};

const EXAMPLES: &str = "\
Examples:
  profundo regressions 's3://bucket/prod?from=-1d'              each service's newest version
  profundo regressions '/var/profiles?service=api&from=-2h'
  profundo regressions '/var/profiles?service=api' --since 1.4 --of 1.6
  profundo regressions 's3://bucket/prod?from=-1d' --fail       for CI: exit code 3 if anything has grown

Exit codes: 0, grown or not; 3 with `--fail` if anything has grown; 2 for wrong usage; 1 for another
failure.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Regressions {
    /// The services and their time, in a store of a fleet: DIR?KEY=VALUE&… or
    /// s3://BUCKET/PREFIX?KEY=VALUE&…
    #[arg(value_name = "QUERY")]
    pub query: PathBuf,
    /// The version before [default: the one that appeared before]
    #[arg(long, value_name = "VERSION", help_heading = "The comparison")]
    pub since: Option<String>,
    /// The version after [default: the one that appeared last]
    #[arg(long = "of", value_name = "VERSION", help_heading = "The comparison")]
    pub of_version: Option<String>,
    /// Show only what has grown by so many points of its service's time [default: 0.5]
    #[arg(long, value_name = "POINTS", value_parser = percent_more, allow_negative_numbers = true, help_heading = "The comparison")]
    pub at_least: Option<f64>,
    /// The part of all that is shown which is there by chance, at most [default: 5%]
    #[arg(long, value_name = "PERCENT", value_parser = percent_more, allow_negative_numbers = true, help_heading = "The comparison")]
    pub false_alarms: Option<f64>,
    /// Exit with 3 if anything has grown
    #[arg(long, help_heading = "The comparison")]
    pub fail: bool,
    /// Show at most so many functions [default: 20]
    #[arg(long, value_name = "COUNT", value_parser = count, allow_negative_numbers = true, help_heading = "The report")]
    pub limit: Option<usize>,
    #[command(flatten, next_help_heading = "The report")]
    pub paper: Paper,
}

impl Regressions {
    /// Why these options do not go together.
    pub fn misfit(&self) -> Option<String> {
        if self.since.is_some() && self.since == self.of_version {
            return Some("`--since` and `--of` name the same version".to_owned());
        }
        let is_part = |part: f64| part > 0.0 && part < 1.0;
        if self.false_alarms.is_some_and(|part| !is_part(part)) {
            return Some("`--false-alarms` lies between 0 and 100 %".to_owned());
        }
        None
    }
}
