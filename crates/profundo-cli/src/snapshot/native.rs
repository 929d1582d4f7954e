//! The blocks of a native program that runs, as a graph.

use std::cell::Cell;

use anyhow::anyhow;
use profundo_console::progress::Progress;
use profundo_console::stderr;
use profundo_ingest::graph::{self, GraphError, Heap, Part, Read, Thread};
use profundo_inject::{Native, Refused};
use profundo_launch::Signals;
use profundo_model::graph::Sink;
use profundo_scan::{Blocks, Unread};

use super::types::Types;
use super::{Request, Taken, why_not};

/// The reason why there is no snapshot.
pub enum Failed {
    Refused(Refused),
    Other(anyhow::Error),
}

impl Failed {
    /// The error for the user. `also` goes before it if the blocks of the process are not known.
    pub fn into_error(self, request: Request<'_>, also: &str) -> anyhow::Error {
        let pid = request.pid;
        match self {
            Self::Refused(none @ (Refused::Uncounted | Refused::Agentless)) if !also.is_empty() => {
                anyhow!("{also}{none}").context(format!("cannot take a snapshot of process {pid}"))
            }
            Self::Refused(why) => why_not(request, why),
            Self::Other(why) => why,
        }
    }
}

/// Takes all blocks of a process, and what may point to them.
pub fn take_blocks<S>(request: Request<'_>, sink: &mut S) -> Result<Taken, Failed>
where
    S: Sink,
    S::Error: std::error::Error + Send + Sync + 'static,
{
    let Request { pid, redact, .. } = request;
    let signals = Signals::take_also(&[], false).map_err(|why| Failed::Other(why.into()))?;
    let progress = Progress::start("looking through its memory");
    let mut native = Native::copy(pid, request.through.filtered).map_err(Failed::Refused)?;
    let (mut blocks, freed) = native.blocks().map_err(Failed::Refused)?;
    drop(progress);
    let progress = Progress::start("looking up what its blocks are");
    let mut types = Types::of(pid, native.recording().as_deref(), &blocks, redact);
    for block in &mut blocks {
        block.whose = types.row(block.whose, block.size);
    }
    let blocks = Blocks::new(blocks);
    drop(progress);
    let progress = Progress::start("looking through its memory");
    let threads = std::mem::take(&mut native.threads).into_iter();
    let threads: Vec<Thread> = threads
        .map(|thread| Thread {
            tid: thread.tid,
            name: thread.name,
            stack: thread.stack,
            registers: thread.registers,
        })
        .collect();
    let (roots, parts) = graph::roots(&threads, pid, &native.areas);
    let heap = Heap {
        blocks: &blocks,
        freed: &freed,
        types: types.all(),
        roots: &roots,
        parts: &parts,
    };
    let was_over = Cell::new(false);
    let mut memory = Memory {
        native: &mut native,
        is_over: &|| {
            was_over.set(was_over.get() || signals.want_end());
            was_over.get()
        },
    };
    let written = graph::write(heap, &mut memory, sink);
    let held_up = native.pause;
    let is_forked = native.is_forked();
    drop(native);
    drop(progress);
    signals.release();
    let written = written.map_err(|why| match why {
        GraphError::Memory(_) if was_over.get() => Failed::Refused(Refused::Interrupted),
        GraphError::Memory(_) => Failed::Refused(Refused::CopyGone),
        GraphError::Many => Failed::Other(anyhow!(
            "cannot take a snapshot of process {pid}: there are more references than can be followed"
        )),
        GraphError::Sink(why) => Failed::Other(anyhow!(why)),
    })?;
    if is_forked {
        stderr::note(&format!(
            "process {pid} is the child of a fork: the blocks that it has inherited are not known and not in it, only those \
             that it has asked for itself"
        ));
    }
    Ok(Taken {
        nodes: written.nodes,
        edges: written.edges,
        held_up,
    })
}

/// The memory of the copy, until the user interrupts the command.
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
