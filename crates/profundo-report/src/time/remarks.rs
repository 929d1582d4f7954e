//! Sentences on what is remarkable about runs.

use profundo_analysis::usage::{Ending, Remark, remarks};

use super::Time;
use crate::page::units::{counted, duration, percent};

/// All sentences.
pub(super) fn sentences(time: &Time) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    if time.runs.iter().any(|run| run.unwaited.is_none()) {
        let why = match time.gap.as_str() {
            "" => {
                "it, or a program that it has started, ran with another user's rights, where the kernel stops counting"
            }
            why => why,
        };
        all.push(format!(
            "processes that nobody waited for are missing in all figures: {why}"
        ));
    }
    let count = time.runs.len();
    all.extend(
        remarks(&time.runs)
            .iter()
            .map(|remark| sentence(remark, count)),
    );
    all
}

/// The end of a run.
pub(super) fn ending(ending: Ending) -> String {
    match ending {
        Ending::Exited(code) => format!("exit code {code}"),
        Ending::Killed(signal) => match signal_name(signal) {
            Some(name) => format!("signal {signal} ({name})"),
            None => format!("signal {signal}"),
        },
    }
}

fn sentence(remark: &Remark, runs: usize) -> String {
    match *remark {
        Remark::Failed { count, first } => format!(
            "{count} of the {runs} runs did not end with exit code 0 (the first of them: {})",
            ending(first)
        ),
        Remark::System {
            share,
            faults,
            processes,
        } => {
            let faults = faults.map(|count| format!("{count} page faults as memory is first used"));
            let processes = processes.map(|count| format!("{count} processes that were started"));
            let because: Vec<String> = faults.into_iter().chain(processes).collect();
            let because = match because.as_slice() {
                [] => "mostly many small calls (reads, writes, locks, looking at the clock), or large ones (copying files, \
                       fetching memory)"
                    .to_owned(),
                some => format!("{} took a part of that", some.join(" and ")),
            };
            format!(
                "{} % of the CPU time is sys, the kernel's: {because}; `profundo run` shows from where it is called",
                percent(share)
            )
        }
        Remark::Waiting { waited, real } => format!(
            "for {} of {} no CPU was at work for it: it waited, for input, a disk, the network, other programs, time, or a \
             free CPU; `profundo run --wall` shows where",
            duration(waited),
            duration(real)
        ),
        Remark::Parallel { cpus } => format!(
            "user + sys is {cpus:.2} times real: so many CPUs were at work for it at once, on average"
        ),
        Remark::Cold { faults } => format!(
            "{faults} page faults had to read from a disk (major): what it reads was not in memory, and it may be faster the \
             next time"
        ),
        Remark::Unwaited { cpu, is_estimated } => format!(
            "{} of user + sys is of processes that nobody waited for{}; the figures below sys are without theirs",
            duration(cpu),
            match is_estimated {
                true => " (what of it was user and what sys is estimated)",
                false => "",
            }
        ),
        Remark::StillRunning { count } => format!(
            "{} that it has started still ran at its end: what {} from then on is not counted",
            counted(count, "process"),
            if count == 1 {
                "that takes"
            } else {
                "they take"
            }
        ),
        Remark::Busy { others, cpus } => format!(
            "the machine was busy: other programs had {others:.1} of its {} meanwhile, so real may be longer than on a quiet \
             one, and user as well",
            counted(cpus, "CPU")
        ),
        Remark::Stolen { time } => format!(
            "the hypervisor gave {} of CPU time to other machines (steal), so real is longer than it might be",
            duration(time)
        ),
        Remark::HeldBack { time } => format!(
            "a quota of CPU time (of a container or a cgroup) held it back: its CPUs stood still for {}, added up over all of \
             them",
            duration(time)
        ),
        Remark::Overheated { count } => format!(
            "CPUs were slowed down {} because they were hot, so all times are longer than they might be",
            match count {
                1 => "once".to_owned(),
                count => format!("{count} times"),
            }
        ),
        Remark::Limited { to, of } => format!(
            "CPUs are limited to {:.2} of {:.2} GHz, so all times are longer than they might be",
            to as f64 / 1e6,
            of as f64 / 1e6
        ),
        Remark::SlowStart { first, others } => format!(
            "the first run took {}, no other one more than {}: --warmup 1 leaves it out",
            duration(first),
            duration(others)
        ),
        Remark::Scattered { share } => format!(
            "the runs scatter by {} % of their mean: more runs, or a quieter machine, tell more",
            percent(share)
        ),
    }
}

fn signal_name(signal: u8) -> Option<&'static str> {
    const NAMES: [&str; 31] = [
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGBUS",
        "SIGFPE",
        "SIGKILL",
        "SIGUSR1",
        "SIGSEGV",
        "SIGUSR2",
        "SIGPIPE",
        "SIGALRM",
        "SIGTERM",
        "SIGSTKFLT",
        "SIGCHLD",
        "SIGCONT",
        "SIGSTOP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGURG",
        "SIGXCPU",
        "SIGXFSZ",
        "SIGVTALRM",
        "SIGPROF",
        "SIGWINCH",
        "SIGIO",
        "SIGPWR",
        "SIGSYS",
    ];
    NAMES.get(usize::from(signal).checked_sub(1)?).copied()
}
