//! `snapshot`: the objects of a process that runs, as a heap snapshot.

mod native;
mod pages;
mod types;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use profundo_console::output::{self, Detour};
use profundo_console::progress::Progress;
use profundo_console::stderr;
use profundo_formats::heapsnapshot::{self, Parts};
use profundo_ingest::Objects;
use profundo_inject::{CopiedMemory, Injection, Refused, WalkedObjects};
use profundo_launch::{Signals, process_name};
use profundo_model::graph::Sink;

use crate::agent_file;
use crate::options::{Snapshot, Through};
use crate::snapshot_files::may_replace_parts;

pub fn snapshot(options: &Snapshot) -> Result<ExitCode> {
    if options.pages {
        return pages::pages(options);
    }
    let began = Instant::now();
    let out = match &options.output {
        Some(path) => path.clone(),
        None => default_path(options.pid, options.streaming),
    };
    let what = heapsnapshot::Options {
        redact: !options.no_redact,
        all_one: options.all_one,
    };
    let detour = Detour::of(&out, "heap snapshot")?;
    let prefix = match options.streaming {
        true => {
            may_replace_parts(&out, options.force)?;
            out.clone()
        }
        false => {
            output::check(&out, output::Kind::Snapshot, &[], options.force)?;
            remove_stale(detour.path());
            beside(detour.path())
        }
    };
    // No partial file is left, whenever the user interrupts the command.
    let signals = Signals::take_also(&[], false)?;
    let unwritten = || format!("cannot write the snapshot of process {}", options.pid);
    let mut parts = Parts::create(&prefix, what).with_context(unwritten)?;
    let request = Request {
        pid: options.pid,
        verb: "snapshot",
        redact: !options.no_redact,
        is_native: options.native,
        through: &options.through,
    };
    let taken = take_any(request, &mut parts)?;
    parts.finish().with_context(unwritten)?;
    if !options.streaming {
        let progress = Progress::start("writing the snapshot");
        let done = heapsnapshot::assemble_and_remove(&prefix, detour.path());
        drop(progress);
        if let Err(error) = done {
            let _ = heapsnapshot::remove_parts(&prefix);
            return Err(anyhow!(error).context(unwritten()));
        }
    }
    signals.release();
    let seconds = began.elapsed().as_secs_f64();
    let milliseconds = taken.held_up.as_secs_f64() * 1e3;
    stderr::note(&format!(
        "{}; the program was held up for {milliseconds:.1} ms, and all took {seconds:.1} s",
        stderr::graph(taken.nodes, taken.edges),
    ));
    stderr::note(&match options.streaming {
        true => format!(
            "wrote {0}.nodes, .edges, .strings and .metadata.json; make one file of them with `profundo assemble {0}`",
            out.display()
        ),
        false => format!(
            "wrote {0}; look at it with `profundo heap {0}`, or in Chrome's DevTools (Memory, Load profile)",
            detour.shown()
        ),
    });
    detour.arrive()?;
    Ok(ExitCode::SUCCESS)
}

/// The process, and how it is asked.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub pid: u32,
    /// The name of the command that asks.
    pub verb: &'static str,
    pub redact: bool,
    /// For its blocks, even if it has an interpreter.
    pub is_native: bool,
    pub through: &'a Through,
}

/// The size and the cost of a snapshot.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    pub nodes: u64,
    pub edges: u64,
    /// For how long the program was held up.
    pub held_up: Duration,
}

/// Takes the objects of an interpreter, or else the blocks of a program.
pub fn take_any<S>(request: Request<'_>, sink: &mut S) -> Result<Taken>
where
    S: Sink,
    S::Error: std::error::Error + Send + Sync + 'static,
{
    if request.is_native {
        return native::take_blocks(request, sink).map_err(|why| why.into_error(request, ""));
    }
    let why = match take_objects(request, sink, &mut |_| {}) {
        Ok(walked) => {
            return Ok(Taken {
                nodes: walked.end.nodes,
                edges: walked.end.edges,
                held_up: walked.pause + walked.borrowed,
            });
        }
        Err(why) => why,
    };
    match why.downcast_ref() {
        Some(none @ Refused::NoPython) => {
            let also = format!("{none}, and ");
            native::take_blocks(request, sink).map_err(|why| why.into_error(request, &also))
        }
        _ => Err(why),
    }
}

/// Has the interpreter of a process list its objects. `look` may then look at the memory that they
/// lie in.
pub fn take_objects<S>(
    request: Request<'_>,
    sink: &mut S,
    look: &mut dyn FnMut(CopiedMemory),
) -> Result<WalkedObjects>
where
    S: Sink,
    S::Error: std::error::Error + Send + Sync + 'static,
{
    let why = |refused: Refused| why_not(request, refused);
    let Request {
        pid,
        redact,
        through,
        ..
    } = request;
    let library = agent_file::library()?;
    let signals = Signals::take_also(&[], false)?;
    let progress = Progress::start("looking where the program can be asked");
    let mut door = Injection::of(pid, &library, through.filtered).map_err(why)?;
    door.knows_collector().map_err(why)?;
    door.until(|| signals.want_end());
    drop(progress);
    let progress = Progress::start("going through its objects");
    let mut objects = Objects::new(sink)?;
    let options = profundo_inject::Objects {
        redact,
        patience: through.timeout,
    };
    let walked = door.objects(options, &mut |item| objects.item(item), look);
    drop(progress);
    drop(door);
    signals.release();
    let walked = walked.map_err(why)?;
    match objects.finish()? {
        true => Ok(walked),
        false => Err(why(Refused::CopyDamaged)),
    }
}

fn why_not(request: Request<'_>, refused: Refused) -> anyhow::Error {
    let pid = request.pid;
    anyhow!(refused.of_verb(request.verb))
        .context(format!("cannot take a snapshot of process {pid}"))
}

/// The prefix of the part files while the snapshot is being written.
fn beside(out: &Path) -> PathBuf {
    let mut name = hidden(out);
    name.push(std::process::id().to_string());
    out.with_file_name(name)
}

/// The beginning of that prefix, before the number of the process that writes.
fn hidden(out: &Path) -> OsString {
    let mut name = OsString::from(".");
    name.push(out.file_name().unwrap_or_default());
    name.push(".");
    name
}

/// Removes the part files of commands that were killed while they wrote `out`.
fn remove_stale(out: &Path) {
    let folder = out.with_file_name(".");
    let before = hidden(out);
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let rest = name.as_bytes().strip_prefix(before.as_bytes());
        if rest.and_then(writer_of).is_some_and(has_ended) {
            // Where that fails they stay, and do no harm.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The process that has written a file with such an ending.
fn writer_of(rest: &[u8]) -> Option<u32> {
    let rest = std::str::from_utf8(rest).ok()?;
    let (number, ending) = match rest.split_once('.') {
        Some((number, ending)) => (number, Some(ending)),
        None => (rest, None),
    };
    let is_ours = [
        None,
        Some("nodes"),
        Some("edges"),
        Some("strings"),
        Some("metadata.json"),
    ]
    .contains(&ending);
    number.parse().ok().filter(|_| is_ours)
}

fn has_ended(pid: u32) -> bool {
    !Path::new(&format!("/proc/{pid}")).exists()
}

fn default_path(pid: u32, streaming: bool) -> PathBuf {
    let ending = if streaming { "" } else { ".heapsnapshot" };
    let name = process_name(pid);
    PathBuf::from(format!("profundo.{name}.{pid}{ending}"))
}
