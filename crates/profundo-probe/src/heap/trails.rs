//! The frames of a thread's walks, each once, with their callers.
//!
//! A new stack has most of its frames in common with one before it. A walk that reaches a frame in
//! the same state as an earlier walk goes on like it, as long as all words are unchanged that the
//! earlier walk has read from there on: a step depends on nothing but its state and these words,
//! and leads to the state of the next one. So the walk compares these words, which takes a
//! nanosecond or two for a frame, and takes over the rest. Where a word differs, it goes on by
//! itself.
//!
//! The state of a walk of native frames is the instruction, the stack pointer and the frame
//! pointer, where rows of the usual kinds lead to the root: those ask for no other register. The
//! frame pointer counts only until it is read again, or if it is used. The state of a walk of the
//! interpreter's frames is the frame, the loop's record and whether a run begins.

use core::cell::Cell;

use super::log::{Read, ReadLog};

mod checks;
mod flat;
mod native;
mod python;

pub(super) use flat::Flat;
pub(crate) use native::Sharing;
pub(crate) use python::Arrival;

use checks::Checks;
use flat::Flats;
use native::{NativeNode, NativeStep};
use python::{PythonLink, PythonNode, PythonStep};

/// The largest number of reads of a thread's nodes and stacks.
pub(super) const READS: usize = 1 << 19;
/// The number of nodes of each kind.
const NODES: usize = 1 << 15;
/// The number of frames found by their places: the latest ones. A power of two.
const PLACES: usize = 1 << 12;
/// The largest number of new nodes of one walk.
const STEPS: usize = 1 << 12;

/// The nodes, and the present walk. All zero is empty.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Trails {
    reads: [Cell<Read>; READS],
    reads_used: Cell<usize>,
    /// The list of modules that the native nodes hold for, and the epoch of code objects that the
    /// others hold for.
    generation: Cell<u64>,
    epoch: Cell<u64>,
    /// For each node of the interpreter, the data to check it.
    links: [Cell<PythonLink>; NODES],
    checks: Checks,
    flats: Flats,
    python: Nodes<PythonNode, PythonStep>,
    native: Nodes<NativeNode, NativeStep>,
    /// The number of reads of the walk of the interpreter's frames, which comes first.
    python_end: Cell<usize>,
}

/// The number of a node, counted from 1; 0 for none.
pub(super) type Number = u32;

/// The nodes of one kind.
#[derive(Debug)]
#[repr(C)]
struct Nodes<N: Copy, S: Copy> {
    nodes: [Cell<N>; NODES],
    used: Cell<usize>,
    /// The last node of those with the same hash of their places.
    places: [Cell<Number>; PLACES],
    /// The present walk: its own frames, from the leaf on, and the node that it has ended at.
    steps: [Cell<S>; STEPS],
    count: Cell<usize>,
    rest: Cell<Number>,
    /// True if the walk has reached the root or that node, with all its frames in `steps`.
    is_whole: Cell<bool>,
    /// Nothing is taken over before this place is passed: up to there, frames have changed. 0:
    /// none.
    passed: Cell<u64>,
}

impl<N: Copy, S: Copy> Nodes<N, S> {
    fn get(&self, number: Number) -> Option<N> {
        let node = self.nodes.get((number as usize).checked_sub(1)?)?;
        Some(node.get())
    }

    /// As `get`, without a copy. Only [`Self::keep`] writes nodes, and only unused ones.
    #[inline]
    fn at(&self, number: Number) -> Option<&N> {
        let node = self.nodes.get((number as usize).wrapping_sub(1))?;
        // SAFETY: the cell is the calling thread's alone, which writes to it no more.
        Some(unsafe { &*node.as_ptr() })
    }

    fn clear(&self) {
        self.count.set(0);
        self.rest.set(0);
        self.is_whole.set(false);
        self.passed.set(0);
    }

    fn forget(&self) {
        self.clear();
        self.used.set(0);
        self.forget_places();
    }

    fn forget_places(&self) {
        for place in &self.places {
            place.set(0);
        }
    }

    /// Adds a step to the walk. Without room for it, the walk is not kept.
    fn begin_step(&self, step: S) {
        let count = self.count.get();
        if let Some(place) = self.steps.get(count) {
            place.set(step);
        }
        self.count.set(count.saturating_add(1));
    }

    /// Changes the last step.
    fn change_step(&self, change: impl FnOnce(&mut S)) {
        let last = self.count.get().checked_sub(1);
        if let Some(place) = last.and_then(|last| self.steps.get(last)) {
            let mut step = place.get();
            change(&mut step);
            place.set(step);
        }
    }

    fn step(&self, index: usize) -> Option<S> {
        let step = self.steps.get(index).filter(|_| index < self.count.get())?;
        Some(step.get())
    }

    fn has_room(&self, more: usize) -> bool {
        self.used.get() + more <= NODES && self.count.get() <= STEPS
    }

    /// Keeps a node. `None`: there is no room.
    fn keep(&self, node: N, place: usize) -> Option<Number> {
        let used = self.used.get();
        self.nodes.get(used)?.set(node);
        let number = used as Number + 1;
        self.used.set(used + 1);
        self.places.get(place % PLACES)?.set(number);
        Some(number)
    }
}

/// The kept part of a walk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// Its reads outside of nodes.
    pub(super) first: u32,
    pub(super) count: u32,
    /// Its innermost Python node; 0: none.
    pub(super) python: Number,
    pub(super) native: Number,
}

impl Kept {
    /// True if there are nodes for the stack.
    pub(super) fn has_nodes(&self) -> bool {
        self.python != 0 || self.native != 0
    }
}

/// The part of a walk to be kept.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wanted {
    /// The reads outside of nodes, in the log's order: of the interpreter's frames, which come
    /// first, and of native ones.
    python: Part,
    native: Part,
    /// One more read: the frame pointer that the first native node is found by.
    frame_pointer: Option<Read>,
    /// The number of reads in all.
    reads: usize,
}

/// A part of a walk.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    /// Its reads outside of nodes.
    from: usize,
    to: usize,
    /// The number of its own frames that become nodes: the last ones.
    nodes: usize,
    has_nodes: bool,
}

impl Trails {
    /// Starts a walk.
    pub(super) fn clear(&self) {
        self.python.clear();
        self.native.clear();
        self.python_end.set(0);
        self.checks.begin();
    }

    /// Starts a lookup: nothing changes until the stack is found or walked.
    #[inline]
    pub(super) fn begin_lookup(&self) {
        self.checks.begin_lookup();
    }

    /// Forgets everything.
    pub(super) fn forget(&self) {
        self.python.forget();
        self.native.forget();
        self.checks.forget();
        self.flats.forget();
        self.reads_used.set(0);
    }

    pub(super) fn reads_used(&self) -> usize {
        self.reads_used.get()
    }

    pub(super) fn reads(&self, first: u32, count: u32) -> Option<&[Cell<Read>]> {
        let first = first as usize;
        self.reads.get(first..first + count as usize)
    }

    /// Whether these words are unchanged.
    ///
    /// # Safety
    /// The first of them can be read, and each other one if those before it are unchanged.
    #[inline]
    pub(super) unsafe fn are_same(&self, first: u32, count: u32) -> bool {
        let Some(reads) = self.reads(first, count) else {
            return false;
        };
        // One by one, in registers: a copy of both takes longer.
        reads.iter().all(|read| {
            // SAFETY: the cell is the calling thread's alone; the caller vouches for the word.
            unsafe {
                let Read { address, word } = &*read.as_ptr();
                (*address as *const u64).read_unaligned() == *word
            }
        })
    }

    /// Whether a walk would read the same words.
    ///
    /// # Safety
    /// As for [`Self::are_same`].
    #[inline]
    pub(super) unsafe fn holds(&self, kept: Kept) -> bool {
        let Kept {
            first,
            count,
            python,
            native,
        } = kept;
        // SAFETY: the caller vouches. The inputs of the nodes were read before them.
        unsafe {
            self.are_same(first, count)
                && self.python_holds(python).is_ok()
                && self.native_holds_still(native)
        }
    }

    /// The part to be kept of the walk that has just ended, whose reads are in the log.
    pub(super) fn wanted(&self, log: &ReadLog) -> Wanted {
        let all = log.count();
        let python_end = self.python_reads().min(all);
        let python = self.python_part(python_end);
        let (native, frame_pointer) = self.native_part(python_end, all);
        let of_nodes = python_end - python.to;
        let of_none = python.to + (native.to - native.from) + usize::from(frame_pointer.is_some());
        Wanted {
            python,
            native,
            frame_pointer,
            reads: of_none + of_nodes,
        }
    }

    /// True if there are enough free nodes for the walk.
    pub(super) fn has_nodes_for(&self, wanted: &Wanted) -> bool {
        // The end of a native walk has a node of its own.
        self.python.has_room(wanted.python.nodes)
            && self.native.has_room(wanted.native.nodes + 1)
            && self.checks.has_room()
    }

    /// Keeps a walk. `None`: there is no room.
    pub(super) fn keep(&self, wanted: &Wanted, log: &ReadLog) -> Option<Kept> {
        let first = self.reads_used.get();
        let part = |part: Part| log.some(part.from, part.to);
        let of_none = part(wanted.python)
            .chain(part(wanted.native))
            .chain(wanted.frame_pointer);
        let count = self.keep_reads(of_none)?;
        let python = match wanted.python.has_nodes {
            true => self.keep_python(wanted.python.nodes, log)?,
            false => 0,
        };
        let native = match wanted.native.has_nodes {
            true => self.keep_native(wanted.native.nodes)?,
            false => 0,
        };
        Some(Kept {
            first: first as u32,
            count: count as u32,
            python,
            native,
        })
    }

    /// Appends reads; returns their number.
    fn keep_reads(&self, reads: impl Iterator<Item = Read>) -> Option<usize> {
        let first = self.reads_used.get();
        let mut used = first;
        for read in reads {
            self.reads.get(used)?.set(read);
            used += 1;
        }
        self.reads_used.set(used);
        Some(used - first)
    }
}

impl Wanted {
    /// Its number of reads.
    pub(super) fn reads(&self) -> usize {
        self.reads
    }

    /// True if the walk has taken over nodes.
    pub(super) fn has_nodes(&self) -> bool {
        self.python.has_nodes || self.native.has_nodes
    }
}

/// The place of a frame in the hash table.
fn place_of(one: u64, other: u64) -> usize {
    ((one ^ other.rotate_left(20)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize % PLACES
}

#[cfg(test)]
mod tests;
