//! `time`: the time that a program takes, and its use of the machine. The program is not changed or
//! sampled.

mod input;
mod output;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use profundo_analysis::usage::{Around, Ending, Run};
use profundo_console::stderr;
use profundo_launch::{
    BeforeExec, Child, Ended, Environment, Poll, Program, Signals, Unstarted, end_as,
    handle_signals,
};
use profundo_usage::{Before, Machine, Meter, Unwaited, Usage};

use crate::options::Time;
use input::Input;
use output::Output;

pub fn time(options: &Time) -> Result<ExitCode> {
    let program = Program::find(&options.command.words)?;
    let mut output = Output::open(options).context("nothing was run")?;
    let input = Input::now();
    let signals = Signals::take()?;
    let mut runs = Vec::new();
    let mut gap = String::new();
    let mut failed = None;
    let mut broken = None;
    let mut ended = Ended::Exited(0);
    for number in 0..options.warmup + options.runs {
        if number > 0 {
            input.rewind();
        }
        let measured = match once(&program, &signals) {
            Ok(measured) => measured,
            Err(error) => {
                broken = Some(error);
                break;
            }
        };
        ended = measured.ended;
        if let Some(why) = &measured.usage.gap {
            gap = why.to_string();
        }
        // A run that was cut short is no measurement, unless it is all that there is.
        let is_alone = options.warmup + options.runs == 1;
        if number >= options.warmup && (is_alone || !measured.is_interrupted) {
            runs.push(run(&measured.usage, ended));
            failed = failed.or((ended != Ended::Exited(0)).then_some(ended));
        }
        if measured.is_interrupted {
            failed = Some(ended);
            break;
        }
    }
    signals.release();
    // The runs that were measured before are reported all the same.
    if runs.is_empty()
        && let Some(error) = broken
    {
        return Err(error);
    }
    let words = program.arguments.iter().map(|word| word.as_encoded_bytes());
    let words: Vec<&[u8]> = words.collect();
    let command = profundo_wire::command::line(&words.join(&0));
    let report = profundo_report::Time::new(command, runs)
        .warmups(options.warmup.into())
        .gap(gap);
    // The program's exit status stands, even if the report fails.
    if let Err(error) = output.write(report, options)
        && !stderr::is_broken_pipe(&error)
    {
        stderr::error(&error);
    }
    match broken {
        Some(error) => Err(error),
        None => Ok(end_as(failed.unwrap_or(ended))),
    }
}

/// A run and its end.
struct Measured {
    usage: Usage,
    ended: Ended,
    /// True if the user has interrupted the runs.
    is_interrupted: bool,
}

fn once(program: &Program, signals: &Signals) -> Result<Measured> {
    let child = Child::fork(program, &Environment::with([]), &[], signals, None, true)
        .context("cannot start a process")?;
    let pid = child.pid();
    let mut meter = Meter::of(pid as u32);
    let mut poll = Poll::new(signals, meter.descriptors());
    meter.begin();
    match child.release() {
        Ok(before) => meter.began(before.map(|before| Before {
            time: before.time,
            taken: before.taken,
            bytes: BeforeExec::BYTES,
        })),
        Err(error) => bail!(Unstarted::refused(&program.path, &error)),
    }
    let mut is_interrupted = false;
    loop {
        poll.wait(meter.patience());
        let handled = handle_signals(signals, pid)?;
        is_interrupted |= handled.is_interrupted;
        if let Some(ended) = handled.ended {
            let usage = meter.finish().context("the program is out of sight")?;
            return Ok(Measured {
                usage,
                ended,
                is_interrupted,
            });
        }
        meter.turn();
    }
}

/// A run in the words of the analysis.
fn run(usage: &Usage, ended: Ended) -> Run {
    let (unwaited, split_is_estimated) = match usage.unwaited {
        Unwaited::Unknown => (None, false),
        Unwaited::None => (Some(0), false),
        Unwaited::Some {
            user,
            system,
            is_estimated,
        } => (Some(user + system), is_estimated),
    };
    Run {
        ending: match ended {
            Ended::Exited(code) => Ending::Exited(code),
            Ended::Killed(signal) => Ending::Killed(signal),
        },
        real: usage.real,
        user: usage.user,
        system: usage.system,
        unwaited,
        split_is_estimated,
        peak_resident: Some(usage.peak_resident),
        peak_is_bound: usage.peak_is_bound,
        tree_resident: usage.tree_resident,
        minor_faults: usage.minor_faults,
        major_faults: usage.major_faults,
        voluntary: usage.voluntary,
        involuntary: usage.involuntary,
        calls: usage.calls,
        disk: usage.disk,
        processes: usage.processes,
        threads: usage.threads,
        still_running: usage.still_running,
        around: around(&usage.machine),
    }
}

fn around(machine: &Machine) -> Around {
    Around {
        cpus: machine.cpus,
        busy: machine.busy,
        stolen: machine.stolen,
        overheated: machine.overheated,
        held_back: machine.held_back,
        limited: machine.limited,
    }
}
