//! `assemble`: a heap snapshot out of the part files that were streamed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use profundo_console::output::{self, Detour};
use profundo_console::stderr;
use profundo_formats::{Error, heapsnapshot};

use crate::options::Assemble;
use crate::snapshot_files;

/// The extension of snapshots: DevTools open no other.
const ENDING: &str = "heapsnapshot";

/// V8's longest string: DevTools read all texts as one.
const MOST_TEXT: u64 = (1 << 29) - 24;

pub fn assemble(options: &Assemble) -> Result<ExitCode> {
    if let Some(prefix) = snapshot_files::prefix_of_part(&options.prefix) {
        let (part, prefix) = (options.prefix.display(), prefix.display());
        bail!(
            "{part} is one of four parts of a snapshot; make it whole with `profundo assemble {prefix}`"
        );
    }
    let out = match &options.output {
        Some(out) => out.clone(),
        None => with_ending(&options.prefix),
    };
    let parts = heapsnapshot::parts(&options.prefix);
    let parts: Vec<&Path> = parts.iter().map(PathBuf::as_path).collect();
    output::check(&out, output::Kind::Snapshot, &parts, options.force)?;
    let detour = Detour::of(&out, "heap snapshot")?;
    let counts =
        heapsnapshot::assemble(&options.prefix, detour.path()).map_err(|error| why(&out, error))?;
    let shown = detour.shown();
    detour.arrive()?;
    stderr::note(&format!(
        "wrote {shown}: {}",
        stderr::graph(counts.nodes, counts.edges)
    ));
    if counts.string_bytes > MOST_TEXT {
        stderr::note(&format!(
            "its texts are longer together than what Chrome's DevTools can open; `profundo heap {}` can",
            out.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn with_ending(prefix: &Path) -> PathBuf {
    if prefix.extension() == Some(OsStr::new(ENDING)) {
        return prefix.into();
    }
    let mut name = prefix.as_os_str().to_owned();
    name.push(".");
    name.push(ENDING);
    name.into()
}

fn why(out: &Path, error: Error) -> anyhow::Error {
    match error {
        Error::File {
            action: "read",
            path,
            source,
        } => anyhow!(
            "cannot read {}: {}",
            path.display(),
            stderr::reason(&source)
        ),
        Error::File { .. } => output::why_not_written(out, error),
        other => other.into(),
    }
}
