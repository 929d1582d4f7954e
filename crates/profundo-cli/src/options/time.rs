//! Options of `time`.

use std::path::PathBuf;

use clap::Args;
use profundo_console::options::Paper;

use super::Command;

const EXAMPLES: &str = "\
Examples:
  profundo time -- make -j8             how long it takes, and what it takes of the machine
  profundo time -p -- sort big.txt      the three lines of POSIX: real, user, sys
  profundo time --runs 10 -- ./a.out    ten runs: mean, deviation, least and most
  profundo time -o cost.json --json -- python3 app.py

Nothing is loaded into the program, and it is not sampled. The report goes to stderr at its end.

Exit codes: the program's own (or its signal), of several runs that of the first that failed;
127 if there is no such program, 126 if it cannot be run, 2 for wrong usage, 1 for another
failure before it ran.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Time {
    #[command(flatten)]
    pub command: Command,
    /// Print exactly what POSIX says: real, user and sys, in seconds, a line each
    #[arg(short = 'p', long, conflicts_with_all = ["json", "runs"])]
    pub posix: bool,
    /// Run it so many times, one after the other, and say how the runs differ
    #[arg(long, value_name = "COUNT", default_value = "1", hide_default_value = true, value_parser = some_runs, allow_negative_numbers = true)]
    pub runs: u32,
    /// Run it so many times before, without measuring: caches are warm then
    #[arg(long, value_name = "COUNT", default_value = "0", hide_default_value = true, value_parser = runs, allow_negative_numbers = true)]
    pub warmup: u32,
    /// Write the report there instead of to stderr; `-` is the standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace a file of another kind, too
    #[arg(long)]
    pub force: bool,
    /// Write it behind what is in FILE
    #[arg(short, long, requires = "output")]
    pub append: bool,
    #[command(flatten)]
    pub paper: Paper,
}

const MOST: u32 = 1_000_000;

fn runs(text: &str) -> Result<u32, String> {
    match text.trim().parse() {
        Ok(count) if count <= MOST => Ok(count),
        _ => Err(format!("write a number of runs, {MOST} at most")),
    }
}

fn some_runs(text: &str) -> Result<u32, String> {
    match runs(text)? {
        0 => Err("in 0 runs nothing can be measured".into()),
        some => Ok(some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_counted() {
        assert_eq!(some_runs("3"), Ok(3));
        assert_eq!(runs("0"), Ok(0));
        for wrong in ["0", "-1", "many", "1.5", "1000001"] {
            assert!(some_runs(wrong).is_err(), "{wrong}");
        }
    }
}
