//! The options of `view`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::completing;

#[derive(Debug, Args)]
pub struct View {
    /// The recording; `@2` is the one before the newest [default: the newest]. With two, the first
    /// is compared with the second. A heap snapshot, or two, may stand beside or alone
    #[arg(
        add = ArgValueCompleter::new(completing::recordings),
        value_name = "FILE",
        num_args = 0..=4
    )]
    pub recordings: Vec<PathBuf>,
    /// Write the page as one file, which needs no server and no network
    #[arg(short, long, value_name = "OUT.html")]
    pub output: Option<PathBuf>,
    /// Replace a file of another kind, too
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Print the address of the page, and open no browser
    #[arg(long)]
    pub no_open: bool,
    /// Where to serve the page; any address but loopback lets others look at it
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:0",
        hide_default_value = true
    )]
    pub listen: SocketAddr,
}
