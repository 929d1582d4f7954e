//! One allocation that was recorded.

use std::fmt;

use profundo_model::{Block, Nanos};

use super::results::AllocResults;
use crate::frames::StackFrame;

/// An allocation that was recorded.
#[derive(Debug, Clone, Copy)]
pub struct Alloc<'a> {
    pub(super) results: &'a AllocResults,
    pub(super) index: usize,
}

/// What an allocation holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AllocType<'a> {
    /// What owns it, as `Vec<u8>`, `Box<app::Node>`, `String`, `HashMap<u32, String>`.
    Known(&'a str),
    /// Where something keeps its elements that grows, of which no more is known.
    BufferType,
    /// Nothing tells it: there is no debug information, or it is no container of the standard library's.
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

    /// What it holds, as its stack tells it.
    pub fn type_of(self) -> AllocType<'a> {
        let block = self.block();
        match self.results.profile().strings.get(block.type_name) {
            "" if block.is_buffer => AllocType::BufferType,
            "" => AllocType::UnknownType,
            name => AllocType::Known(name),
        }
    }

    /// Whether it is where something keeps its elements that was growing, or shrinking, at that moment.
    pub fn is_buffer(self) -> bool {
        self.block().is_buffer
    }

    /// Whether it was freed before its thread had allocated anything else: it may not have been needed.
    pub fn is_temporary(self) -> bool {
        self.block().is_temporary
    }

    /// How many bytes were asked for.
    pub fn size(self) -> u64 {
        self.block().size
    }

    /// How many allocations it stands for: 1 where all were recorded.
    pub fn weight(self) -> f64 {
        self.results.weights()[self.index]
    }

    /// Who asked: the innermost function first, those of other languages and those that were inlined
    /// included.
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

    /// The number of the task that the thread was running; outside of any, that of its own.
    pub fn task(self) -> u64 {
        self.results.profile().tasks.get(self.block().task).number
    }

    /// The raw cycle counter.
    pub fn timestamp(self) -> u64 {
        self.block().clock
    }

    /// When, since the first recording began.
    pub fn time(self) -> Nanos {
        self.block().time
    }

    /// When it was freed or moved; `None` if it was not, as long as allocations were recorded.
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
