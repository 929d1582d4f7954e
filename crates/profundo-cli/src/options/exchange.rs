//! Options of `push`, `receive` and `symbols`: the exchange of profiles with other tools.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use profundo_console::options::values::{Size, length_of_time, some_seconds};

use super::{Labels, Reading};
use crate::completing;

const PUSH: &str = "\
Examples:
  profundo push app.profundo --to pyroscope://localhost
  profundo push app.profundo --to otlp://collector --service api --label host=node-1
  profundo push app.profundo --to s3://bucket/profiles --service api";

#[derive(Debug, Args)]
#[command(after_help = PUSH)]
pub struct Push {
    /// The recordings
    #[arg(
        add = ArgValueCompleter::new(completing::recordings),
        value_name = "FILE",
        required = true,
        num_args = 1..
    )]
    pub files: Vec<PathBuf>,
    /// Where to: otlp://HOST, otlps://, pyroscope://HOST, pyroscopes://, http(s)://… for pprof,
    /// s3://BUCKET/PREFIX or a folder for a store; `otlp` alone is that of OTEL_EXPORTER_OTLP_ENDPOINT
    #[arg(long, value_name = "URL", required = true)]
    pub to: String,
    /// The name of the service [default: that of the program]
    #[arg(long, value_name = "NAME")]
    pub service: Option<String>,
    /// Further labels; those named host, version, container and pod say where it ran
    #[arg(long, value_name = "KEY=VALUE")]
    pub label: Vec<Labels>,
    /// A header of each request, as `X-Scope-OrgID:team`; for OTLP, OTEL_EXPORTER_OTLP_HEADERS too
    #[arg(long, value_name = "NAME:VALUE")]
    pub header: Vec<String>,
    /// The longest time for a recording, all attempts together
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = some_seconds, allow_negative_numbers = true)]
    pub timeout: Duration,
    #[command(flatten, next_help_heading = "Options")]
    pub reading: Reading,
}

const RECEIVE: &str = "\
Examples:
  profundo receive --to profiles
  profundo receive --to s3://bucket/profiles --every 60s --listen 0.0.0.0:4040

It takes OTLP (HTTP and gRPC), Pyroscope's pushes, and pprof by POST to /pprof?service=NAME.";

#[derive(Debug, Args)]
#[command(after_help = RECEIVE)]
pub struct Receive {
    /// The store: a folder, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "STORE", required = true)]
    pub to: String,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4040")]
    pub listen: SocketAddr,
    /// How often a segment is written
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = length_of_time, allow_negative_numbers = true)]
    pub every: Duration,
    /// The folder of what is on its way [default: within the store's folder, or the user's state]
    #[arg(long, value_name = "FOLDER")]
    pub spool: Option<PathBuf>,
    /// How much may wait for a store that is away; beyond it nothing is taken
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "4G",
        allow_negative_numbers = true
    )]
    pub spool_size: Size,
    /// The largest body that is taken, as it arrives
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "16M",
        allow_negative_numbers = true
    )]
    pub max_body: Size,
}

#[derive(Debug, Args)]
pub struct Symbols {
    #[command(subcommand)]
    pub verb: SymbolsVerb,
}

#[derive(Debug, Subcommand)]
pub enum SymbolsVerb {
    /// Put the symbols of programs and libraries into a store, by their build ids
    Add(AddSymbols),
    /// List the symbols in a store
    List(ListSymbols),
}

#[derive(Debug, Args)]
pub struct AddSymbols {
    /// Programs, libraries or separate debug files, with symbols
    #[arg(value_name = "FILE", required = true, num_args = 1..)]
    pub files: Vec<PathBuf>,
    /// The store: a folder, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "STORE", required = true)]
    pub to: String,
}

#[derive(Debug, Args)]
pub struct ListSymbols {
    /// The store: a folder, or s3://BUCKET/PREFIX
    #[arg(value_name = "STORE")]
    pub store: String,
}
