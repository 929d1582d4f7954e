//! The blocks of a native program that runs, as a graph. What each of them is nobody knows here but by its size.

use std::cell::Cell;
use std::collections::HashMap;

use anyhow::anyhow;
use profundo_ingest::graph::{self, Heap, Part, Read, Thread, Type, Untold};
use profundo_model::graph::Sink;
use profundo_remote::door::{Native, Refused};
use profundo_scan::Unread;

use super::{AllTold, why_not};
use crate::attach::is_over;
use crate::launch::Signals;
use crate::options::Through;
use crate::progress::Progress;

/// Why nothing was told.
pub enum Failed {
    Refused(Refused),
    Other(anyhow::Error),
}

impl Failed {
    /// In a sentence. `also` is what else there is to be said where its blocks are not known.
    pub fn told(self, pid: u32, also: &str) -> anyhow::Error {
        match self {
            Self::Refused(none @ Refused::Uncounted) if !also.is_empty() => {
                anyhow!("{also}{none}").context(format!("cannot take a snapshot of process {pid}"))
            }
            Self::Refused(why) => why_not(pid, why),
            Self::Other(why) => why,
        }
    }
}

/// Tells of all blocks of a process, and of what may point to them.
pub fn tell<S>(pid: u32, through: &Through, sink: &mut S) -> Result<AllTold, Failed>
where
    S: Sink,
    S::Error: std::error::Error + Send + Sync + 'static,
{
    let signals = Signals::take_also(&[], false).map_err(|why| Failed::Other(why.into()))?;
    let progress = Progress::start("looking through its memory");
    let mut native = Native::copy(pid, through.filtered).map_err(Failed::Refused)?;
    let mut types = Types::default();
    let (blocks, freed) = (native.blocks(|size| types.of_size(size))).map_err(Failed::Refused)?;
    let threads = std::mem::take(&mut native.threads).into_iter();
    let threads: Vec<Thread> = threads
        .map(|it| Thread {
            tid: it.tid,
            name: it.name,
            stack: it.stack,
            registers: it.registers,
        })
        .collect();
    let (roots, parts) = graph::roots(&threads, pid, &native.areas);
    let heap = Heap {
        blocks: &blocks,
        freed: &freed,
        types: &types.all,
        roots: &roots,
        parts: &parts,
    };
    let was_over = Cell::new(false);
    let mut memory = Memory {
        native: &mut native,
        is_over: &|| {
            was_over.set(was_over.get() || is_over(&signals));
            was_over.get()
        },
    };
    let told = graph::tell(heap, &mut memory, sink);
    let held_up = native.pause;
    drop(native);
    drop(progress);
    signals.release();
    let told = told.map_err(|why| match why {
        Untold::Memory(_) if was_over.get() => Failed::Refused(Refused::Interrupted),
        Untold::Memory(_) => Failed::Refused(Refused::CopyGone),
        Untold::Many => Failed::Other(anyhow!(
            "cannot take a snapshot of process {pid}: there are more references than can be followed"
        )),
        Untold::Sink(why) => Failed::Other(anyhow!(why)),
    })?;
    Ok(AllTold {
        nodes: told.nodes,
        edges: told.edges,
        held_up,
    })
}

/// What blocks are called, by their sizes.
#[derive(Debug, Default)]
struct Types {
    rows: HashMap<u64, u32>,
    all: Vec<Type>,
}

impl Types {
    fn of_size(&mut self, size: u64) -> u32 {
        *self.rows.entry(size).or_insert_with(|| {
            let bytes = if size == 1 { "byte" } else { "bytes" };
            self.all.push(Type {
                name: format!("block of {size} {bytes}"),
                ..Type::default()
            });
            self.all.len() as u32 - 1
        })
    }
}

/// The memory of the copy, until somebody wants it to end.
struct Memory<'a> {
    native: &'a mut Native,
    is_over: &'a dyn Fn() -> bool,
}

impl Read for Memory<'_> {
    fn each_piece(&mut self, part: Part, f: &mut dyn FnMut(u64, &[u64])) -> Result<(), Unread> {
        if (self.is_over)() {
            return Err(Unread::Gone);
        }
        self.native.each_piece(part.range, part.is_shared, f)
    }

    fn bytes(&mut self, address: u64, bytes: &mut [u8]) -> bool {
        self.native.bytes(address, bytes)
    }
}
