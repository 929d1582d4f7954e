//! The names of functions whose interpreter knows only bare ones: CPython before 3.11.
//!
//! Whoever makes the profile may know more of a file. Where nobody does, functions of one name in one file are told apart by
//! the line that they begin on.

use std::fmt;

use profundo_model::{FileId, Profile, StringId};
use rustc_hash::FxHashMap;

/// Gives the qualified name of the function in this file with this name, which begins on this line.
pub type QualifiedNames = Box<dyn FnMut(&str, &str, u32) -> Option<String> + Send>;

/// The names that were given so far.
#[derive(Default)]
pub(crate) struct Qualified {
    names: Option<QualifiedNames>,
    /// By file and bare name, the line of the first function that kept it.
    first: FxHashMap<(FileId, StringId), i32>,
}

impl fmt::Debug for Qualified {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (formatter.debug_struct("Qualified"))
            .field("first", &self.first)
            .finish_non_exhaustive()
    }
}

impl Qualified {
    pub(crate) fn ask(&mut self, names: QualifiedNames) {
        self.names = Some(names);
    }

    /// What a code object is called whose interpreter says `name`.
    pub(crate) fn name(
        &mut self,
        profile: &mut Profile,
        minor: u8,
        file: FileId,
        name: &str,
        first_line: i32,
    ) -> StringId {
        /// From here on, code objects have their qualified names.
        const KNOWN: u8 = 11;
        let bare = profile.strings.intern(name);
        let Some(line) = u32::try_from(first_line).ok().filter(|_| minor < KNOWN) else {
            return bare;
        };
        let path = profile.strings.get(profile.files.get(file).path);
        let found = self.names.as_mut().and_then(|ask| ask(path, name, line));
        if let Some(found) = found {
            return profile.strings.intern(&found);
        }
        if *self.first.entry((file, bare)).or_insert(first_line) == first_line {
            return bare;
        }
        (profile.strings).intern(&format!("{name} (line {first_line})"))
    }
}
