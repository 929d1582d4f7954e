//! Options of `heap` and `assemble`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use profundo_console::options::Paper;
use profundo_console::options::values::{count, some_seconds};
use profundo_report::HeapQuestion;

use super::snapshot::Through;
use crate::completing;

const EXAMPLES: &str = "\
Examples:
  profundo heap app.heapsnapshot                     the types and the objects that retain most
  profundo heap app.heapsnapshot --path Session      who holds the objects of that type
  profundo heap before.heapsnapshot now.heapsnapshot what has grown meanwhile
  profundo heap 4711 --types                         the objects of a Python process that runs
  profundo heap 4711 --growth 60                     what has come in a minute, and what has gone
  profundo heap 4711 --path app.Session              what keeps them";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Heap {
    /// The snapshot, of profundo, Chrome, Node or Julia; or a process that runs: Python, or
    /// recorded with --memory=exact
    #[arg(add = ArgValueCompleter::new(completing::recordings), value_name = "FILE|PID")]
    pub snapshot: PathBuf,
    /// A later one: print what has changed
    #[arg(value_name = "LATER", conflicts_with_all = ["types", "biggest", "dominators", "path", "duplicates"])]
    pub later: Option<PathBuf>,
    /// All types: how many objects, their bytes, and what would go with them
    #[arg(long, group = "question", help_heading = "The question")]
    pub types: bool,
    /// The objects that retain most
    #[arg(long, group = "question", help_heading = "The question")]
    pub biggest: bool,
    /// The same as a tree: what each of them holds alone
    #[arg(long, group = "question", help_heading = "The question")]
    pub dominators: bool,
    /// Who holds the objects of a type, or the one with an id (`@12`): the shortest ways from the
    /// root
    #[arg(
        long,
        value_name = "TYPE",
        group = "question",
        help_heading = "The question"
    )]
    pub path: Option<String>,
    /// The texts that are there more than once
    #[arg(long, group = "question", help_heading = "The question")]
    pub duplicates: bool,
    /// Show at most so many rows of each table
    #[arg(long, value_name = "COUNT", value_parser = count, allow_negative_numbers = true)]
    pub limit: Option<usize>,
    #[command(flatten)]
    pub paper: Paper,
    #[command(flatten, next_help_heading = "A process that runs")]
    pub running: Running,
}

// How a process is asked that runs.
#[derive(Debug, Args)]
pub struct Running {
    /// Look twice, so many seconds apart, and print what has grown meanwhile
    #[arg(long, value_name = "SECONDS", value_parser = some_seconds, allow_negative_numbers = true, conflicts_with_all = ["later", "types", "biggest", "dominators", "path", "duplicates"])]
    pub growth: Option<Duration>,
    /// Read what strings hold, too: without it none is told from another
    #[arg(long)]
    pub no_redact: bool,
    /// Ask for the blocks of the program's own allocator, even if it has a Python interpreter
    #[arg(long, conflicts_with = "no_redact")]
    pub native: bool,
    #[command(flatten)]
    pub through: Through,
}

impl Heap {
    /// The process that is asked, if it is one.
    pub fn pid(&self) -> Option<u32> {
        let number = self.snapshot.to_str()?.parse().ok()?;
        (!self.snapshot.exists()).then_some(number)
    }

    pub fn question(&self) -> HeapQuestion {
        match &self.path {
            Some(of) => HeapQuestion::Path(of.clone()),
            None if self.types => HeapQuestion::Types,
            None if self.biggest => HeapQuestion::Biggest,
            None if self.dominators => HeapQuestion::Dominators,
            None if self.duplicates => HeapQuestion::Duplicates,
            None => HeapQuestion::Summary,
        }
    }
}

#[derive(Debug, Args)]
pub struct Assemble {
    /// What the names of the part files begin with: PREFIX.nodes, PREFIX.edges, PREFIX.strings and
    /// PREFIX.metadata.json
    #[arg(value_name = "PREFIX")]
    pub prefix: PathBuf,
    /// Where to write the snapshot; `-` is the standard output [default: PREFIX.heapsnapshot]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace a file of another kind, too
    #[arg(long)]
    pub force: bool,
}
