//! `assemble`: a heap snapshot out of the part files that were streamed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use profundo_formats::{Error, heapsnapshot};

use crate::options::Assemble;
use crate::output::{self, Detour};
use crate::{heap, open, stderr};

/// What the name of a snapshot ends with: DevTools open no other.
const ENDING: &str = "heapsnapshot";

/// V8's longest string: DevTools read all texts as one.
const MOST_TEXT: u64 = (1 << 29) - 24;

pub fn assemble(options: &Assemble) -> Result<ExitCode> {
    if let Some(prefix) = heap::prefix_of_part(&options.prefix) {
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

/// Whether part files may be written there: those of an earlier snapshot go, and nothing else that has their names.
pub fn may_replace_parts(prefix: &Path, force: bool) -> Result<(), output::Refused> {
    if output::is_stdout(prefix) {
        return Err(output::Refused::new(
            "four files cannot go to the standard output; name them with -o PREFIX",
        ));
    }
    if force {
        return Ok(());
    }
    // Only the last one says what the files are.
    let parts = heapsnapshot::parts(prefix);
    let [.., last] = &parts;
    let is_snapshot = heap::is_snapshot(last);
    let mut all = parts.iter();
    match all.find(|path| output::is_foreign(path, |_| is_snapshot)) {
        Some(path) => Err(output::Refused::new(&format!(
            "{} is there and is no part of a heap snapshot; name others with -o PREFIX (`--force` replaces it)",
            path.display()
        ))),
        None => Ok(()),
    }
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
        Error::File { .. } => open::why_not_written(out, error),
        other => other.into(),
    }
}
