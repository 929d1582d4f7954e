//! A frame in plain text: Julia's `StackFrame`, which means the same on every machine.

use profundo_model::{FrameId, FrameKey, Language, Profile};

/// A function at a line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StackFrame {
    /// The function's name; empty where it is unknown.
    pub func: String,
    /// The name with parameters, where known; else empty.
    pub signature: String,
    /// The source file's path, or the library's where only that is known.
    pub file: String,
    /// `@std`, `@my-crate` …, or empty.
    pub prefix: String,
    /// The path after the prefix.
    pub rest: String,
    /// The line, from 1; 0 where it is unknown.
    pub line: u32,
    /// The owner of the code.
    pub language: Language,
    /// Whether the compiler inlined it into the next outer frame.
    pub inlined: bool,
    /// The address that was looked up.
    pub pointer: u64,
}

impl StackFrame {
    /// Whether the frame is hidden unless C frames are asked for.
    pub fn from_c(&self) -> bool {
        self.language == Language::Native
    }

    pub(crate) fn of(profile: &Profile, id: FrameId, pointer: u64) -> Self {
        let frame = *profile.frames.get(id);
        let file = profile.files.get(frame.file);
        let text = |id| profile.strings.get(id).to_owned();
        Self {
            func: text(frame.function),
            signature: text(frame.signature),
            file: text(file.path),
            prefix: text(file.prefix),
            rest: text(file.rest),
            line: frame.line,
            language: frame.language,
            inlined: frame.inlined,
            pointer,
        }
    }

    pub(crate) fn intern(&self, profile: &mut Profile) -> FrameId {
        profile.frame(FrameKey {
            function: &self.func,
            signature: &self.signature,
            file: &self.file,
            prefix: &self.prefix,
            rest: &self.rest,
            line: self.line,
            language: self.language,
            inlined: self.inlined,
        })
    }
}

impl std::fmt::Display for StackFrame {
    /// `func at @crate/src/file.rs:7`, as reports show it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let or = |text: &'_ String, other: &'_ str| {
            if text.is_empty() {
                other.to_owned()
            } else {
                text.clone()
            }
        };
        let func = or(&self.func, "unknown function");
        let file = format!("{}{}", self.prefix, or(&self.rest, &self.file));
        match self.line {
            _ if self.file.is_empty() => write!(f, "{func} (ip: {:#x})", self.pointer)?,
            0 => write!(f, "{func} at {file} (unknown line)")?,
            line => write!(f, "{func} at {file}:{line}")?,
        }
        if self.inlined {
            write!(f, " [inlined]")
        } else {
            Ok(())
        }
    }
}
