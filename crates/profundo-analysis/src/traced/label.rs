//! Python's name of a function in a table of calls: its file, its first line and its name.

use std::borrow::Cow;

use profundo_model::{FileId, Language, Profile};

use crate::Place;

/// The name of a function, in three parts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallLabel<'a> {
    /// The path; `~` for a builtin of the interpreter.
    pub file: &'a str,
    /// The first line, or 0.
    pub line: u32,
    /// The name; that of a builtin is in angle brackets.
    pub name: Cow<'a, str>,
}

impl<'a> CallLabel<'a> {
    /// The name of a place's function.
    pub fn of(profile: &'a Profile, place: Place) -> Self {
        let frame = match place {
            Place::Frame(frame) => profile.frames.get(frame),
            Place::Reason(reason) => return Self::built_in(reason.name()),
            Place::Unknown => return Self::built_in("unknown"),
        };
        let name = profile.strings.get(frame.function);
        if frame.file == FileId(0) && frame.language != Language::Python {
            return Self::built_in(name);
        }
        Self {
            file: profile.strings.get(profile.files.get(frame.file).path),
            line: frame.line,
            name: Cow::Borrowed(name),
        }
    }

    fn built_in(name: &str) -> Self {
        Self {
            file: "~",
            line: 0,
            name: Cow::Owned(format!("<{name}>")),
        }
    }

    /// Like [`of`](Self::of), but with the bare name of the file.
    pub fn without_folder(self) -> Self {
        Self {
            file: self.file.rsplit('/').next().unwrap_or(self.file),
            ..self
        }
    }

    /// All in one, like `pstats`: `app.py:12(main)`, and `{built-in method builtins.len}`.
    pub fn standard_name(&self) -> String {
        let Self { file, line, name } = self;
        if (*file, *line) != ("~", 0) {
            return format!("{file}:{line}({name})");
        }
        let inside = name
            .strip_prefix('<')
            .and_then(|rest| rest.strip_suffix('>'));
        match inside {
            Some(inside) => format!("{{{inside}}}"),
            None => name.clone().into_owned(),
        }
    }
}
