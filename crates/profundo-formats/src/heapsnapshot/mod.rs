//! A heap as a graph, in the format of V8 (`.heapsnapshot`), which Chrome's DevTools, Node and
//! Julia write and read.
//!
//! The format puts all objects before all references, and stores the number of references of each
//! object, so nothing can be written before everything is known. [`Parts`] therefore writes objects
//! and references as they come into four files (those of Julia's streamed snapshots), and
//! [`assemble()`] joins them, on any machine of the same byte order.

mod assemble;
mod kinds;
mod meta;
mod parts;
mod read;
mod scan;
mod sniff;
mod text;

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

pub use assemble::{Counts, assemble};
pub use parts::{Options, Parts};
pub use read::{read, read_file};
pub use sniff::is_heapsnapshot;

/// The files of a snapshot in parts, in the order of their creation.
const ENDINGS: [&str; 4] = [".nodes", ".edges", ".strings", ".metadata.json"];

/// Removes the part files of `prefix`. Missing ones are no error.
pub fn remove_parts(prefix: &Path) -> Result<(), Error> {
    for ending in ENDINGS {
        let path = part(prefix, ending);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(crate::disk::failed("remove", &path, source));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes `out` of the parts at `prefix` and removes them: a snapshot that is not streamed. On
/// failure the parts stay, for they may still be of use.
pub fn assemble_and_remove(prefix: &Path, out: &Path) -> Result<Counts, Error> {
    let counts = assemble(prefix, out)?;
    remove_parts(prefix)?;
    Ok(counts)
}

/// The paths of the part files of `prefix`. The last one is written last.
#[must_use]
pub fn parts(prefix: &Path) -> [PathBuf; 4] {
    ENDINGS.map(|ending| part(prefix, ending))
}

fn part(prefix: &Path, ending: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// The length of the part files' rows, by the width of their kind.
const NARROW: Width = Width { node: 34, edge: 25 };
const WIDE: Width = Width { node: 37, edge: 28 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Width {
    node: usize,
    edge: usize,
}
