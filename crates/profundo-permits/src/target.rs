//! The findings about one running process. The process is not touched: its clocks are opened but
//! never run.

use std::fs;

use profundo_linux::perf::{Sampled, Sampler};
use profundo_linux::proc;
use profundo_process::modules::executable_of;

use super::gap::{Finding, Gap, Mend, Verdict};
use super::perf::{Part, explain};
use super::process::{Process, may_be_read, user_name};
use super::python;
use super::settings::Settings;

pub(super) fn findings(pid: u32, settings: &Settings) -> Vec<Finding> {
    let mut found = Vec::new();
    let process = Process::of(pid);
    if let Some(process) = &process {
        found.push(Finding::fact("process", describe(process)));
    }
    let reading = may_be_read(pid);
    found.push(
        match &reading {
            Ok(()) => Finding::works(
                "attach",
                "its memory, and where its threads are, can be read",
            ),
            Err(gap) => Finding::gap("attach", Verdict::Fails, gap.clone()),
        }
        .essential(),
    );
    let (Some(process), Ok(())) = (process, reading) else {
        return found;
    };
    found.push(sampling(pid, settings));
    found.extend(tracer(&process));
    found.push(executable(pid));
    found.extend(python::check_interpreter_of(pid));
    found.extend(namespaces(pid));
    if process.is_filtered {
        let text = "a filter is in force in it, which does not matter: nothing of ours calls anything there";
        found.push(Finding::fact("seccomp", text));
    }
    found
}

fn describe(process: &Process) -> String {
    let command = proc::command_line(process.pid);
    let command = match command.is_empty() {
        true => proc::thread_name(process.pid, process.pid),
        false => command,
    };
    let user = user_name(process.user());
    let threads = process.threads;
    let plural = if threads == 1 { "" } else { "s" };
    format!("{command} · {user} · {threads} thread{plural}")
}

fn sampling(pid: u32, settings: &Settings) -> Finding {
    const TOPIC: &str = "sampling";
    const NEVER: u64 = 1_000_000_000;
    let what = Sampled {
        kernel: false,
        sideband: true,
        wakes: true,
    };
    let tids = proc::threads(pid);
    let opened = Sampler::open(what).and_then(|mut sampler| sampler.add(pid, &tids, NEVER));
    match opened {
        Ok(()) => Finding::works(
            TOPIC,
            "perf events on each of its threads (engine perf-ring)",
        ),
        Err(error) => {
            let gap = explain(settings, &error, Part::User);
            Finding::gap(
                TOPIC,
                Verdict::Partly,
                Gap {
                    why: format!(
                        "{}. Its threads are looked at in /proc instead (engine proc-poll)",
                        gap.why
                    ),
                    ..gap
                },
            )
        }
    }
}

fn tracer(process: &Process) -> Option<Finding> {
    if process.tracer == 0 {
        return None;
    }
    // The tracer is a thread.
    let tracer = Process::of(process.tracer).map_or(process.tracer, |of| of.leader);
    let name = proc::thread_name(tracer, tracer);
    let why = format!(
        "{name} (process {tracer}) traces it, so its threads cannot be held: they are read while they go on, and \
         what may be torn is left out"
    );
    let gap = Gap {
        why,
        mend: Some(Mend::Advice(format!("have {name} let it go (`detach`)"))),
    };
    Some(Finding::gap("debugger", Verdict::Partly, gap))
}

fn executable(pid: u32) -> Finding {
    let loader = executable_of(pid).map(|elf| elf.interpreter());
    let text = match loader {
        None => "not a file that can be read".to_owned(),
        Some(None) => "linked statically".to_owned(),
        Some(Some(loader)) => {
            let loader = String::from_utf8_lossy(&loader).into_owned();
            let library = match loader.contains("ld-musl") {
                true => "musl",
                false => "glibc",
            };
            format!("linked dynamically, with {library}")
        }
    };
    let path = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    Finding::fact("program", format!("{}, {text}", path.display()))
}

/// The namespaces that the process does not share with us.
fn namespaces(pid: u32) -> Option<Finding> {
    let differs = |name: &&&str| {
        let ours = fs::read_link(format!("/proc/self/ns/{name}"));
        let its = fs::read_link(format!("/proc/{pid}/ns/{name}"));
        ours.ok() != its.ok()
    };
    let names = ["mnt", "pid", "user"];
    let other: Vec<&str> = names.iter().filter(differs).copied().collect();
    if other.is_empty() {
        return None;
    }
    let why = format!(
        "it has its own ({}), as in a container. Its stacks are read all the same; names are found where its \
         files lie here too",
        other.join(", ")
    );
    let has_other_files = other.contains(&"mnt");
    Some(match has_other_files {
        true => Finding::gap("namespaces", Verdict::Partly, Gap::of(why)),
        false => Finding::fact("namespaces", why),
    })
}
