//! `trace`: a program is run, and each of its calls is counted and measured.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use profundo_console::stderr;
use profundo_model::Profile;
use profundo_recorder::{EngineChoice, Options};
use profundo_save::trace_request::{TraceRequest, has_interpreter};

use crate::open::Samples;
use crate::options::{Trace, What};
use crate::record::{self, Plan, ProbedFunctions, Schedule};
use crate::report::{Shape, Stream};
use crate::{agent_file, open, options};

/// The largest size of a recording. A tree of calls is far smaller.
const MOST: u64 = 4 << 30;

pub fn trace(options: &Trace) -> Result<ExitCode> {
    if let Some(why) = options.misfit() {
        options::refuse(&why);
    }
    if let Some(word) = options.word_behind_lines() {
        options::refuse(&format!(
            "there is no program `{word}`; to count the lines of that, type --lines={word}, with a `=`"
        ));
    }
    let shape = Shape::new(options.what(), None, &options.view).first();
    // Where lines are printed first.
    let has_second = options.exceptions && !options.lines.is_empty() && options.format.is_none();
    let exceptions = has_second.then(|| Shape::new(What::Exceptions, None, &options.view));
    let functions = match options.functions.is_empty() {
        true => None,
        false => Some(ProbedFunctions::find(
            &options.command.words,
            &options.functions,
        )?),
    };
    let counting = options.counting();
    let how = Options {
        engine: EngineChoice::Auto,
        follow: !options.no_children,
        calls: (functions.is_none()).then(|| counting.calls(options.view.filters.own_code.rules())),
        // Samples are taken only for lines whose times are found by sampling.
        paused: !options.cheap,
        agent: Some(agent_file::file(match functions {
            None => agent_file::For::Calls,
            Some(_) => agent_file::For::Time,
        })?),
        ..Options::default()
    };
    let recorded = record::by_plan(
        Plan {
            options: how,
            output: options.output.as_deref(),
            keep: options.keep,
            force: options.view.style.force,
            max_size: MOST,
            last: None,
            keeps_source: !options.no_source,
            perf_map: false,
            schedule: Schedule::new(None, None::<Duration>),
            functions: functions.as_ref(),
            request: Some(TraceRequest::new(counting.tracing(), counting.lines)),
            counts_instructions: options.lines.is_empty() && !options.exceptions,
            wait_all: false,
            mine: &options.view.filters.own_code.rules(),
            labels: options.labels.clone(),
            began: &|_| {},
        },
        &options.command.words,
    )?;
    record::note_failure(&recorded);
    // The program's exit status stands, even if the report fails.
    let shown =
        open::open_without_warnings(&recorded.path, Samples::Each, None).and_then(|profile| {
            if functions.is_none() && is_out_of_sight(&profile) {
                stderr::note(match options.lines.is_empty() {
                    true if options.exceptions => ONLY_PYTHON,
                    true => HOW_CALLS,
                    false => HOW_LINES,
                });
            }
            if let Some(counted) = &recorded.instructions
                && !has_interpreter(&profile)
            {
                stderr::note(&instructions(counted));
            }
            shape.print(&profile, &recorded.path, Stream::Error)?;
            match exceptions {
                Some(shape) => shape.print(&profile, &recorded.path, Stream::Error),
                None => Ok(()),
            }
        });
    if let Err(error) = shown
        && !stderr::is_broken_pipe(&error)
    {
        stderr::error(&error);
    }
    recorded.arrive()
}

/// Advice for a native program whose calls or lines were not counted.
const HOW_CALLS: &str = "\
no call was counted, because this is a native program that counts none itself. Three ways out:
  profundo trace --functions=GLOB -- CMD    counts some functions, as root, of the program as it is
  gcc, g++, clang -finstrument-functions    builds a program whose calls are all counted, with their times
  rustc -Cinstrument-coverage, clang -fprofile-instr-generate, gcc --coverage or -pg    the same without times
`profundo run` samples it without counting";
const HOW_LINES: &str = "\
no line was counted: either no function fits, or the program is not Python's, and has no counters of lines, or is linked statically. It \
has them if it is built by rustc with -Cinstrument-coverage, by clang with -fprofile-instr-generate -fcoverage-mapping, or by gcc with \
--coverage";

/// The reason why a native program's exceptions are not counted.
const ONLY_PYTHON: &str = "\
no exception was counted: this is not a Python program, and only Python's exceptions are counted";

/// Parts of the notes that say why nothing was counted.
const WHYS: [&str; 2] = ["were not counted", "compiler's counters"];

/// True if nothing was counted, and no note says why.
fn is_out_of_sight(profile: &Profile) -> bool {
    let mut notes = profile.meta.notes.iter();
    profile.traced.is_empty()
        && !has_interpreter(profile)
        && !notes.any(|note| WHYS.iter().any(|why| note.contains(why)))
}

/// A sentence on the number of executed instructions.
fn instructions(counted: &io::Result<u64>) -> String {
    match counted {
        Ok(count) => format!(
            "{count} instructions were executed in user code, those of child processes and of the counting of calls included"
        ),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
            "instructions are not counted: this machine has no performance counters, or shows none"
                .to_owned()
        }
        Err(error) => format!("instructions are not counted: {error}"),
    }
}
