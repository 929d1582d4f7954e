//! `assemble`: a heap snapshot out of the part files that were streamed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use profundo_formats::{Error, heapsnapshot};

use crate::options::Assemble;
use crate::{reading, say};

/// What the name of a snapshot ends with: DevTools open no other.
const ENDING: &str = "heapsnapshot";

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
fn may_replace(path: &Path) -> Result<()> {
    let mut start = Vec::new();
    if path.is_file()
        && let Ok(file) = File::open(path)
        && file.take(4096).read_to_end(&mut start).is_ok()
        && !start.is_empty()
        && !heapsnapshot::is_heapsnapshot(&start)
    {
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
