//! `view`: the page of a recording, in a browser or as a file.

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use profundo_analysis::Filter;
use profundo_console::{output, stderr};
use profundo_disassembly::Syntax;
use profundo_model::graph::Graph;
use profundo_model::{Nanos, Profile};
use profundo_report::Listing;
use profundo_view::server::Server;
use profundo_view::{Library, Question, Snapshot, Source, offline};

use crate::annotate;
use crate::heap;
use crate::open::{self, Samples};
use crate::options::{View, refuse};
use crate::recordings::meant;
use crate::snapshot_files::is_snapshot;

/// How long a server stays without a page.
const PATIENCE: Duration = Duration::from_secs(60);

/// A recording in a file.
struct Recording(PathBuf);

impl Source for Recording {
    fn path(&self) -> &Path {
        &self.0
    }

    fn read(&self, within: Range<Nanos>) -> Result<Profile, String> {
        let read = open::open_without_warnings(&self.0, Samples::Within(within));
        read.map_err(|error| stderr::chain(error.as_ref()))
    }

    fn listings(
        &self,
        profile: &mut Profile,
        filter: &Filter,
        name: &str,
    ) -> Result<Vec<Listing>, String> {
        let style = annotate::Style {
            syntax: Syntax::Att,
            limit: 1,
        };
        annotate::listings(profile, filter, name, style)
            .map_err(|error| stderr::chain(error.as_ref()))
    }
}

/// A heap snapshot in a file.
struct HeapFile(PathBuf);

impl Snapshot for HeapFile {
    fn path(&self) -> &Path {
        &self.0
    }

    fn read(&self) -> Result<Graph, String> {
        heap::open(&self.0).map_err(|error| stderr::chain(error.as_ref()))
    }
}

pub fn view(options: &View) -> Result<ExitCode> {
    let typed: Vec<Option<&Path>> = match options.recordings.is_empty() {
        true => vec![None],
        false => options
            .recordings
            .iter()
            .map(|path| Some(&**path))
            .collect(),
    };
    let paths: Vec<PathBuf> = typed.into_iter().map(meant).collect::<Result<_>>()?;
    let (snapshots, paths): (Vec<PathBuf>, Vec<PathBuf>) =
        paths.into_iter().partition(|path| is_snapshot(path));
    if snapshots.len() > 2 || paths.len() > 2 {
        refuse("a page has at most two recordings and two heap snapshots");
    }
    // A file that cannot be read is told of here, and not on the page.
    for path in &paths {
        open::open(path, Samples::Within(Nanos(0)..Nanos(1)))?;
    }
    let sources = paths
        .iter()
        .map(|path| -> Box<dyn Source> { Box::new(Recording(path.clone())) });
    let heaps = snapshots
        .iter()
        .map(|path| -> Box<dyn Snapshot> { Box::new(HeapFile(path.clone())) });
    let library = Library::new(sources.collect()).snapshots(heaps.collect());
    if let Some(path) = &options.output {
        let inputs: Vec<&Path> = paths.iter().chain(&snapshots).map(|path| &**path).collect();
        let file = output::Text::create(path, output::Kind::Report, &inputs, options.force)?;
        return file
            .write(|mut out| Ok(offline::write(&library, &first_questions(), &mut out)?))
            .map(|()| ExitCode::SUCCESS);
    }
    let server = Server::listen(options.listen)?;
    if !options.listen.ip().is_loopback() {
        stderr::note(&format!(
            "whoever reaches {} and knows the address below can read this recording and the sources in it",
            options.listen
        ));
    }
    let url = server.url();
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{url}")
        .and_then(|()| stdout.flush())
        .context("cannot print the address")?;
    if !options.no_open && has_display() {
        open_browser(&url);
    }
    server.serve(library, PATIENCE)?;
    Ok(ExitCode::SUCCESS)
}

/// The questions that a page asks before its reader has chosen anything.
fn first_questions() -> Vec<Question> {
    let report = |what| Question::new("report").with("what", what);
    let bare = |what| report(what).with("bare", 1).with("limit", 20_000);
    let heap = |snapshot: u32| {
        let types = Question::new("heap").with("what", "types");
        types.with("snapshot", snapshot).with("limit", 2000)
    };
    vec![
        Question::new("about"),
        report("summary"),
        report("lines"),
        report("functions"),
        Question::new("flame"),
        Question::new("flame").with("shape", "inverted"),
        report("memory"),
        report("allocs").with("limit", 2000),
        bare("trace"),
        bare("counted_lines"),
        report("exceptions").with("limit", 5000),
        heap(0),
        heap(1),
    ]
}

fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Opens the page. Where that fails, the address has been printed.
fn open_browser(url: &str) {
    let browser = std::env::var_os("BROWSER").filter(|browser| !browser.is_empty());
    let program = browser.unwrap_or_else(|| "xdg-open".into());
    let started = Command::new(program)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Ok(mut child) = started {
        std::thread::spawn(move || child.wait());
    }
}
