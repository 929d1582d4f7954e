//! `run` and `record`: record a program; `run` reports on it at its end.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use profundo_console::{output, stderr};

use crate::options::{self, OnPage, Record, Recording, Run, What};
use crate::report::{Shape, Stream};
use crate::{open, record, view};

pub fn run(options: &Run) -> Result<ExitCode> {
    let what = options.format.unwrap_or_default();
    if what.wants_name() {
        let what = what.name();
        options::refuse(&format!(
            "`{what}` wants the name of a function: record first, then report FILE {what} NAME"
        ));
    }
    if matches!(what, What::Trace | What::Pstats) {
        let what = what.name();
        options::refuse(&format!(
            "`{what}` shows counted calls, which `profundo trace CMD` records and `run` does not"
        ));
    }
    refuse_pages(options.page, &options.recording);
    let shape = Shape::new(what, None, &options.view);
    let force = options.view.style.force;
    let recording = options.recording.clone().with_all_of(what);
    let mine = &options.view.filters.own_code.rules();
    let began = following(options.page);
    let words = &options.command.words;
    let recorded = match options.machine.all_processes {
        true => {
            let how = (force, &mine[..]);
            record::of_machine(&recording, &options.machine, how, words, &began)?
        }
        false => record::with_options(&recording, force, mine, words, &began)?,
    };
    record::note_failure(&recorded);
    // The program's exit status stands, even if the report fails.
    let shown = open::open_without_warnings(&recorded.path, shape.samples(), None)
        .and_then(|profile| shape.print(&profile, &recorded.path, Stream::Error));
    if let Err(error) = shown
        && !stderr::is_broken_pipe(&error)
    {
        stderr::error(&error);
    }
    if options.page.at_end {
        show(&recorded.path);
    }
    recorded.arrive()
}

/// Refuses a page of a recording that is in no file.
fn refuse_pages(page: OnPage, recording: &Recording) {
    if recording.last.is_some() && page.live {
        options::refuse(
            "`--live` follows a whole recording, and `--last` keeps its end: leave one of both out",
        );
    }
    let output = recording.output.as_deref();
    if output.is_some_and(output::is_stdout) && (page.at_end || page.live) {
        options::refuse("a page shows a recording in a file, and `-o -` sends it elsewhere");
    }
}

/// What is done once a recording has begun: its page is shown, if one is to follow it.
fn following(page: OnPage) -> impl Fn(&Path) {
    move |path| {
        if page.live {
            show(path);
        }
    }
}

/// Shows a recording on a page, as far as that is possible: the program comes first.
fn show(recording: &Path) {
    if let Err(error) = view::in_background(recording) {
        stderr::error(&error);
    }
}

pub fn record(options: &Record) -> Result<ExitCode> {
    refuse_pages(options.page, &options.recording);
    let mine = options.own_code.rules();
    let began = following(options.page);
    let (recording, force) = (&options.recording, options.force);
    let words = &options.command.words;
    let recorded = match options.machine.all_processes {
        true => {
            let how = (force, &mine[..]);
            record::of_machine(recording, &options.machine, how, words, &began)?
        }
        false => record::with_options(recording, force, &mine, words, &began)?,
    };
    for note in &recorded.done.notes {
        stderr::note(note);
    }
    if !record::note_failure(&recorded) {
        let (samples, path) = (recorded.done.samples, &recorded.path);
        let path = stderr::path(path);
        stderr::note(&match recorded.goes_to_stdout() {
            true => format!("{samples} samples in the standard output"),
            // The newest recording of the folder need not be named.
            false if recorded.has_name_of_ours() => {
                format!("{samples} samples in {path}; `profundo report` shows them")
            }
            false => format!("{samples} samples in {path}; `profundo report {path}` shows them"),
        });
    }
    if options.page.at_end {
        show(&recorded.path);
    }
    recorded.arrive()
}
