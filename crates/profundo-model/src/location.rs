//! Locations: the places in stacks, before and after they have names.
//!
//! A location is a finding of the walk: a code address, or the reason why the walk went no further.
//! Naming gives it one frame, or several where functions were inlined there.

use rustc_hash::FxHashMap;

use crate::{FrameId, Kind, LocationId, ModuleId, Wait};

/// An address in the memory of the target ("actual virtual memory address").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Avma(pub u64);

/// A code address together with how it was found, which decides what line it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeAddress {
    /// The instruction that was running.
    Instruction(Avma),
    /// The instruction *after* a call.
    Return(Avma),
}

impl CodeAddress {
    /// The address to look names up by: a return address may already belong to the next line
    /// or function, so the byte before it is taken. "Minus one" is written nowhere else.
    pub fn for_lookup(self) -> Avma {
        match self {
            Self::Instruction(address) => address,
            Self::Return(address) => Avma(address.0.wrapping_sub(1)),
        }
    }

    /// The address as it was found.
    pub fn address(self) -> Avma {
        match self {
            Self::Instruction(address) | Self::Return(address) => address,
        }
    }
}

/// The reason why a stack has no code address at this place. Each is shown as a frame named `[…]`,
/// so that no weight is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The stack is deeper than the walk goes.
    Truncated,
    /// The walk met an address without unwind information or one it could not read.
    Broken,
    /// A blocked thread's frame needs a frame pointer, which the kernel does not report.
    FramePointerUnknown,
    /// A task that parked before the session began.
    ParkedBeforeSession,
    /// The thread blocks the sampling signal.
    SignalsBlocked,
    /// The thread or task ended while it was being sampled.
    Gone,
    /// No task could be chosen.
    NoTask,
    /// The interpreter's stack is deeper than the walk goes.
    PythonTruncated,
    /// The interpreter's stack could not be read to its end.
    PythonBroken,
    /// A code object whose names could not be kept.
    PythonUnnamed,
    /// Native frames and the interpreter's do not fit together.
    Unmerged,
    /// The recording had no room for another path to the innermost frame.
    NotKept,
    /// The thread waited, for too short a time to be read.
    Unread,
    /// No gap: the interpreter ran the frames above to collect garbage.
    Collecting,
    /// CPU time that the kernel counted for a process that ended before a sample of it was due.
    TooShort,
    /// CPU time that the kernel counted for a process beyond the time its samples can stand for.
    NotSampled,
    /// No frame of the interpreter could be read. It is the innermost one: the native function left
    /// below may not be the one that used the time.
    PythonUnreadable,
}

impl Reason {
    /// Every reason, in the order of their codes in saved files.
    pub const ALL: [Reason; 17] = [
        Reason::Truncated,
        Reason::Broken,
        Reason::FramePointerUnknown,
        Reason::ParkedBeforeSession,
        Reason::SignalsBlocked,
        Reason::Gone,
        Reason::NoTask,
        Reason::PythonTruncated,
        Reason::PythonBroken,
        Reason::PythonUnnamed,
        Reason::Unmerged,
        Reason::NotKept,
        Reason::Unread,
        Reason::Collecting,
        Reason::TooShort,
        Reason::NotSampled,
        Reason::PythonUnreadable,
    ];

    /// Whether a part of the stack is missing there.
    pub fn is_gap(self) -> bool {
        self != Self::Collecting
    }

    /// Whether the innermost function is unknown, because the stack was not read at all. A stack
    /// that is cut at its root still has it.
    pub fn hides_the_function(self) -> bool {
        matches!(
            self,
            Self::SignalsBlocked
                | Self::Gone
                | Self::PythonUnnamed
                | Self::Unread
                | Self::TooShort
                | Self::NotSampled
                | Self::PythonUnreadable
        )
    }

    /// The name that reports show.
    pub fn name(self) -> &'static str {
        match self {
            Self::Truncated => "[truncated]",
            Self::Broken => "[broken stack]",
            Self::FramePointerUnknown => "[rbp unknown]",
            Self::ParkedBeforeSession => "[parked before the session]",
            Self::SignalsBlocked => "[signals blocked]",
            Self::Gone => "[failed to stop the thread]",
            Self::NoTask => "[failed to sample a task]",
            Self::PythonTruncated => "[truncated Python stack]",
            Self::PythonBroken => "[broken Python stack]",
            Self::PythonUnnamed => "[unnamed Python code]",
            Self::Unmerged => "[native and Python do not fit]",
            Self::NotKept => "[callers not kept]",
            Self::Unread => "[waited too short to be read]",
            Self::Collecting => "[garbage collection]",
            Self::TooShort => "[too short to be sampled]",
            Self::NotSampled => "[not sampled]",
            Self::PythonUnreadable => "[Python, not readable]",
        }
    }
}

/// The meaning of a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LocationKind {
    /// Machine code.
    Code(CodeAddress),
    /// A reason why the stack has no address here.
    Reason(Reason),
    /// A line of interpreted code. It has its name from the start, and is identified by it.
    Python {
        /// The function at the line.
        frame: FrameId,
        /// The column of the expression, from 1; 0 where it is unknown.
        column: u16,
        /// Whether the instruction calls something: native time above it is then the callee's,
        /// not the interpreter's own.
        is_call: bool,
    },
    /// The wait of a blocked thread, innermost in its stack. It has its name from the start, and is
    /// identified by it.
    Wait {
        /// Its name.
        frame: FrameId,
        /// Its kind.
        wait: Wait,
    },
    /// Made from text: identified by its number alone. Julia's invented addresses are these too.
    Invented(u64),
    /// One frame of another location, alone: a transform took frames of the stack away.
    Part {
        /// The location as recorded.
        of: LocationId,
        /// The number of the frame there.
        frame: u16,
        /// The kind of the time that ends here, where the frames that would tell are gone.
        ends: Option<Ends>,
    },
}

/// The kind of the time that ends in a location, as it was with all frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ends {
    /// The kind.
    pub kind: Kind,
    /// The library of native time.
    pub library: Option<ModuleId>,
}

/// A place in the program, with its names once they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The finding of the walk.
    pub kind: LocationKind,
    /// The module that the address lies in.
    pub module: Option<ModuleId>,
    /// Innermost inlined callee first, the real function last. Empty until named; a location that
    /// was looked up in vain holds one frame with an empty function.
    pub frames: Box<[FrameId]>,
}

/// Locations by id, distinct by kind and module.
///
/// The module is part of the key because a library can be unloaded and another one loaded at
/// the same address during one recording.
#[derive(Debug, Clone, Default)]
pub struct LocationTable {
    locations: Vec<Location>,
    ids: FxHashMap<(LocationKind, Option<ModuleId>), LocationId>,
}

impl LocationTable {
    /// The id of the location, which is added without names when it is new.
    pub fn intern(&mut self, kind: LocationKind, module: Option<ModuleId>) -> LocationId {
        *self.ids.entry((kind, module)).or_insert_with(|| {
            let id = LocationId::from_index(self.locations.len());
            self.locations.push(Location {
                kind,
                module,
                frames: Box::default(),
            });
            id
        })
    }

    /// The row of `id`.
    pub fn get(&self, id: LocationId) -> &Location {
        &self.locations[id.index()]
    }

    /// Names a location, replacing the names it had.
    pub fn set_frames(&mut self, id: LocationId, frames: &[FrameId]) {
        self.locations[id.index()].frames = frames.into();
    }

    /// The number of locations.
    pub fn len(&self) -> usize {
        self.locations.len()
    }

    /// True if there are no locations.
    pub fn is_empty(&self) -> bool {
        self.locations.is_empty()
    }

    /// All rows in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (LocationId, &Location)> {
        self.locations
            .iter()
            .enumerate()
            .map(|(i, row)| (LocationId::from_index(i), row))
    }
}
