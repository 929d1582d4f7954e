//! Options of `list`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub struct List {
    /// The folder, or a store of a fleet: DIR, s3://BUCKET/PREFIX or a query [default: the nearest
    /// .profundo upwards, or $PROFUNDO_DIR]
    #[arg(value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}
