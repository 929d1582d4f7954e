//! The options that every file made of a recording has: the recording, the file, the samples.

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use profundo_formats::export::Options;

use super::filters::Filters;
use super::measuring::Reading;
use crate::completing;

// What is read, where it is written, and what it is called.
#[derive(Debug, Clone, Default, Args)]
pub struct Head {
    /// A recording or query; `@2` is the second newest [default: the newest]
    #[arg(add = ArgValueCompleter::new(completing::recordings), value_name = "FILE")]
    pub recording: Option<PathBuf>,
    /// Where to write it; `-` is the standard output
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace a file of another kind, too
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub filters: Filters,
    #[command(flatten)]
    pub reading: Reading,
    /// What it is called [default: the command line]
    #[arg(long, value_name = "TEXT", help_heading = "The file")]
    pub title: Option<String>,
}

impl Head {
    /// The options in the words of the library.
    pub fn options(&self) -> Options {
        Options {
            include_runtime: self.filters.c,
            only_mine: self.filters.only_mine,
            title: self.title.clone(),
            ..Options::default()
        }
    }
}
