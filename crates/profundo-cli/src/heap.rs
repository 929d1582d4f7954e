//! `heap`: what a heap snapshot says, or what is different in a later one.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use profundo_formats::{Error, heapsnapshot};
use profundo_model::graph::{Builder, Graph};
use profundo_report::{HeapSnapshot, Look, When};

use crate::options::Heap;
use crate::progress::Progress;
use crate::snapshot::Asked;
use crate::{snapshot, stderr};

pub fn heap(options: &Heap) -> Result<ExitCode> {
    let (graph, later) = match options.pid() {
        Some(pid) => of_process(pid, options)?,
        None if options.running.growth.is_some() => {
            crate::options::refuse("--growth looks at a process; of two snapshots, name both");
        }
        None if options.running.no_redact || options.running.native => {
            crate::options::refuse(
                "--no-redact and --native ask a process; a file says what it says, by how it was taken",
            );
        }
        None => {
            let graph = open(&options.snapshot)?;
            (graph, options.later.as_deref().map(open).transpose()?)
        }
    };
    let stdout = io::stdout();
    let look = Look::new()
        .terminal(stdout.is_terminal())
        .width(options.paper.width)
        .colors(options.paper.color.unwrap_or(When::Auto));
    let report = HeapSnapshot::new()
        .question(options.question())
        .limit(options.limit)
        .look(look);
    let out = BufWriter::new(stdout.lock());
    let written = match (&later, options.paper.json) {
        (None, false) => report.write(&graph, out),
        (None, true) => report.write_json(&graph, out),
        (Some(later), false) => report.write_difference(&graph, later, out),
        (Some(later), true) => report.write_difference_json(&graph, later, out),
    };
    written.map_err(|error| match error {
        profundo_report::Error::Write(source) => {
            anyhow::Error::new(source).context("cannot write the report")
        }
        other => anyhow!("{}: {other}", options.snapshot.display()),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The objects of a process that runs, and those of a later moment, if that is asked for.
fn of_process(pid: u32, options: &Heap) -> Result<(Graph, Option<Graph>)> {
    if options.later.is_some() {
        crate::options::refuse(
            "a process is not compared with a snapshot; take a snapshot of it first",
        );
    }
    let running = &options.running;
    let look = || -> Result<Graph> {
        let mut heap = match running.no_redact {
            true => Builder::default(),
            false => Builder::redacted(),
        };
        let redact = !running.no_redact;
        let asked = Asked {
            pid,
            verb: "heap",
            redact,
            is_native: running.native,
            through: &running.through,
        };
        snapshot::tell_any(asked, &mut heap)?;
        Ok(heap.finish())
    };
    let first = look()?;
    let Some(growth) = running.growth else {
        return Ok((first, None));
    };
    let _progress = Progress::start("waiting for what comes and goes");
    std::thread::sleep(growth);
    Ok((first, Some(look()?)))
}

fn open(path: &Path) -> Result<Graph> {
    heapsnapshot::read_file(path).map_err(|error| why(path, error))
}

/// Whether the file there is a heap snapshot, whatever it is called.
pub fn is_snapshot(path: &Path) -> bool {
    let mut start = Vec::new();
    path.is_file()
        && File::open(path)
            .and_then(|file| file.take(4096).read_to_end(&mut start))
            .is_ok()
        && heapsnapshot::is_heapsnapshot(&start)
}

/// Why a snapshot cannot be read.
fn why(path: &Path, error: Error) -> anyhow::Error {
    let shown = path.display();
    if let Some(prefix) = prefix_of_part(path) {
        let prefix = prefix.display();
        return anyhow!(
            "{shown} is one of four parts of a snapshot; make it whole with `profundo assemble {prefix}`"
        );
    }
    match error {
        Error::File { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            anyhow!("there is no heap snapshot {shown}")
        }
        Error::File { source, .. } => anyhow!("cannot read {shown}: {}", stderr::reason(&source)),
        Error::Content { source, .. } => why(path, *source),
        Error::NotASnapshot if is_recording(path) => anyhow!(
            "{shown} is a recording and no heap snapshot; `profundo report {shown}` prints what it says"
        ),
        Error::NotASnapshot => anyhow!(
            "{shown} is no heap snapshot: profundo, Chrome, Node and Julia write such, as FILE.heapsnapshot"
        ),
        other => anyhow!("cannot use {shown}: {other}"),
    }
}

/// What the part files of a snapshot are called by that this is one of, by its name and by those that lie beside it.
pub fn prefix_of_part(path: &Path) -> Option<PathBuf> {
    let name = path.to_str()?;
    let prefix = (heapsnapshot::parts(Path::new("")).iter())
        .find_map(|ending| name.strip_suffix(ending.to_str()?))?;
    let prefix = PathBuf::from(prefix);
    let [.., last] = heapsnapshot::parts(&prefix);
    is_snapshot(&last).then_some(prefix)
}

fn is_recording(path: &Path) -> bool {
    let mut start = Vec::new();
    File::open(path)
        .context("open")
        .and_then(|file| file.take(16).read_to_end(&mut start).context("read"))
        .is_ok()
        && profundo_formats::is_profundo(&start)
}
