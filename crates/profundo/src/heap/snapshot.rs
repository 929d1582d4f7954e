//! Taking a snapshot, and what is said of it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use profundo_analysis::holds_text;
use profundo_capture::heap::{self, Skipped};
use profundo_formats::heapsnapshot::{self, Parts};
use profundo_ingest::graph::{self, GraphSize, Heap, Untold};

use super::options::Options;
use super::roots::{Memory, roots};
use super::types::types;
use crate::error::{Error, Result};

/// A snapshot that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    path: PathBuf,
    told: GraphSize,
    skipped: Skipped,
    missed: u64,
    paused: Duration,
}

/// Takes it. Where that fails, nothing of it is left, and nothing of others is touched.
pub(super) fn take(options: &Options, path: PathBuf) -> Result<Snapshot> {
    let _quiet = heap::quietly();
    take_to(options, &path)
}

fn take_to(options: &Options, path: &Path) -> Result<Snapshot> {
    // Names take the most time, and while the copy is there the program pays for what it writes to: so most are found before.
    types();
    let mut copied = heap::copy()?;
    let mut types = types();
    for it in &mut types {
        it.shows_text = !options.redact && holds_text(&it.name);
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
    let told = graph::tell(heap, &mut Memory(&mut copied), &mut sink);
    let told = told.map_err(|error| match error {
        Untold::Memory(unread) => Error::Capture(heap::why(unread)),
        Untold::Many => Error::TooManyReferences,
        Untold::Sink(error) => Error::Format(error),
    })?;
    sink.finish()?;
    let snapshot = Snapshot {
        path: path.to_owned(),
        told,
        skipped: copied.skipped,
        missed: copied.missed(),
        paused: copied.paused,
    };
    drop(copied);
    if !options.is_streaming {
        heapsnapshot::assemble_and_remove(path, path).inspect_err(|_| {
            // What has failed is said already. The parts are ours: they were written above.
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

    /// The file, or of a streamed snapshot what the names of its parts begin with. Empty where it was written elsewhere.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many objects it has: the blocks, and the roots above them.
    pub fn nodes(&self) -> u64 {
        self.told.nodes
    }

    /// How many references.
    pub fn edges(&self) -> u64 {
        self.told.edges
    }

    /// How many blocks of the allocator were in use.
    pub fn blocks(&self) -> u64 {
        self.told.blocks[0]
    }

    /// How many bytes they had.
    pub fn bytes(&self) -> u64 {
        self.told.blocks[1]
    }

    /// How many blocks nobody leads to, and their bytes.
    pub fn unreachable(&self) -> (u64, u64) {
        self.told.unreachable.into()
    }

    /// Which share of the references into blocks of a MiB and more goes into such to which only words point of which nothing
    /// is known: these may be no pointers. 0 where there is no such block.
    pub fn untyped_share(&self) -> f64 {
        let large = self.told.large;
        match large.edges {
            0 => 0.0,
            edges => large.untyped as f64 / edges as f64,
        }
    }

    /// Blocks that are missing, because there was no memory to follow them.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Bytes that were not looked at: memory of devices, and what the program does not want copied.
    pub fn skipped(&self) -> u64 {
        self.skipped.devices + self.skipped.not_inherited
    }

    /// How long the program's memory was held while it was copied. It goes on meanwhile, as far as it asks for none.
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
        let GraphSize { blocks, .. } = self.told;
        write!(
            f,
            "{} blocks of {:.1} MiB and {} references",
            blocks[0],
            mib(blocks[1]),
            self.told.edges
        )?;
        let [count, bytes] = self.told.unreachable;
        if count > 0 {
            write!(
                f,
                "; {count} blocks of {:.1} MiB that nobody leads to",
                mib(bytes)
            )?;
        }
        let large = self.told.large;
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
