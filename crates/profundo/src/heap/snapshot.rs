//! Takes a snapshot, and describes it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use profundo_analysis::holds_text;
use profundo_capture::heap::{self, Skipped};
use profundo_formats::heapsnapshot::{self, Parts};
use profundo_ingest::graph::{self, GraphError, GraphSize, Heap};

use super::options::Options;
use super::roots::{Memory, roots};
use super::types::types;
use crate::error::{Error, Result};

/// A snapshot that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    path: PathBuf,
    size: GraphSize,
    skipped: Skipped,
    missed: u64,
    paused: Duration,
}

/// Takes the snapshot. On failure, none of our files is left, and no other file is touched.
pub(super) fn take(options: &Options, path: PathBuf) -> Result<Snapshot> {
    let _excluded = heap::exclude_allocations();
    take_to(options, &path)
}

fn take_to(options: &Options, path: &Path) -> Result<Snapshot> {
    // Names take the most time, and while the copy exists the program pays for each page that it
    // writes to: so most are found before.
    types();
    let mut copied = heap::copy()?;
    let mut types = types();
    for kind in &mut types {
        kind.shows_text = !options.redact && holds_text(&kind.name);
    }
    let (blocks, freed) = copied.blocks()?;
    let (roots, parts) = roots(&copied);
    let mut sink = Parts::create(
        path,
        heapsnapshot::Options {
            redact: options.redact,
            all_one: options.all_one,
        },
    )?;
    let heap = Heap {
        blocks: &blocks,
        freed: &freed,
        types: &types,
        roots: &roots,
        parts: &parts,
    };
    let written = graph::write(heap, &mut Memory(&mut copied), &mut sink);
    let size = written.map_err(|error| match error {
        GraphError::Memory(unread) => Error::Capture(heap::why(unread)),
        GraphError::Many => Error::TooManyReferences,
        GraphError::Sink(error) => Error::Format(error),
    })?;
    sink.finish()?;
    let snapshot = Snapshot {
        path: path.to_owned(),
        size,
        skipped: copied.skipped,
        missed: copied.missed(),
        paused: copied.paused,
    };
    drop(copied);
    if !options.is_streaming {
        heapsnapshot::assemble_and_remove(path, path).inspect_err(|_| {
            // The first failure is reported already. The parts are ours: they were written above.
            let _ = heapsnapshot::remove_parts(path);
        })?;
    }
    Ok(snapshot)
}

impl Snapshot {
    pub(super) fn without_path(self) -> Self {
        Self {
            path: PathBuf::new(),
            ..self
        }
    }

    /// The file, or the prefix of a streamed snapshot's part files. Empty where it was written
    /// elsewhere.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of objects: the blocks, and the roots above them.
    pub fn nodes(&self) -> u64 {
        self.size.nodes
    }

    /// The number of references.
    pub fn edges(&self) -> u64 {
        self.size.edges
    }

    /// The number of live blocks of the allocator.
    pub fn blocks(&self) -> u64 {
        self.size.blocks[0]
    }

    /// The bytes of the live blocks.
    pub fn bytes(&self) -> u64 {
        self.size.blocks[1]
    }

    /// The number of unreachable blocks, and their bytes.
    pub fn unreachable(&self) -> (u64, u64) {
        self.size.unreachable.into()
    }

    /// The share of references into blocks of 1 MiB or more whose target is reached only from words
    /// of unknown type, which may be no pointers. 0 where there is no such block.
    pub fn untyped_share(&self) -> f64 {
        let large = self.size.large;
        match large.edges {
            0 => 0.0,
            edges => large.untyped as f64 / edges as f64,
        }
    }

    /// The number of blocks missing because there was no memory to follow them.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// The bytes that were not scanned: device memory, and memory that the program excludes from
    /// copies.
    pub fn skipped(&self) -> u64 {
        self.skipped.devices + self.skipped.not_inherited
    }

    /// The time for which the program's memory was locked while it was copied. The program goes on
    /// meanwhile, unless it requests memory.
    pub fn paused(&self) -> Duration {
        self.paused
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MIB: f64 = 1048576.0;
        let mib = |bytes: u64| bytes as f64 / MIB;
        if !self.path.as_os_str().is_empty() {
            write!(f, "{}: ", self.path.display())?;
        }
        let GraphSize { blocks, .. } = self.size;
        write!(
            f,
            "{} blocks of {:.1} MiB and {} references",
            blocks[0],
            mib(blocks[1]),
            self.size.edges
        )?;
        let [count, bytes] = self.size.unreachable;
        if count > 0 {
            write!(
                f,
                "; {count} blocks of {:.1} MiB that nobody leads to",
                mib(bytes)
            )?;
        }
        let large = self.size.large;
        if large.edges > 0 {
            write!(
                f,
                "; {:.1} % of the {} references into blocks of a MiB and more are into such to which only words of no known \
                 type point",
                100.0 * self.untyped_share(),
                large.edges
            )?;
        }
        let Skipped {
            devices,
            not_inherited,
        } = self.skipped;
        if devices > 0 {
            write!(f, "; {:.1} MiB of devices were not looked at", mib(devices))?;
        }
        if not_inherited > 0 {
            write!(
                f,
                "; {:.1} MiB that are not copied (MADV_DONTFORK) were not looked at",
                mib(not_inherited)
            )?;
        }
        if self.missed > 0 {
            write!(f, "; {} blocks could not be followed", self.missed)?;
        }
        Ok(())
    }
}
