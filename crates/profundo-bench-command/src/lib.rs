//! `bench`: how fast is this, and which of these is faster?
//!
//! What to time is planned from the options (`plan`). Statements of Python run in an interpreter of
//! their own (`python`, `statements`), commands are started one after the other (`command`,
//! `commands`), and the runs of several candidates are taken in rounds (`rounds`).
//!
//! [`bench`] is the command; its options are [`options::Bench`](crate::options::Bench). What this
//! is not for: figures are made by `profundo_analysis::bench` and printed by
//! `profundo_report::Benchmark`.

#![forbid(unsafe_code)]

mod check;
mod command;
mod commands;
mod machine;
pub mod options;
mod plan;
mod python;
mod rounds;
mod saved;
mod statements;
mod words;

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use profundo_analysis::bench::{Bench, Candidate, Subject};
use profundo_console::options::WrongUsage;
use profundo_console::output::{Kind, Text};
use profundo_console::progress::Progress;
use profundo_console::stderr;
use profundo_launch::{Ended, Interrupt, Interrupted, end_as};
use profundo_report::{Benchmark, Look, When, this_machine};

use crate::options::Bench as Options;
use check::Found;
use commands::Runs;
use machine::Watch;
use plan::{Plan, Work};
use python::Raised;
use rounds::Cut;

/// The exit code if something has become too slow.
const TOO_SLOW: u8 = 3;
/// The exit code if the candidates differ in their results, or one of them fails.
const FAILED: u8 = 1;
/// The default threshold for too slow.
const THRESHOLD: f64 = 0.10;

impl Options {
    /// The digits of times: timeit's three, and one more for each further `-v`.
    fn digits(&self) -> usize {
        3 + usize::from(self.verbose).saturating_sub(1)
    }
}

/// Measures what the options name, prints the figures, and returns the exit code.
pub fn bench(options: &Options) -> Result<ExitCode> {
    if let Some(path) = &options.later.measured {
        return show(path, options);
    }
    let plan = Plan::of(options).map_err(WrongUsage)?;
    let earlier = options.later.against.as_deref();
    let earlier = earlier.map(saved::read).transpose()?;
    let saving = saving(options)?;
    let mut bench = Bench {
        subject: plan.subject(),
        cpu_clock: options.process,
        started: now(),
        machine: this_machine(),
        start: None,
        candidates: plan.candidates(),
    };
    if let (Some(earlier), Some(path)) = (&earlier, &options.later.against) {
        see_that_they_are_alike(&bench, earlier, path)?;
    }
    let interrupt = Interrupt::catch();
    let measured = measure(&plan, options, &mut bench, &interrupt);
    drop(interrupt);
    let measured = match measured {
        Ok(Some(measured)) => measured,
        Ok(None) => return Ok(ExitCode::from(FAILED)),
        Err(error) => {
            drop(saving);
            return end_by(error.into());
        }
    };
    if bench
        .candidates
        .iter()
        .all(|candidate| candidate.runs.is_empty())
    {
        drop(saving);
        return measured.cut.map_or(Ok(ExitCode::SUCCESS), end_by);
    }
    let report = report(&bench, earlier.as_ref(), options)
        .agreed(measured.agreed)
        .remarks(measured.remarks)
        .notes(measured.notes);
    print(&report, options)?;
    if let Some(cut) = measured.cut {
        if saving.is_some() {
            stderr::note(match cut {
                Cut::Interrupted(_) => "what was measured before the interruption is not saved",
                Cut::Failed(_) => "what was measured before a run failed is not saved",
            });
        }
        drop(saving);
        return end_by(cut);
    }
    if let Some(saving) = saving {
        saving.write(|out| Ok(report.write_json(out)?))?;
    }
    Ok(verdict(&report, options))
}

/// Shows a saved measurement in the same way.
fn show(path: &Path, options: &Options) -> Result<ExitCode> {
    let bench = saved::read(path)?;
    let earlier = options.later.against.as_deref();
    let earlier = earlier.map(saved::read).transpose()?;
    if let (Some(earlier), Some(path)) = (&earlier, &options.later.against) {
        see_that_they_are_alike(&bench, earlier, path)?;
    }
    let report = report(&bench, earlier.as_ref(), options);
    print(&report, options)?;
    Ok(verdict(&report, options))
}

fn report<'a>(bench: &'a Bench, earlier: Option<&'a Bench>, options: &Options) -> Benchmark<'a> {
    let report = Benchmark::new(bench)
        .unit(options.unit)
        .digits(options.digits())
        .raw(options.verbose > 0)
        .look(look(options));
    match (earlier, &options.later.against) {
        (Some(earlier), Some(path)) => {
            let threshold = options.later.threshold.unwrap_or(THRESHOLD);
            report.against(path.display().to_string(), earlier, threshold)
        }
        _ => report,
    }
}

fn print(report: &Benchmark<'_>, options: &Options) -> Result<()> {
    let out = BufWriter::new(io::stdout().lock());
    match options.paper.json {
        true => report.write_json(out),
        false => report.write(out),
    }
    .context("cannot write the figures")
}

fn verdict(report: &Benchmark<'_>, options: &Options) -> ExitCode {
    if !report.is_too_slow() {
        return ExitCode::SUCCESS;
    }
    if options.paper.json {
        stderr::note("it has become too slow");
    }
    ExitCode::from(TOO_SLOW)
}

/// Ends with the exit status of the interruption or failure.
fn end_by(cut: Cut) -> Result<ExitCode> {
    match cut {
        Cut::Interrupted(Interrupted(signal)) => Ok(end_as(Ended::Killed(signal))),
        Cut::Failed(error) => match error.downcast_ref() {
            Some(raised @ Raised { .. }) => {
                let _ = writeln!(io::stderr(), "{raised}");
                Ok(ExitCode::from(FAILED))
            }
            None => Err(error),
        },
    }
}

/// The facts that are known besides the times.
struct Measured {
    cut: Option<Cut>,
    agreed: Option<bool>,
    remarks: Vec<String>,
    notes: Vec<String>,
}

/// Takes the runs. `None` if the candidates differ, which has been reported.
fn measure(
    plan: &Plan,
    options: &Options,
    bench: &mut Bench,
    interrupt: &Interrupt,
) -> Result<Option<Measured>> {
    let runs = plan.commands().map(|commands| Runs {
        commands,
        options,
        interrupt,
    });
    if let Some(runs) = &runs {
        runs.set_up()?;
    }
    let measured = measure_between(plan, options, bench, interrupt, runs.as_ref());
    let Some(runs) = &runs else {
        return measured;
    };
    // Whatever the end of the runs, the cleanup has to run.
    interrupt.forget();
    match (measured, runs.clean_up()) {
        (Ok(Some(Measured { cut: None, .. })), Err(error)) => Err(error),
        (measured, Err(error)) => {
            stderr::error(&error);
            measured
        }
        (measured, Ok(())) => measured,
    }
}

/// Measures between setup and cleanup.
fn measure_between(
    plan: &Plan,
    options: &Options,
    bench: &mut Bench,
    interrupt: &Interrupt,
    runs: Option<&Runs<'_>>,
) -> Result<Option<Measured>> {
    let (mut remarks, mut notes) = (Vec::new(), Vec::new());
    let mut agreed = None;
    if options.check {
        let progress = Progress::start("comparing what they give");
        let prepare = |_: &_, index| runs.map_or(Ok(()), |runs| runs.prepare(index));
        let found = check::check(&plan.work, &plan.names, interrupt, prepare)?;
        drop(progress);
        match found {
            Found::Same => agreed = Some(true),
            Found::Nothing(what) => notes.push(what.to_owned()),
            Found::Differs(how) => {
                stderr::note(&format!("they do not give the same: {how}"));
                return Ok(None);
            }
        }
    }
    let watch = Watch::start();
    // The output would be mixed with the progress.
    let progress = match options.show_output || options.verbose > 0 {
        true => Progress::silent(),
        false => Progress::start("measuring"),
    };
    let is_compared = bench.candidates.len() > 1
        || options.later.save.is_some()
        || options.later.against.is_some();
    let cut = match (&plan.work, runs) {
        (Work::Commands(_), Some(runs)) => runs.measure(bench, &progress, &mut remarks),
        (Work::Python(statements), _) => statements::measure(
            statements,
            &mut bench.candidates,
            is_compared,
            options,
            interrupt,
            &progress,
            &mut remarks,
        ),
        (Work::Commands(_), None) => None,
    };
    drop(progress);
    notes.extend(watch.notes(options.process));
    Ok(Some(Measured {
        cut,
        agreed,
        remarks,
        notes,
    }))
}

impl Plan {
    fn subject(&self) -> Subject {
        match self.work {
            Work::Python(_) => Subject::Python,
            Work::Commands(_) => Subject::Command,
        }
    }

    fn commands(&self) -> Option<&plan::Commands> {
        match &self.work {
            Work::Commands(commands) => Some(commands),
            Work::Python(_) => None,
        }
    }

    fn candidates(&self) -> Vec<Candidate> {
        let named = self.names.iter().zip(&self.texts);
        let candidate = |(name, text): (&String, &String)| Candidate {
            name: name.clone(),
            text: text.clone(),
            loops: 1,
            ..Candidate::default()
        };
        named.map(candidate).collect()
    }
}

fn see_that_they_are_alike(bench: &Bench, earlier: &Bench, path: &Path) -> Result<()> {
    let shown = path.display();
    if bench.subject != earlier.subject {
        bail!(
            "{shown} is of something else: statements and commands cannot be compared, nor can what a Rust program measured"
        );
    }
    if !(0..bench.candidates.len()).any(|index| bench.earlier(index, earlier).is_some()) {
        bail!("{shown} has no candidate of the same name: `--name` gives one");
    }
    Ok(())
}

fn look(options: &Options) -> Look {
    Look::stdout()
        .width(options.paper.width)
        .colors(options.paper.color.unwrap_or(When::Auto))
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// The file to be written at the end. Whether it can be written is checked at the beginning.
fn saving(options: &Options) -> Result<Option<Text>> {
    let Some(path) = &options.later.save else {
        return Ok(None);
    };
    if path.is_dir() {
        bail!("cannot write {}: it is no file", path.display());
    }
    let force = options.later.force;
    Text::create(path, Kind::Bench, &[], force).map(Some)
}
