//! `heap`: reports on a heap snapshot, or on the difference to a later one.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use profundo_console::options::Paper;
use profundo_console::progress::Progress;
use profundo_console::stderr;
use profundo_formats::{Error, heapsnapshot};
use profundo_model::graph::{Builder, Graph};
use profundo_report::{HeapSnapshot, Look, When};

use crate::options::Heap;
use crate::snapshot;
use crate::snapshot::Request;
use crate::snapshot_files::prefix_of_part;

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
    let report = HeapSnapshot::new()
        .question(options.question())
        .limit(options.limit);
    print(
        report,
        &options.snapshot,
        &graph,
        later.as_ref(),
        &options.paper,
    )
}

/// Prints the difference of two snapshots.
pub fn difference(
    before: &Path,
    after: &Path,
    limit: Option<usize>,
    paper: &Paper,
) -> Result<ExitCode> {
    let (graph, later) = (open(before)?, open(after)?);
    let report = HeapSnapshot::new().limit(limit);
    print(report, before, &graph, Some(&later), paper)
}

fn print(
    report: HeapSnapshot,
    snapshot: &Path,
    graph: &Graph,
    later: Option<&Graph>,
    paper: &Paper,
) -> Result<ExitCode> {
    let stdout = io::stdout();
    let look = Look::new()
        .terminal(stdout.is_terminal())
        .width(paper.width)
        .colors(paper.color.unwrap_or(When::Auto));
    let report = report.look(look);
    let out = BufWriter::new(stdout.lock());
    let written = match (later, paper.json) {
        (None, false) => report.write(graph, out),
        (None, true) => report.write_json(graph, out),
        (Some(later), false) => report.write_difference(graph, later, out),
        (Some(later), true) => report.write_difference_json(graph, later, out),
    };
    written.map_err(|error| match error {
        profundo_report::Error::Write(source) => {
            anyhow::Error::new(source).context("cannot write the report")
        }
        other => anyhow!("{}: {other}", snapshot.display()),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The objects of a process that runs, and with `--growth` those of a later moment.
fn of_process(pid: u32, options: &Heap) -> Result<(Graph, Option<Graph>)> {
    if options.later.is_some() {
        crate::options::refuse(
            "a process is not compared with a snapshot; take a snapshot of it first",
        );
    }
    let running = &options.running;
    let take = || -> Result<Graph> {
        let mut heap = match running.no_redact {
            true => Builder::default(),
            false => Builder::redacted(),
        };
        let redact = !running.no_redact;
        let request = Request {
            pid,
            verb: "heap",
            redact,
            is_native: running.native,
            through: &running.through,
        };
        snapshot::take_any(request, &mut heap)?;
        Ok(heap.finish())
    };
    let first = take()?;
    let Some(growth) = running.growth else {
        return Ok((first, None));
    };
    let _progress = Progress::start("waiting for what comes and goes");
    std::thread::sleep(growth);
    Ok((first, Some(take()?)))
}

/// Reads a heap snapshot.
pub fn open(path: &Path) -> Result<Graph> {
    heapsnapshot::read_file(path).map_err(|error| why(path, error))
}

/// The error for a snapshot that cannot be read.
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

fn is_recording(path: &Path) -> bool {
    let mut start = Vec::new();
    File::open(path)
        .context("open")
        .and_then(|file| file.take(16).read_to_end(&mut start).context("read"))
        .is_ok()
        && profundo_formats::is_profundo(&start)
}
