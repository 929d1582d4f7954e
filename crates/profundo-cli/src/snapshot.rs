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
use profundo_formats::heapsnapshot::{self, Parts};
use profundo_ingest::Objects;
use profundo_model::graph::Sink;
use profundo_remote::inject::{CopiedMemory, Door, Refused, WalkedObjects};

use crate::assemble::may_replace_parts;
use crate::attach::is_over;
use crate::launch::Signals;
use crate::options::{Snapshot, Through};
use crate::output::{self, Detour};
use crate::progress::Progress;
use crate::{carried, stderr};

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
    // No half file is left, whenever somebody wants it to end.
    let signals = Signals::take_also(&[], false)?;
    let unwritten = || format!("cannot write the snapshot of process {}", options.pid);
    let mut parts = Parts::create(&prefix, what).with_context(unwritten)?;
    let asked = Asked {
        pid: options.pid,
        verb: "snapshot",
        redact: !options.no_redact,
        is_native: options.native,
        through: &options.through,
    };
    let told = tell_any(asked, &mut parts)?;
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
    let milliseconds = told.held_up.as_secs_f64() * 1e3;
    stderr::note(&format!(
        "{}; the program was held up for {milliseconds:.1} ms, and all took {seconds:.1} s",
        stderr::graph(told.nodes, told.edges),
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

/// Which process is asked, and how.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub pid: u32,
    /// What the command is called that asks.
    pub verb: &'static str,
    pub redact: bool,
    /// For its blocks, even if it has an interpreter.
    pub is_native: bool,
    pub through: &'a Through,
}

/// What was told.
#[derive(Debug, Clone, Copy)]
pub struct AllTold {
    pub nodes: u64,
    pub edges: u64,
    /// For how long the program was held up.
    pub held_up: Duration,
}

/// Tells of the objects of an interpreter, or else of the blocks of a program.
pub fn tell_any<S>(asked: Asked<'_>, sink: &mut S) -> Result<AllTold>
where
    S: Sink,
    S::Error: std::error::Error + Send + Sync + 'static,
{
    if asked.is_native {
        return native::tell(asked, sink).map_err(|why| why.told(asked, ""));
    }
    let why = match tell(asked, sink, &mut |_| {}) {
        Ok(told) => {
            return Ok(AllTold {
                nodes: told.end.nodes,
                edges: told.end.edges,
                held_up: told.pause + told.borrowed,
            });
        }
        Err(why) => why,
    };
    match why.downcast_ref() {
        Some(none @ Refused::NoPython) => {
            let also = format!("{none}, and ");
            native::tell(asked, sink).map_err(|why| why.told(asked, &also))
        }
        _ => Err(why),
    }
}

/// Has the interpreter of a process tell of its objects. `look` may then look at the memory that they lie in.
pub fn tell<S>(
    asked: Asked<'_>,
    sink: &mut S,
    look: &mut dyn FnMut(CopiedMemory),
) -> Result<WalkedObjects>
where
    S: Sink,
    S::Error: std::error::Error + Send + Sync + 'static,
{
    let why = |refused: Refused| why_not(asked, refused);
    let Asked {
        pid,
        redact,
        through,
        ..
    } = asked;
    let library = carried::library()?;
    let signals = Signals::take_also(&[], false)?;
    let progress = Progress::start("looking where the program can be asked");
    let mut door = Door::of(pid, &library, through.filtered).map_err(why)?;
    door.until(|| is_over(&signals));
    drop(progress);
    let progress = Progress::start("going through its objects");
    let mut objects = Objects::new(sink)?;
    let options = profundo_remote::inject::Objects {
        redact,
        patience: through.timeout,
    };
    let told = door.objects(options, &mut |item| objects.item(item), look);
    drop(progress);
    drop(door);
    signals.release();
    let told = told.map_err(why)?;
    match objects.finish()? {
        true => Ok(told),
        false => Err(why(Refused::CopyDamaged)),
    }
}

fn why_not(asked: Asked<'_>, refused: Refused) -> anyhow::Error {
    let pid = asked.pid;
    anyhow!(refused.of_verb(asked.verb)).context(format!("cannot take a snapshot of process {pid}"))
}

/// Where the parts lie while they are no snapshot yet.
fn beside(out: &Path) -> PathBuf {
    let mut name = hidden(out);
    name.push(std::process::id().to_string());
    out.with_file_name(name)
}

/// What the names of these begin with, before the number of the process that writes them.
fn hidden(out: &Path) -> OsString {
    let mut name = OsString::from(".");
    name.push(out.file_name().unwrap_or_default());
    name.push(".");
    name
}

/// Removes what commands have left beside `out` that were killed while they wrote it.
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

/// Who has written a file that ends like this.
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
    let name = crate::attach::name_of(pid);
    PathBuf::from(format!("profundo.{name}.{pid}{ending}"))
}
