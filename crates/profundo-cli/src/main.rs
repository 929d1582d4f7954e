//! The command `profundo`: it puts the parts together, and it is the only one that talks.
//!
//! The crate's library is not used here. It is the agent, which the command carries as bytes:
//! see `carried`.

mod asked;
mod assemble;
mod attach;
mod bench;
mod carried;
mod code_lines;
mod completing;
mod config;
mod ctl;
mod doctor;
mod export;
mod function_names;
mod functions;
mod gc_log;
mod heap;
mod launch;
mod manual;
mod naming;
mod open;
mod options;
mod ours;
mod output;
mod own_code;
mod peek;
mod perf_map;
mod progress;
mod qualified;
mod recordings;
mod recover;
mod report;
mod roots;
mod run;
mod sink;
mod snapshot;
mod sources;
mod stderr;
mod tallies;
mod time;
mod top;
mod trace;
mod track;
mod unnamed;
mod unseen;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Parser;
use clap::error::ErrorKind;

use launch::Unstarted;
use options::{Arguments, Verb};
use profundo_remote::permits::enough_descriptors;

/// Wrong usage.
const USAGE: u8 = 2;
/// A failure of ours before the program ran, or without one.
const FAILURE: u8 = 1;
/// Nothing of a recording passes the filter.
const NOTHING: u8 = 4;

fn main() -> ExitCode {
    completing::answer();
    let words = options::spelled_out(std::env::args_os());
    let given = match config::with_defaults(words) {
        Ok(given) => given,
        Err(why) => {
            stderr::note(&why);
            return ExitCode::from(USAGE);
        }
    };
    let mut arguments = match Arguments::try_parse_from(given.words) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and the version are answers; everything else is wrong usage.
            let is_answer = matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            );
            if is_answer {
                let words: Vec<_> = std::env::args_os().collect();
                let printed = match error.kind() {
                    ErrorKind::DisplayHelp => options::help::print(&words),
                    _ => error.print(),
                };
                return match printed {
                    Ok(()) => ExitCode::SUCCESS,
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                        launch::end_by_broken_pipe()
                    }
                    Err(error) => {
                        stderr::note(&format!(
                            "cannot write the help: {}",
                            stderr::reason(&error)
                        ));
                        ExitCode::from(FAILURE)
                    }
                };
            }
            return options::wrong(error);
        }
    };
    arguments.set(given.set, given.mine);
    match answer(arguments) {
        Ok(code) => code,
        Err(error) if stderr::is_broken_pipe(&error) => launch::end_by_broken_pipe(),
        Err(error) => {
            stderr::error(&error);
            if error.downcast_ref::<output::Refused>().is_some() {
                return ExitCode::from(USAGE);
            }
            if error.downcast_ref::<export::NothingPasses>().is_some() {
                return ExitCode::from(NOTHING);
            }
            let unstarted = error.downcast_ref::<Unstarted>();
            ExitCode::from(unstarted.map_or(FAILURE, |unstarted| unstarted.code))
        }
    }
}

/// Whether it begins a recording.
fn records(verb: &Verb) -> bool {
    matches!(
        verb,
        Verb::Run(_)
            | Verb::Record(_)
            | Verb::Attach(_)
            | Verb::Peek(_)
            | Verb::Top(_)
            | Verb::Trace(_)
            | Verb::GcLog(_)
            | Verb::TrackAllocation(_)
    )
}

fn answer(arguments: Arguments) -> Result<ExitCode> {
    let verb = arguments.verb;
    if records(&verb)
        && let Err(gap) = enough_descriptors()
    {
        bail!("{gap}");
    }
    match verb {
        Verb::Run(options) => run::run(&options),
        Verb::Record(options) => run::record(&options),
        Verb::Time(options) => time::time(&options),
        Verb::Attach(options) => attach::attach(&options),
        Verb::Peek(options) => peek::peek(&options),
        Verb::Top(options) => top::top(&options),
        Verb::Report(mut options) => {
            // In the other verbs `-o` is a recording, and `--report-to` the report.
            if let Some(output) = options.output.take() {
                options.looking.style.report_to = Some(output);
            }
            report::report(&options)
        }
        Verb::List(options) => recordings::list(&options),
        Verb::Export(options) => export::export(&options),
        Verb::Bench(options) => bench::bench(&options),
        Verb::Flame(options) => export::flame(&options),
        Verb::Doctor(options) => doctor::doctor(&options, arguments.no_config),
        Verb::Heap(options) => heap::heap(&options),
        Verb::Snapshot(options) => snapshot::snapshot(&options),
        Verb::Trace(options) => trace::trace(&options),
        Verb::GcLog(options) => gc_log::gc_log(&options),
        Verb::Assemble(options) => assemble::assemble(&options),
        Verb::TrackAllocation(options) => track::track(&options),
        Verb::Ctl(options) => ctl::ctl(&options),
        Verb::Recover(options) => recover::recover(&options),
        Verb::Completions { shell } => completing::script(shell),
        Verb::Man { command } => {
            io::stdout().write_all(&manual::pages(command.as_deref())?)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
