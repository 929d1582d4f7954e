//! `trace`: a program is run, and each of its calls is counted and measured.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use profundo_model::Profile;
use profundo_remote::{Calls, EngineChoice, Lines, LinesOf, Options};

use crate::asked::{Asked, has_interpreter};
use crate::functions::Functions;
use crate::open::Samples;
use crate::options::Trace;
use crate::report::{Shape, Stream};
use crate::run::{Plan, Schedule, carry_out, tell_failure};
use crate::{carried, open, options, stderr};

/// A tree of calls is far smaller.
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
    let shape = Shape::new(options.what(), None, &options.looking).first();
    let functions = match options.functions.is_empty() {
        true => None,
        false => Some(Functions::find(&options.command.words, &options.functions)?),
    };
    let how = Options {
        engine: EngineChoice::Auto,
        follow: !options.no_children,
        calls: functions.is_none().then(|| Calls {
            builtins: !options.no_builtins,
            cpu: options.cpu,
            lines: lines(options),
        }),
        // Nothing is sampled but where that is wanted.
        paused: !options.cheap,
        agent: Some(carried::file(match functions {
            None => carried::For::Calls,
            Some(_) => carried::For::Time,
        })?),
        ..Options::default()
    };
    let recorded = carry_out(
        Plan {
            options: how,
            output: options.output.as_deref(),
            keep: options.keep,
            force: options.looking.style.force,
            max_size: MOST,
            keeps_source: !options.no_source,
            perf_map: false,
            schedule: Schedule::new(None, None::<Duration>),
            functions: functions.as_ref(),
            asked: Some(Asked::new(options)),
            counts_instructions: options.lines.is_empty(),
            wait_all: false,
            mine: &options.looking.filters.own_code.rules(),
        },
        &options.command.words,
    )?;
    tell_failure(&recorded);
    // The program has ended as it has, whatever becomes of the report.
    let shown = open::open_quietly(&recorded.path, Samples::Each).and_then(|profile| {
        if functions.is_none() && is_out_of_sight(&profile) {
            stderr::note(match options.lines.is_empty() {
                true => HOW_CALLS,
                false => HOW_LINES,
            });
        }
        if let Some(counted) = &recorded.instructions
            && !has_interpreter(&profile)
        {
            stderr::note(&instructions(counted));
        }
        shape.print(&profile, &recorded.path, Stream::Error)
    });
    if let Err(error) = shown
        && !stderr::is_broken_pipe(&error)
    {
        stderr::error(&error);
    }
    recorded.arrive()
}

/// What a native program needs to have its calls or lines counted.
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

/// What notes have that say it.
const WHYS: [&str; 2] = ["were not counted", "compiler's counters"];

/// Whether nothing was counted, and nobody has said why.
fn is_out_of_sight(profile: &Profile) -> bool {
    let mut notes = profile.meta.notes.iter();
    profile.traced.is_empty()
        && !has_interpreter(profile)
        && !notes.any(|note| WHYS.iter().any(|why| note.contains(why)))
}

/// How many instructions a program has executed, in words.
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

/// Which lines are counted, if any.
fn lines(options: &Trace) -> Option<Lines> {
    if options.lines.is_empty() {
        return None;
    }
    let of = options.lines.iter().filter(|it| !it.is_empty());
    Some(Lines {
        of: of.map(|it| lines_of(it)).collect(),
        times: !options.cheap && !options.once,
        once: options.once,
        mine: options.looking.filters.own_code.rules(),
    })
}

/// What a path as it is typed is the end of.
fn end_of(path: &str) -> &str {
    let mut end = path;
    while let Some(rest) = end.strip_prefix("./").or_else(|| end.strip_prefix("../")) {
        end = rest;
    }
    end
}

/// What the names of source files end in.
const SOURCES: &[&str] = &["py", "rs", "c", "h", "cc", "cpp", "cxx", "hpp", "hh"];

/// `app.py`, `./app.py`, `src/*.py`, `fib`, `Class.method`, `app.py:fib`.
fn lines_of(pattern: &str) -> LinesOf {
    let is_source = |it: &str| {
        it.rsplit_once('.')
            .is_some_and(|(_, end)| SOURCES.contains(&end))
    };
    let is_file = |it: &str| it.contains('/') || is_source(it);
    let some = |it: &str| (!it.is_empty()).then(|| it.to_owned());
    let some_file = |it: &str| some(end_of(it));
    // Not those of Rust's and C++'s paths.
    let is_between =
        |at: &usize| !pattern[..*at].ends_with(':') && !pattern[*at + 1..].starts_with(':');
    let mut colons = pattern.match_indices(':').map(|(at, _)| at);
    let between = colons.rfind(is_between);
    match between.map(|at| (&pattern[..at], &pattern[at + 1..])) {
        Some((file, name)) => LinesOf {
            file: some_file(file),
            name: some(name),
        },
        None if is_file(pattern) => LinesOf {
            file: some_file(pattern),
            name: None,
        },
        None => LinesOf {
            file: None,
            name: some(pattern),
        },
    }
}
