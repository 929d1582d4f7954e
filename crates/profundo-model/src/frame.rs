//! Frames: a function at a line. Two addresses on one line share a frame, which is what lets a
//! report combine them.

use rustc_hash::FxHashMap;

use crate::{FileId, FrameId, StringId};

/// The language of a frame, which decides whether it is shown by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Language {
    /// Compiled from Rust, by its debug information or its mangling.
    Rust,
    /// C, C++, assembly, or nobody knows: Julia calls all of these "C frames".
    #[default]
    Native,
    /// CPython bytecode.
    Python,
    /// JavaScript, compiled while the program ran.
    JavaScript,
    /// Julia, compiled while the program ran.
    Julia,
    /// Code that another program made while it ran: numba's, LuaJIT's, wasmtime's.
    Generated,
    /// Native code of the interpreter or the runtime itself, and what starts a program or a
    /// thread: plumbing, which nobody asked for.
    Runtime,
    /// Made by us: a reason why a stack ends here.
    Synthetic,
}

/// A function at a line: Julia's frame identity `(func, file, line, from_c, inlined)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Frame {
    /// The bare name; empty where it is unknown.
    pub function: StringId,
    /// The name with its parameters or generics, where more than the bare name is known; else empty.
    pub signature: StringId,
    /// The source file; row 0 where it is unknown.
    pub file: FileId,
    /// The line, from 1; 0 where it is unknown.
    pub line: u32,
    /// Whose code it is.
    pub language: Language,
    /// Whether the compiler inlined this function into the next outer frame.
    pub inlined: bool,
}

impl Frame {
    /// Julia's `from_c`: hidden unless a report is asked for C frames.
    pub fn is_c(&self) -> bool {
        matches!(self.language, Language::Native | Language::Runtime)
    }
}

/// A frame in plain text, to make one by hand: see [`crate::Profile::frame`].
#[derive(Debug, Clone, Copy, Default)]
pub struct FrameKey<'a> {
    /// The bare name.
    pub function: &'a str,
    /// The name with parameters, or empty.
    pub signature: &'a str,
    /// The raw path.
    pub file: &'a str,
    /// The short form's prefix (`@std`), or empty.
    pub prefix: &'a str,
    /// The short form's rest; empty means "the path itself".
    pub rest: &'a str,
    /// The line, 0 where unknown.
    pub line: u32,
    /// Whose code it is.
    pub language: Language,
    /// Whether it was inlined.
    pub inlined: bool,
}

/// Frames by id; equal frames have equal ids.
#[derive(Debug, Clone, Default)]
pub struct FrameTable {
    frames: Vec<Frame>,
    ids: FxHashMap<Frame, FrameId>,
}

impl FrameTable {
    /// The id of `frame`, which is added when it is new.
    pub fn intern(&mut self, frame: Frame) -> FrameId {
        *self.ids.entry(frame).or_insert_with(|| {
            let id = FrameId::from_index(self.frames.len());
            self.frames.push(frame);
            id
        })
    }

    /// The row of `id`.
    pub fn get(&self, id: FrameId) -> &Frame {
        &self.frames[id.index()]
    }

    /// How many frames there are.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// All rows in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Frame> {
        self.frames.iter()
    }
}
