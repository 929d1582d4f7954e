//! The names of functions whose interpreter knows only bare ones: CPython before 3.11.
//!
//! The maker of the profile may know more about a file. Without that, functions of one name in one
//! file are distinguished by the line that they begin on.

use std::fmt;

use profundo_cpython::version;
use profundo_model::{FileId, Profile, StringId};
use rustc_hash::FxHashMap;

/// Gives the qualified name of a function by its file, its name and its first line.
pub type QualifiedNames = Box<dyn FnMut(&str, &str, u32) -> Option<String> + Send>;

/// The names that were given so far.
#[derive(Default)]
pub(crate) struct Qualified {
    source: Option<QualifiedNames>,
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
    /// Sets the source of qualified names.
    pub(crate) fn set_source(&mut self, names: QualifiedNames) {
        self.source = Some(names);
    }

    /// The name of a code object that the interpreter calls `name`.
    pub(crate) fn name(
        &mut self,
        profile: &mut Profile,
        minor: u8,
        file: FileId,
        name: &str,
        first_line: i32,
    ) -> StringId {
        let bare = profile.strings.intern(name);
        let is_bare = !version::has_qualified_names(minor);
        let Some(line) = u32::try_from(first_line).ok().filter(|_| is_bare) else {
            return bare;
        };
        let path = profile.strings.get(profile.files.get(file).path);
        let found = self.source.as_mut();
        let found = found.and_then(|source| source(path, name, line));
        if let Some(found) = found {
            return profile.strings.intern(&found);
        }
        if *self.first.entry((file, bare)).or_insert(first_line) == first_line {
            return bare;
        }
        (profile.strings).intern(&format!("{name} (line {first_line})"))
    }
}
