//! The locations that expressions match. Each distinct name, file and library is tested once.

use profundo_model::{
    FileId, FrameId, LocationId, LocationKind, Profile, Reason, StringId, c_name, python_name,
};
use rustc_hash::FxHashMap;

use super::library::{Libraries, Library};
use crate::expression::Expression;

/// The part of a frame that an expression is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Its function, its source file, and the file of its machine code.
    Any,
    /// Its function.
    Function,
    /// Its source file.
    File,
    /// Its library.
    Library,
}

/// By location, whether any of its frames matches any of the expressions.
///
/// Time that no sample covers is no frame of the program, and matches none.
pub(crate) fn matching(profile: &Profile, expressions: &[Expression], by: By) -> Vec<bool> {
    if expressions.is_empty() {
        return vec![false; profile.locations.len()];
    }
    let mut tested = Tested::new(profile, expressions);
    let libraries = (by == By::Library).then(|| Libraries::new(profile));
    let mut by_library = FxHashMap::default();
    let is_match = |(id, location): (LocationId, &profundo_model::Location)| {
        if is_counted(location.kind) {
            return false;
        }
        if let Some(libraries) = &libraries {
            let Some(library) = libraries.of(id) else {
                return false;
            };
            return *by_library
                .entry(library)
                .or_insert_with(|| tested.library(libraries.get(library)));
        }
        let mut frames = location.frames.iter();
        let module = location.module.filter(|_| by == By::Any);
        frames.any(|&frame| tested.frame(frame, by))
            || module.is_some_and(|module| tested.string(profile.modules.get(module).path))
    };
    profile.locations.iter().map(is_match).collect()
}

/// By frame, whether it matches any of the expressions, as far as its function and its file tell.
pub(crate) fn matching_frames(profile: &Profile, expressions: &[Expression], by: By) -> Vec<bool> {
    let mut tested = Tested::new(profile, expressions);
    let frames = (0..profile.frames.len()).map(FrameId::from_index);
    match by {
        By::Library => {
            let libraries = Libraries::new(profile);
            let is_match = |frame: FrameId| {
                let library = libraries.of_file(profile.frames.get(frame).file);
                library.is_some_and(|library| tested.library(libraries.get(library)))
            };
            frames.map(is_match).collect()
        }
        _ => frames.map(|frame| tested.frame(frame, by)).collect(),
    }
}

/// Whether a location stands for CPU time that the kernel counted and no sample covers.
pub(super) fn is_counted(kind: LocationKind) -> bool {
    matches!(
        kind,
        LocationKind::Reason(Reason::TooShort | Reason::NotSampled)
    )
}

/// Whether a location is no code, but tells of a wait or of a part that is missing. Frames like
/// these stay where only some functions are shown.
pub(super) fn is_no_code(kind: LocationKind) -> bool {
    matches!(kind, LocationKind::Reason(_) | LocationKind::Wait { .. })
}

/// The answers so far, by string and by file.
struct Tested<'a> {
    profile: &'a Profile,
    expressions: &'a [Expression],
    functions: Vec<Option<bool>>,
    strings: Vec<Option<bool>>,
    files: Vec<Option<bool>>,
}

impl<'a> Tested<'a> {
    fn new(profile: &'a Profile, expressions: &'a [Expression]) -> Self {
        Self {
            profile,
            expressions,
            functions: vec![None; profile.strings.len()],
            strings: vec![None; profile.strings.len()],
            files: vec![None; profile.files.len()],
        }
    }

    fn frame(&mut self, frame: FrameId, by: By) -> bool {
        let frame = self.profile.frames.get(frame);
        let by_function = matches!(by, By::Any | By::Function)
            && (self.function(frame.function) || self.function(frame.signature));
        by_function || matches!(by, By::Any | By::File) && self.file(frame.file)
    }

    fn library(&self, library: &Library) -> bool {
        self.text(&library.name) || self.text(&library.path)
    }

    fn text(&self, text: &str) -> bool {
        !text.is_empty() && self.expressions.iter().any(|one| one.is_match(text))
    }

    fn string(&mut self, id: StringId) -> bool {
        if let Some(known) = self.strings[id.index()] {
            return known;
        }
        let answer = self.text(self.profile.strings.get(id));
        self.strings[id.index()] = Some(answer);
        answer
    }

    /// A function by its name, or by either of two: `sorted` and `builtin_sorted`.
    fn function(&mut self, id: StringId) -> bool {
        if let Some(known) = self.functions[id.index()] {
            return known;
        }
        let name = self.profile.strings.get(id);
        let answer = self.text(name)
            || python_name(name).is_some_and(|name| self.text(name))
            || self.text(c_name(name));
        self.functions[id.index()] = Some(answer);
        answer
    }

    /// A source file by its path, or by its short form.
    fn file(&mut self, id: FileId) -> bool {
        if let Some(known) = self.files[id.index()] {
            return known;
        }
        let file = self.profile.files.get(id);
        let strings = &self.profile.strings;
        let (prefix, rest) = (strings.get(file.prefix), strings.get(file.rest));
        let answer = self.text(strings.get(file.path))
            || !prefix.is_empty() && self.text(&format!("{prefix}/{rest}"));
        self.files[id.index()] = Some(answer);
        answer
    }
}
