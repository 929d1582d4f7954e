//! A recorded allocation.

use std::fmt;

use profundo_model::{Block, Nanos};

use super::results::AllocResults;
use crate::frames::StackFrame;

/// A recorded allocation.
#[derive(Debug, Clone, Copy)]
pub struct Alloc<'a> {
    pub(super) results: &'a AllocResults,
    pub(super) index: usize,
}

/// The type of an allocation's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AllocType<'a> {
    /// The type that owns it, as `Vec<u8>`, `Box<app::Node>`, `String`, `HashMap<u32, String>`.
    Known(&'a str),
    /// The storage of a growable container of which no more is known.
    BufferType,
    /// Unknown: there is no debug information, or the owner is not a container of the standard
    /// library.
    UnknownType,
}

impl fmt::Display for AllocType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Known(name) => name,
            Self::BufferType => "BufferType",
            Self::UnknownType => "UnknownType",
        })
    }
}

impl<'a> Alloc<'a> {
    fn block(self) -> &'a Block {
        &self.results.profile().heap.blocks[self.index]
    }

    /// The type of its contents, derived from its stack.
    pub fn type_of(self) -> AllocType<'a> {
        let block = self.block();
        match self.results.profile().strings.get(block.type_name) {
            "" if block.is_buffer => AllocType::BufferType,
            "" => AllocType::UnknownType,
            name => AllocType::Known(name),
        }
    }

    /// Whether it is the storage of a container that was growing or shrinking at that moment.
    pub fn is_buffer(self) -> bool {
        self.block().is_buffer
    }

    /// Whether it was freed before its thread allocated anything else: it may not have been needed.
    pub fn is_temporary(self) -> bool {
        self.block().is_temporary
    }

    /// The requested size in bytes.
    pub fn size(self) -> u64 {
        self.block().size
    }

    /// The number of allocations that it stands for: 1 where all were recorded.
    pub fn weight(self) -> f64 {
        self.results.weights()[self.index]
    }

    /// The stack of the request: the innermost function first, other languages and inlined
    /// functions included.
    pub fn stacktrace(self) -> Vec<StackFrame> {
        let profile = self.results.profile();
        let locations = profile.stacks.locations(self.block().stack);
        let frames = locations.flat_map(|id| {
            let location = profile.locations.get(id);
            let pointer = match location.kind {
                profundo_model::LocationKind::Code(address) => address.for_lookup().0,
                _ => 0,
            };
            location.frames.iter().map(move |&frame| (frame, pointer))
        });
        frames
            .map(|(frame, pointer)| StackFrame::of(profile, frame, pointer))
            .collect()
    }

    /// The number of the thread.
    pub fn thread(self) -> u64 {
        self.results
            .profile()
            .threads
            .get(self.block().thread)
            .number
    }

    /// The number of the task that the thread was running; outside of any task, the thread's own
    /// number.
    pub fn task(self) -> u64 {
        self.results.profile().tasks.get(self.block().task).number
    }

    /// The raw cycle counter.
    pub fn timestamp(self) -> u64 {
        self.block().clock
    }

    /// The time since the first recording began.
    pub fn time(self) -> Nanos {
        self.block().time
    }

    /// The time at which it was freed or moved; `None` if it was neither while allocations were
    /// recorded.
    pub fn freed(self) -> Option<Nanos> {
        self.block().freed
    }
}

impl fmt::Display for Alloc<'_> {
    /// `Alloc(Vec<u8>, StackFrame[push at @alloc/src/vec/mod.rs:2661, ...], 64)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Alloc({}, StackFrame[", self.type_of())?;
        if let Some(leaf) = self.stacktrace().first() {
            write!(f, "{leaf}, ...")?;
        }
        write!(f, "], {})", self.size())
    }
}
