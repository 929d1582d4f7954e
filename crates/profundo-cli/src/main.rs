//! The command `profundo`: it puts the parts together, and it alone prints messages.
//!
//! The crate's library is not used here. It is the agent, which the command carries as bytes:
//! see `agent_file`.

mod agent_file;
mod annotate;
mod assemble;
mod attach;
mod beside;
mod completing;
mod config;
mod ctl;
mod cut;
mod diff;
mod doctor;
mod export;
mod file_owner;
mod fleet;
mod foreign;
mod gc_log;
mod graph;
mod heap;
mod input;
mod list;
mod locals;
mod manual;
mod merge;
mod open;
mod options;
mod own_code;
mod peek;
mod push;
mod ready;
mod receive;
mod record;
mod recordings;
mod recover;
mod regressions;
mod report;
mod run;
mod served;
mod snapshot;
mod snapshot_files;
mod symbols;
mod time;
mod trace;
mod track;
mod view;
mod watch;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use profundo_console::options::WrongUsage;
use profundo_console::{output, stderr};
use profundo_launch::Unstarted;

use profundo_permits::enough_descriptors;

use options::{Arguments, Verb};

/// The exit code for wrong usage.
const USAGE: u8 = 2;
/// The exit code for a failure before the program ran, or without a program.
const FAILURE: u8 = 1;
/// The exit code if nothing of a recording passes the filter.
const NOTHING: u8 = 4;

fn main() -> ExitCode {
    completing::answer(Arguments::command);
    profundo_launch::outlive_shortened_files();
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
                        profundo_launch::end_by_broken_pipe()
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
        Err(error) if stderr::is_broken_pipe(&error) => profundo_launch::end_by_broken_pipe(),
        Err(error) => {
            if let Some(WrongUsage(why)) = error.downcast_ref() {
                options::refuse(why);
            }
            stderr::error(&error);
            if error.downcast_ref::<output::Refused>().is_some() {
                return ExitCode::from(USAGE);
            }
            if error.downcast_ref::<input::NothingPasses>().is_some() {
                return ExitCode::from(NOTHING);
            }
            let unstarted = error.downcast_ref::<Unstarted>();
            ExitCode::from(unstarted.map_or(FAILURE, |unstarted| unstarted.code))
        }
    }
}

/// True for verbs that begin a recording.
fn records(verb: &Verb) -> bool {
    matches!(
        verb,
        Verb::Run(_)
            | Verb::Record(_)
            | Verb::Attach(_)
            | Verb::Beside(_)
            | Verb::Peek(_)
            | Verb::Top(_)
            | Verb::Watch(_)
            | Verb::Trace(_)
            | Verb::GcLog(_)
            | Verb::TrackAllocation(_)
    )
}

fn answer(arguments: Arguments) -> Result<ExitCode> {
    let servers = match arguments.debuginfod {
        true => Some(served::ask_servers()?),
        false => None,
    };
    if let Some(gateway) = &arguments.cluster {
        fleet::ask_cluster(gateway.clone());
    }
    let code = answer_verb(arguments);
    if let Some(servers) = servers {
        served::say(&servers.outcome());
    }
    code
}

fn answer_verb(arguments: Arguments) -> Result<ExitCode> {
    let verb = arguments.verb;
    if records(&verb)
        && let Err(gap) = enough_descriptors()
    {
        bail!("{gap}");
    }
    match verb {
        Verb::Run(mut options) => {
            options.recording.labels = options.view.filters.take_labels();
            run::run(&options)
        }
        Verb::Record(mut options) => {
            options.recording.labels = options::Labels::all(&options.label);
            run::record(&options)
        }
        Verb::Time(options) => time::time(&options),
        Verb::Attach(mut options) => {
            options.recording.labels = options.view.filters.take_labels();
            attach::attach(&options)
        }
        Verb::Beside(options) => beside::beside(&options),
        Verb::Peek(options) if !options.view.filters.label.is_empty() => {
            options::refuse("`peek` makes no recording: there is nothing to give a `--label` to")
        }
        Verb::Peek(options) => peek::peek(&options),
        Verb::Top(options) => {
            profundo_top::top(&options, || agent_file::file(agent_file::For::Time))
        }
        Verb::Watch(options) => watch::watch(&options),
        Verb::Report(mut options) => {
            // In the other verbs `-o` is a recording, and `--report-to` the report.
            if let Some(output) = options.output.take() {
                options.view.style.report_to = Some(output);
            }
            report::report(&options)
        }
        Verb::List(options) => list::list(&options),
        Verb::Merge(options) => merge::merge(&options),
        Verb::Export(options) => export::export(&options),
        Verb::Push(options) => push::push(&options),
        Verb::Receive(options) => receive::receive(&options),
        Verb::Symbols(options) => symbols::symbols(&options),
        Verb::Bench(options) => profundo_bench_command::bench(&options),
        Verb::Flame(options) => export::flame(&options),
        Verb::Diff(options) => diff::diff(&options),
        Verb::Regressions(options) => regressions::regressions(&options),
        Verb::Graph(options) => graph::graph(&options),
        Verb::Heatmap(options) => export::heatmap(&options),
        Verb::View(options) => view::view(&options),
        Verb::Doctor(options) => doctor::doctor(&options, arguments.no_config),
        Verb::Heap(options) => heap::heap(&options),
        Verb::Snapshot(options) => snapshot::snapshot(&options),
        Verb::Trace(mut options) => {
            options.labels = options.view.filters.take_labels();
            trace::trace(&options)
        }
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
