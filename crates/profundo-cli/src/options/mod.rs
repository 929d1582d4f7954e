//! The command line. One name means one thing in every verb, so the options that several verbs
//! share are written once and taken in whole.

mod attached_trace;
mod beside;
mod counting;
mod diff;
mod exchange;
mod exporting;
mod filters;
mod gc_log;
mod graph;
mod head;
mod heap;
pub mod help;
mod listing;
mod measuring;
mod merging;
mod on_machine;
mod recording;
mod regressions;
mod reporting;
mod snapshot;
mod time;
mod trace;
mod tracking;
mod view;
mod viewing;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use clap_complete::engine::ArgValueCompleter;
use profundo_bench_command::options::Bench;
use profundo_console::completing::processes;
use profundo_console::options::values::{rate, some_seconds};
use profundo_console::options::{OwnCode, Paper};
use profundo_top::options::Top;

pub use attached_trace::AttachedTrace;
pub use counting::Counting;
pub use diff::Diff;
pub use exchange::{AddSymbols, ListSymbols, Push, Receive, Symbols, SymbolsVerb};
pub use exporting::{Export, Flame, Heatmap};
pub use filters::{Filters, NO_GIL};
pub use gc_log::GcLog;
pub use graph::{Graph, LayoutEngine};
pub use head::Head;
pub use heap::{Assemble, Heap};
pub use listing::List;
pub use measuring::{Measuring, Reading};
pub use merging::{Labels, Merge};
pub use on_machine::{CommandIfAny, OnMachine};
pub use regressions::Regressions;
pub use reporting::Report;
pub use trace::Trace;
pub use view::{Order, Style, ViewOptions, What};
pub use viewing::View;
pub use watch::Watch;

use crate::completing;

pub use beside::Beside;
pub use recording::{Attached, Recording};
pub use snapshot::{Snapshot, Through};
pub use time::Time;
pub use tracking::{Scope, TrackAllocation, spelled_out};

const EXAMPLES: &str = "\
Examples:
  profundo run app.py                     a Python program: record it, then say where the time went
  profundo run -- ./server --port 8080    any program; what follows `--` is the program's own
  profundo report app.profundo lines      the hot source lines of a recording, in their files
  profundo flame app.profundo -o app.svg  a picture to click through

Exit codes: the program's own (or its signal); 127 if there is no such program, 126 if it cannot be
run, 2 for wrong usage, 1 for another failure before it ran.";

/// A profiler for programs as they are, native and Python.
#[derive(Debug, Parser)]
#[command(
    name = "profundo",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = EXAMPLES
)]
pub struct Arguments {
    /// Print help on every option
    #[arg(long, global = true, action = clap::ArgAction::HelpLong, exclusive = false)]
    pub help_all: Option<bool>,
    /// Leave out the settings in files: only what is typed counts
    #[arg(long, global = true, hide_short_help = true)]
    pub no_config: bool,
    /// Ask the servers of DEBUGINFOD_URLS for names and lines of libraries that this machine lacks
    #[arg(long, global = true, hide_short_help = true)]
    pub debuginfod: bool,
    /// Have the machines behind this gateway answer queries of a store
    #[arg(long, global = true, hide_short_help = true, value_name = "URL")]
    pub cluster: Option<String>,
    #[command(subcommand)]
    pub verb: Verb,
}

// The options of the verbs that were not typed are never made. Those of the others are made behind
// the verb's own description, which a `///` on a struct of options would take the place of: those
// have `//`.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    /// Record a program, then print where its time went
    Run(Run),
    /// Record a program, without a report
    Record(Record),
    /// Say how long a program takes, and what it takes of the machine
    Time(Time),
    /// Record a process that runs already, then print where its time goes
    Attach(Attach),
    /// Record the program that has started this command by itself
    #[command(hide = true)]
    Beside(Beside),
    /// Look at a process: one stack of each thread, then a second of profile
    Peek(Peek),
    /// Show where a program spends its time while it runs
    Top(Top),
    /// Profile the machine, processes or a program without an end, into a store of many machines
    Watch(Watch),
    /// Print what a recording says
    Report(Report),
    /// Say what has changed between two recordings, or two sets of them
    Diff(Diff),
    /// Say which functions of a fleet's services have grown since the version before
    Regressions(Regressions),
    /// List the recordings that there are
    List(List),
    /// Combine recordings of runs, processes, machines or ranks into one
    Merge(Merge),
    /// Write a recording in another tool's format
    Export(Export),
    /// Send recordings to a collector of OpenTelemetry, to Pyroscope, or into a store
    Push(Push),
    /// Take the profiles that other profilers push, and write them into a store
    Receive(Receive),
    /// Keep the symbols of programs in a store, for profiles that have addresses only
    Symbols(Symbols),
    /// Say how fast a statement or a command is, and which of several is the fastest
    Bench(Bench),
    /// Draw a recording as a flame graph: an SVG file to click through
    Flame(Flame),
    /// Draw who calls whom: boxes and arrows in an SVG file, or a text for Graphviz
    Graph(Graph),
    /// Draw time against the offset within each second, which shows pauses and what recurs
    Heatmap(Heatmap),
    /// Look at a recording on a page in the browser, or write that page as one file
    View(View),
    /// Count and measure every call, then print who was called how often
    Trace(Trace),
    /// Count what each line of source allocates, and write it beside the sources
    TrackAllocation(TrackAllocation),
    /// Print what a heap snapshot says, or what has changed in a later one
    Heap(Heap),
    /// Write the objects of a process that runs, and who holds whom, as a heap snapshot
    Snapshot(Snapshot),
    /// Print a line for each collection of garbage of a Python program
    GcLog(GcLog),
    /// Make a heap snapshot of the part files that were streamed
    Assemble(Assemble),
    /// Start and stop the sampling of a program that is being recorded, or write its last minutes
    Ctl(Ctl),
    /// Say what works here, and what mends what does not
    Doctor(Doctor),
    /// Mend a recording whose writer was killed
    Recover(Recover),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual: all its pages, or that of one command
    Man {
        /// The command
        command: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct Run {
    #[command(flatten)]
    pub command: CommandIfAny,
    #[command(flatten)]
    pub recording: Recording,
    #[command(flatten)]
    pub machine: OnMachine,
    #[command(flatten)]
    pub page: OnPage,
    /// What to print at the end
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "The report")]
    pub format: Option<What>,
    #[command(flatten)]
    pub view: ViewOptions,
}

// The page of a recording that is made.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "The page")]
pub struct OnPage {
    /// Show the recording on a page at the end, too: as `profundo view` does
    #[arg(long = "view")]
    pub at_end: bool,
    /// Show the recording on a page that follows it while the program runs
    #[arg(long, conflicts_with = "at_end")]
    pub live: bool,
}

#[derive(Debug, Args)]
pub struct Attach {
    #[command(flatten)]
    pub processes: Processes,
    /// Print one stack of each thread, and go
    #[arg(long, conflicts_with_all = ["duration", "rate", "max_size"])]
    pub dump: bool,
    #[command(flatten)]
    pub locals: LocalsOptions,
    #[command(flatten)]
    pub recording: Attached,
    /// What to print at the end
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "The report")]
    pub format: Option<What>,
    #[command(flatten)]
    pub view: ViewOptions,
}

impl Attach {
    /// The report that is printed at the end.
    pub fn what(&self) -> What {
        match self.recording.counts.counting() {
            Some(counting) => counting.what(self.format),
            None => self.format.unwrap_or_default(),
        }
    }

    /// Why these options do not go together, if they do not.
    fn misfit(&self) -> Option<String> {
        let (what, recording) = (self.what(), &self.recording);
        let of_counts = (recording.counts).misfit(what, &self.view, recording.rate.is_some());
        of_counts.or_else(|| self.view.misfit(what))
    }
}

// Which variables are shown.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct LocalsOptions {
    /// Show the local variables of Python frames, with their types, numbers and lengths
    #[arg(long)]
    pub locals: bool,
    /// Show texts and bytes in variables, too, except those that look like secrets
    #[arg(long, requires = "locals")]
    pub values: bool,
}

// Which processes are looked at.
#[derive(Debug, Args)]
pub struct Processes {
    /// The process; its children are looked at, too
    #[arg(
        add = ArgValueCompleter::new(processes),
        value_name = "PID",
        required_unless_present = "pids",
        conflicts_with = "pids"
    )]
    pub pid: Option<u32>,
    /// Several processes
    #[arg(long = "pid", value_name = "PID,…", value_delimiter = ',')]
    pub pids: Vec<u32>,
}

impl Processes {
    /// The first of them, and the others.
    pub fn first_and_others(&self) -> (u32, &[u32]) {
        match (self.pid, self.pids.split_first()) {
            (None, Some((&first, others))) => (first, others),
            (pid, _) => (pid.unwrap_or_default(), &[]),
        }
    }
}

#[derive(Debug, Args)]
pub struct Peek {
    #[command(flatten)]
    pub processes: Processes,
    /// Look at this process alone, and not at its children
    #[arg(long)]
    pub no_children: bool,
    /// How long to sample
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = some_seconds, allow_negative_numbers = true)]
    pub duration: std::time::Duration,
    /// Samples per second of a thread's CPU time
    #[arg(short, long, value_name = "HZ", default_value = "1000", value_parser = rate, allow_negative_numbers = true)]
    pub rate: f64,
    /// Have the program print it itself: only one that was made with the library `profundo` and has
    /// installed its peek
    #[arg(long, conflicts_with_all = ["duration", "rate", "format", "locals"])]
    pub signal: bool,
    #[command(flatten)]
    pub locals: LocalsOptions,
    /// What to print at the end
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "The report")]
    pub format: Option<What>,
    #[command(flatten)]
    pub view: ViewOptions,
}

#[derive(Debug, Args)]
pub struct Record {
    #[command(flatten)]
    pub command: CommandIfAny,
    #[command(flatten)]
    pub recording: Recording,
    #[command(flatten)]
    pub machine: OnMachine,
    /// Replace a file that is no recording, too
    #[arg(long, help_heading = "The recording")]
    pub force: bool,
    /// Give the recording a label, as run=1; may be repeated
    #[arg(long, value_name = "KEY=VALUE", help_heading = "The recording")]
    pub label: Vec<Labels>,
    #[command(flatten)]
    pub page: OnPage,
    #[command(flatten)]
    pub own_code: OwnCode,
}

// The program and its arguments.
#[derive(Debug, Args)]
pub struct Command {
    /// The program and its arguments; a `.py` file is run by python3
    #[arg(
        value_name = "CMD",
        required = true,
        trailing_var_arg = true,
        num_args = 1..
    )]
    pub words: Vec<OsString>,
}

/// A request of `ctl` to a recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Request {
    /// Take samples from now on
    Start,
    /// Take none from now on
    Stop,
    /// Forget what was recorded so far, as if the recording began now
    Clear,
    /// Write the last minutes now, of a recording with `--last`
    Keep,
}

#[derive(Debug, Args)]
pub struct Ctl {
    /// A process that is being recorded, or the `profundo` that records it
    #[arg(add = ArgValueCompleter::new(processes), value_name = "PID")]
    pub pid: u32,
    /// What to do
    #[arg(value_enum)]
    pub request: Request,
    /// Where `keep` writes to [default: a name after that of the recording]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
}

const DOCTORS_EXIT: &str = "\
Everything is found out by trying.
✓ works, ~ works in part, ✗ does not work, · is only told.

Exit codes: 0 if all that is essential works (recording, its memory, attaching; with
PID attaching to that process), 1 if not, 2 for wrong usage.";

#[derive(Debug, Args)]
#[command(after_help = DOCTORS_EXIT)]
pub struct Doctor {
    /// A process that runs: may it be attached to, and what is known of it
    #[arg(add = ArgValueCompleter::new(processes), value_name = "PID")]
    pub pid: Option<u32>,
    #[command(flatten)]
    pub paper: Paper,
}

#[derive(Debug, Args)]
pub struct Recover {
    /// The recording, as it was left
    #[arg(add = ArgValueCompleter::new(completing::recordings), value_name = "FILE")]
    pub file: PathBuf,
    /// Where to write the mended one; `-` is the standard output [default: in its place]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace a file of another kind, too
    #[arg(long)]
    pub force: bool,
}

impl Arguments {
    /// Marks the options, and the number of patterns of own code, that come from settings.
    pub fn set(&mut self, options: Vec<String>, mine: usize) {
        match &mut self.verb {
            Verb::Report(report) => report.view.filters.own_code.set = mine,
            Verb::Export(export) => export.head.filters.own_code.set = mine,
            Verb::Flame(flame) => flame.head.filters.own_code.set = mine,
            Verb::Diff(diff) => diff.filters.own_code.set = mine,
            Verb::Graph(graph) => graph.head.filters.own_code.set = mine,
            Verb::Heatmap(heatmap) => heatmap.head.filters.own_code.set = mine,
            _ => {}
        }
        let view = match &mut self.verb {
            Verb::Run(run) => &mut run.view,
            Verb::Attach(attach) => &mut attach.view,
            Verb::Peek(peek) => &mut peek.view,
            Verb::Trace(trace) => &mut trace.view,
            Verb::Report(report) => &mut report.view,
            _ => return,
        };
        view.shape.set = options;
    }

    /// Why these options do not go together, as far as that is known before anything is read.
    pub fn misfit(&self) -> Option<String> {
        match &self.verb {
            Verb::Run(run) => run.view.misfit(run.format.unwrap_or_default()),
            Verb::Attach(attach) => attach.misfit(),
            Verb::Peek(peek) => peek.view.misfit(peek.format.unwrap_or_default()),
            Verb::Trace(trace) => (trace.misfit()).or_else(|| trace.view.misfit(trace.what())),
            Verb::Report(report) => report.view.misfit(report.asked().ok()?.what),
            Verb::Export(export) => export.misfit(),
            Verb::Flame(flame) => flame.misfit(),
            Verb::Diff(diff) => diff.misfit(),
            Verb::Regressions(regressions) => regressions.misfit(),
            Verb::Graph(graph) => graph.misfit(),
            Verb::Heatmap(heatmap) => heatmap.misfit(),
            _ => None,
        }
    }
}

/// Ends the program because of wrong usage that clap does not find.
pub fn refuse(why: &str) -> ! {
    let verb = std::env::args().nth(1).unwrap_or_default();
    let command = <Arguments as clap::CommandFactory>::command();
    let of_verb = match command.find_subcommand(&verb) {
        Some(_) => format!(" {verb}"),
        None => String::new(),
    };
    profundo_console::stderr::note(&format!("{why} (see `profundo{of_verb} --help`)"));
    std::process::exit(2)
}

/// Says what was typed wrong, and with which code to end.
pub fn wrong(error: clap::Error) -> std::process::ExitCode {
    let verb = error.get(ContextKind::InvalidSubcommand);
    if let Some(ContextValue::String(word)) = verb
        && word == "compare"
    {
        profundo_console::stderr::note(
            "`compare` is called `diff`: `profundo diff BEFORE AFTER`, or `profundo diff` for the last two recordings",
        );
        return std::process::ExitCode::from(crate::USAGE);
    }
    if let Some(ContextValue::String(word)) = verb
        && profundo_launch::Program::find(&[word.into()]).is_ok()
    {
        let words: Vec<_> = std::env::args().skip(1).collect();
        let words = words.join(" ");
        profundo_console::stderr::note(&format!(
            "`{word}` is no command of profundo's; to record this program, type: profundo run {words}"
        ));
        return std::process::ExitCode::from(crate::USAGE);
    }
    if let Some(ContextValue::String(word)) = verb
        && let Ok(report) = What::from_str(word, false)
    {
        let name = report.to_possible_value();
        let name = name.as_ref().map_or("", |value| value.get_name());
        profundo_console::stderr::note(&format!(
            "`{word}` is a report: `profundo report {name}`, or `profundo report FILE {name}`"
        ));
        return std::process::ExitCode::from(crate::USAGE);
    }
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        && std::env::args_os().len() < 2
    {
        // A closed stderr is no failure.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), help::ROOT.as_bytes());
        return std::process::ExitCode::from(crate::USAGE);
    }
    profundo_console::stderr::usage(&with_tip(error));
    std::process::ExitCode::from(crate::USAGE)
}

/// An error of clap's with better tips: also the right word where it is not spelled alike, and none
/// that are far from the typed one.
pub fn with_tip(mut error: clap::Error) -> clap::Error {
    let typed = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    let names = What::value_variants()
        .iter()
        .filter_map(What::to_possible_value);
    let names: Vec<String> = names.map(|value| value.get_name().to_owned()).collect();
    let typed_name = typed
        .as_deref()
        .and_then(|argument| argument.strip_prefix("--"));
    let nearest = |word: &str| names.iter().find(|name| distance(word, name) <= 1);
    let usage = error.get(ContextKind::Usage).map(ToString::to_string);
    let is_report = usage.is_some_and(|usage| usage.contains("profundo report"));
    if let Some(report) = typed_name.and_then(nearest).filter(|_| is_report) {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
        let tip = format!("`{report}` is a report: `profundo report {report}`");
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
        return error;
    }
    drop_far_tips(&mut error);
    if typed.is_some_and(|typed| typed.starts_with("--order")) {
        let tip = "the order of rows is `--sort`";
        let tips = ContextValue::StyledStrs(vec![tip.to_owned().into()]);
        error.insert(ContextKind::Suggested, tips);
    }
    error
}

/// Removes what is proposed in place of a word and is not like it: more than a third of the letters
/// differ, or more than two.
fn drop_far_tips(error: &mut clap::Error) {
    let pairs = [
        (
            ContextKind::InvalidSubcommand,
            ContextKind::SuggestedSubcommand,
        ),
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
    ];
    let words = |value: &ContextValue| match value {
        ContextValue::String(word) => vec![word.clone()],
        ContextValue::Strings(words) => words.clone(),
        _ => Vec::new(),
    };
    for (typed, proposed) in pairs {
        let (Some(word), Some(tips)) =
            (error.get(typed).map(words), error.get(proposed).map(words))
        else {
            continue;
        };
        let word = word.concat();
        let name = |word: &str| word.split([' ', '=']).next().unwrap_or_default().to_owned();
        let is_near = |tip: &String| {
            let (word, tip) = (name(&word), name(tip));
            let letters = word.trim_start_matches('-').chars().count();
            distance(&word, &tip) <= (letters / 3).clamp(1, 2)
        };
        if !tips.iter().any(is_near) {
            error.remove(proposed);
            error.remove(ContextKind::Suggested);
            // It is written as if the proposal had been meant.
            error.remove(ContextKind::Usage);
        }
    }
}

/// The number of letters that were put in, left out, replaced, or exchanged with the next.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};
    use profundo_recorder::Memory;

    #[test]
    fn what_follows_memory_is_the_program() {
        let parse = |words: &[&str]| {
            let typed = super::Arguments::try_parse_from(words).unwrap();
            let super::Verb::Run(run) = typed.verb else {
                panic!("{words:?}")
            };
            (run.recording.memory(), run.command.words.len())
        };
        let sampled = |mean, doublings| Some(Memory::Sampled { mean, doublings });
        let plain = ["profundo", "run", "app.py", "exact"];
        assert_eq!(parse(&plain), (None, 2));
        let asked = ["profundo", "run", "--memory", "app.py", "exact"];
        assert_eq!(parse(&asked), (sampled(512 << 10, 4), 2));
        let exact = ["profundo", "run", "--memory=exact", "app.py"];
        assert_eq!(parse(&exact), (Some(Memory::Exact), 1));
        let finer = [
            "profundo",
            "run",
            "--memory",
            "--memory-sample",
            "4K",
            "app.py",
        ];
        assert_eq!(parse(&finer), (sampled(4096, 0), 1));
    }

    #[test]
    fn tips_are_near_or_absent() {
        let printed = |words: &[&str]| {
            let error = super::Arguments::try_parse_from(words).unwrap_err();
            super::with_tip(error).to_string()
        };
        assert!(printed(&["profundo", "rpeort"]).contains("report"));
        assert!(printed(&["profundo", "run", "--memry", "a"]).contains("--memory"));
        assert!(!printed(&["profundo", "compare"]).contains("completions"));
        let lines = printed(&["profundo", "report", "--lines"]);
        assert!(!lines.contains("--mine"), "{lines}");
        assert!(printed(&["profundo", "report", "--lines"]).contains("profundo report lines"));
    }

    #[test]
    fn letters_that_differ_are_counted() {
        for (a, b, letters) in [
            ("", "ab", 2),
            ("list", "lsit", 1),
            ("flame", "frame", 1),
            ("x", "x", 0),
        ] {
            assert_eq!(super::distance(a, b), letters, "{a} {b}");
        }
    }

    #[test]
    fn the_options_go_together() {
        super::Arguments::command().debug_assert();
    }
}
