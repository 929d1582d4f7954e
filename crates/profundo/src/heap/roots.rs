//! The roots of references, and the memory that they are in.

use profundo_capture::heap::Copied;
use profundo_ingest::graph::{self, Part, Read, Root, Thread};
use profundo_scan::Unread;

/// The roots, and the parts of memory by owner.
pub(super) fn roots(copied: &Copied) -> (Vec<Root>, Vec<Part>) {
    let threads = copied.threads.iter().cloned().map(|thread| Thread {
        tid: thread.tid,
        name: thread.name,
        stack: thread.stack,
        registers: thread.registers,
    });
    let threads: Vec<Thread> = threads.collect();
    graph::roots(&threads, std::process::id(), &copied.areas)
}

/// The memory of a copy.
pub(super) struct Memory<'a>(pub(super) &'a mut Copied);

impl Read for Memory<'_> {
    fn each_piece(&mut self, part: Part, f: &mut dyn FnMut(u64, &[u64])) -> Result<(), Unread> {
        self.0.each_piece(part.range, part.is_shared, f)
    }

    fn bytes(&mut self, address: u64, bytes: &mut [u8]) -> bool {
        self.0.bytes(address, bytes)
    }
}
