//! The reasons why the system refuses to write a file, and the remedies.

use std::io;
use std::path::Path;

use anyhow::anyhow;
use profundo_formats::Error;

use crate::stderr;

/// The reason why a file cannot be written.
pub fn why_not_written(path: &Path, error: Error) -> anyhow::Error {
    match error {
        Error::File { source, .. } if source.kind() == io::ErrorKind::IsADirectory => {
            anyhow!("cannot write {}: it is a folder", path.display())
        }
        Error::File { source, .. } => {
            let folder = match path.parent() {
                Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
                Some(folder) => folder,
                None => Path::new("/"),
            };
            anyhow!(
                "cannot write {} ({}); name a place in a folder other than {} with -o FILE",
                path.display(),
                stderr::reason(&source),
                folder.display()
            )
        }
        other => other.into(),
    }
}
