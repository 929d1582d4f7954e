//! `assemble`: a heap snapshot out of the part files that were streamed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use profundo_formats::{Error, heapsnapshot};

use crate::options::Assemble;
use crate::{heap, reading, say};

/// What the name of a snapshot ends with: DevTools open no other.
const ENDING: &str = "heapsnapshot";

/// V8's longest string: DevTools read all texts as one.
const MOST_TEXT: u64 = (1 << 29) - 24;

pub fn assemble(options: &Assemble) -> Result<ExitCode> {
    let out = match &options.output {
        Some(out) => out.clone(),
        None => with_ending(&options.prefix),
    };
    may_replace(&out)?;
    let counts = heapsnapshot::assemble(&options.prefix, &out).map_err(|error| why(&out, error))?;
    say::note(&format!(
        "wrote {}: {} objects, {} references",
        out.display(),
        counts.nodes,
        counts.edges
    ));
    if counts.string_bytes > MOST_TEXT {
        say::note(&format!(
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

/// A slip of the hand must not cost a source file.
pub fn may_replace(path: &Path) -> Result<()> {
    let is_empty = std::fs::metadata(path).map_or(true, |metadata| metadata.len() == 0);
    if path.is_file() && !is_empty && !heap::is_snapshot(path) {
        bail!(
            "{} is there and is no heap snapshot; name another file with -o FILE",
            path.display()
        );
    }
    Ok(())
}

fn why(out: &Path, error: Error) -> anyhow::Error {
    match error {
        Error::File {
            action: "read",
            path,
            source,
        } => anyhow!("cannot read {}: {}", path.display(), say::reason(&source)),
        Error::File { .. } => reading::why_not_written(out, error),
        other => other.into(),
    }
}
