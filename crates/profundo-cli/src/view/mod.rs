//! `view`: the page of a recording, in a browser or as a file.

mod browser;
mod live;
mod running;

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use profundo_analysis::Filter;
use profundo_console::{output, stderr};
use profundo_disassembly::Syntax;
use profundo_model::graph::Graph;
use profundo_model::{Nanos, Profile};
use profundo_report::{EditorLinks, Listing};
use profundo_view::offline::{self, Confidential};
use profundo_view::server::{Patience, Server};
use profundo_view::{Library, Snapshot, Source};

use crate::annotate;
use crate::heap;
use crate::open::{self, Samples};
use crate::options::{self, View};
use crate::recordings::meant;
use crate::snapshot_files::is_snapshot;

pub use browser::in_background;

/// How long a server stays without a page.
const PATIENCE: Patience = Patience {
    unopened: Duration::from_secs(600),
    closed: Duration::from_secs(60),
};

/// A recording in a file.
struct Recording {
    path: PathBuf,
    /// The value that samples weigh by, of another tool's file that has several.
    value: Option<String>,
    /// Whether its warnings have been printed.
    is_known: AtomicBool,
}

impl Source for Recording {
    fn path(&self) -> &Path {
        &self.path
    }

    fn is_growing(&self) -> bool {
        profundo_formats::is_being_written(&self.path)
    }

    fn read(&self, within: Range<Nanos>) -> Result<Profile, String> {
        let samples = Samples::Within(within);
        let value = self.value.as_deref();
        let read = match self.is_known.swap(true, Ordering::Relaxed) {
            false => open::open(&self.path, samples, value),
            true => open::open_without_warnings(&self.path, samples, value),
        };
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
    if let Some(why) = options.misfit() {
        options::refuse(&why);
    }
    if let Some(pid) = options.pid() {
        return live::view(options, pid);
    }
    let shown = Shown::new(options.sides(), options.reading.value.clone())?;
    match &options.output {
        Some(path) => write(options, &shown, path),
        None => serve(options, &shown),
    }
}

/// The files of a page.
struct Shown {
    paths: Vec<PathBuf>,
    /// The number of recordings that stand before `--`, where some stand behind it.
    before: Option<usize>,
    /// The value that samples weigh by, of other tools' files that have several.
    value: Option<String>,
}

impl Shown {
    fn new([first, after]: [&[PathBuf]; 2], value: Option<String>) -> Result<Self> {
        let found = |side: &[PathBuf]| -> Result<Vec<PathBuf>> {
            side.iter().map(|path| meant(Some(path))).collect()
        };
        let mut paths = match first.is_empty() {
            true => vec![meant(None)?],
            false => found(first)?,
        };
        let recordings = |paths: &[PathBuf]| paths.iter().filter(|path| !is_snapshot(path)).count();
        let before = recordings(&paths);
        paths.extend(found(after)?);
        let all = recordings(&paths);
        if paths.len() - all > 2 {
            options::refuse("a page has at most two heap snapshots");
        }
        if after.is_empty() && all > 2 {
            options::refuse(&format!(
                "{all} recordings are named: those before and those after have `--` between them"
            ));
        }
        if !after.is_empty() && all > 1 && (before == 0 || before == all) {
            options::refuse(
                "all recordings stand on one side of `--`, so there is nothing to compare them with",
            );
        }
        Ok(Self {
            paths,
            before: (!after.is_empty()).then_some(before),
            value,
        })
    }

    /// The names by which a second `view` of the same finds the first one's server.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = running::files(&self.paths);
        if let Some(before) = self.before.filter(|_| files.len() > 2) {
            files.push(format!("{before} before").into());
        }
        if let Some(value) = &self.value {
            files.push(format!("value {value}").into());
        }
        files
    }
}

/// Writes the page as one file.
fn write(options: &View, shown: &Shown, path: &Path) -> Result<ExitCode> {
    let inputs: Vec<&Path> = shown.paths.iter().map(|path| &**path).collect();
    // Whether that is permitted is known before anything is read.
    let file = output::Text::create(path, output::Kind::Page, &inputs, options.force)?;
    let library = library(shown, Warnings::Printed)?;
    let how = offline::Options {
        most: match options.embed {
            true => offline::EMBEDDED,
            false => usize::try_from(options.max_page_size.0).unwrap_or(usize::MAX),
        },
        is_embedded: options.embed,
        confidential: Confidential::with(&options.confidential),
    };
    let mut left_out = Vec::new();
    file.write(|mut out| {
        let written = offline::write(&library, &how, &mut out)?;
        left_out = written.left_out;
        Ok(())
    })?;
    for sentence in left_out {
        stderr::note(&format!(
            "{}: {}",
            path.display(),
            sentence.trim_end_matches('.')
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Serves the page until it is closed.
fn serve(options: &View, shown: &Shown) -> Result<ExitCode> {
    let files = shown.files();
    if options.listen.is_none()
        // An answer of an hour ago is not that of now.
        && !files.iter().any(|file| crate::fleet::query(file).is_some())
        && let Some(url) = running::find(&files)
    {
        // Somebody looks at the same recordings already.
        return show(options, &url, Served::Elsewhere).map(|()| ExitCode::SUCCESS);
    }
    let library = library(shown, Warnings::Printed)?.editor(editor(options));
    give_back_freed_memory();
    let (server, _entry) = listen(options, &files)?;
    show(options, &server.url(), Served::Here)?;
    server.serve(library, PATIENCE)?;
    Ok(ExitCode::SUCCESS)
}

/// Has the allocator give memory back to the system as soon as it is free. By itself it keeps the
/// more, the larger the blocks that were freed before. An answer about a large recording frees
/// blocks of many megabytes.
fn give_back_freed_memory() {
    #[cfg(target_env = "gnu")]
    {
        const KEPT: libc::c_int = 4 << 20;
        // SAFETY: sets a number of the allocator.
        unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT) };
    }
}

/// The links that open the reader's editor.
fn editor(options: &View) -> Option<EditorLinks> {
    EditorLinks::new(options.editor.as_deref())
}

/// A server that listens, and its entry for those that look for it.
fn listen(options: &View, files: &[PathBuf]) -> Result<(Server, Option<running::Entry>)> {
    let server = Server::listen(options.address())?;
    if !options.address().ip().is_loopback() {
        stderr::note(&format!(
            "any user who can reach {} and knows the address below can read this recording and the sources in it",
            options.address()
        ));
    }
    let is_found = options.listen.is_none();
    let entry = is_found.then(|| running::Entry::new(&server.url(), files));
    Ok((server, entry.flatten()))
}

/// What becomes of the warnings about a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Warnings {
    Printed,
    /// It has just begun, and lacks most.
    Left,
}

/// The recordings and heap snapshots. They are read here, so that an error comes before there is a
/// page.
fn library(shown: &Shown, warnings: Warnings) -> Result<Library> {
    let (snapshots, paths): (Vec<&PathBuf>, Vec<&PathBuf>) =
        shown.paths.iter().partition(|path| is_snapshot(path));
    let sources = paths.into_iter().map(|path| -> Box<dyn Source> {
        Box::new(Recording {
            path: path.clone(),
            value: shown.value.clone(),
            is_known: AtomicBool::new(warnings == Warnings::Left),
        })
    });
    let snapshots = snapshots
        .into_iter()
        .map(|path| -> Box<dyn Snapshot> { Box::new(HeapFile(path.clone())) });
    let mut library = Library::new(sources.collect()).snapshots(snapshots.collect());
    if let Some(before) = shown.before {
        library = library.compared(before);
    }
    library.read()?;
    Ok(library)
}

/// The command that serves a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Served {
    Here,
    /// Another one, which was started before.
    Elsewhere,
}

/// Prints the address of the page, and opens it where that is possible.
fn show(options: &View, url: &str, served: Served) -> Result<()> {
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{url}")
        .and_then(|()| stdout.flush())
        .context("cannot print the address")?;
    let is_opened = !options.no_open && browser::is_there() && browser::open(url);
    if !is_opened {
        stderr::note(&browser::how_to_open(url, served));
    }
    Ok(())
}
