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
    /// C, C++, assembly or unknown: Julia calls all of these "C frames".
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
    /// Native code of the interpreter or the runtime itself, and the code that starts a program or
    /// a thread: plumbing.
    Runtime,
    /// Made by us: the reason why a stack ends here.
    Synthetic,
}

/// A function at a line: Julia's frame identity `(func, file, line, from_c, inlined)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Frame {
    /// The bare name; empty where unknown.
    pub function: StringId,
    /// The name with its parameters or generics; empty where only the bare name is known.
    pub signature: StringId,
    /// The source file; row 0 where unknown.
    pub file: FileId,
    /// The line, from 1; 0 where unknown.
    pub line: u32,
    /// The language of the code.
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
    /// The language of the code.
    pub language: Language,
    /// True for an inlined function.
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

    /// Changes the language of a frame. Where another frame becomes equal to it, both stay.
    pub fn set_language(&mut self, id: FrameId, language: Language) {
        let Some(frame) = self.frames.get_mut(id.index()) else {
            return;
        };
        self.ids.remove(frame);
        frame.language = language;
        self.ids.entry(*frame).or_insert(id);
    }

    /// The row of `id`.
    pub fn get(&self, id: FrameId) -> &Frame {
        &self.frames[id.index()]
    }

    /// The number of frames.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// True if there are no frames.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// All rows in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Frame> {
        self.frames.iter()
    }
}
