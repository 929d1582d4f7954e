//! The code of one side of a comparison: its functions, and the text of its files as far as the
//! recordings carry it. All recordings of a side are of one version of the program, so a function
//! is one in all of them if its name and its file are the same.

use std::collections::{BTreeMap, BTreeSet};

use profundo_model::{FileId, Fingerprint, Language, Profile, SourceFile, StringId, c_name};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Place;

/// A function of one side.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub name: &'a str,
    pub path: &'a str,
    pub language: Language,
    /// The lines at which it was seen.
    pub lines: BTreeSet<u32>,
}

/// The text of a file, as far as it was kept.
#[derive(Debug, Default)]
pub(crate) struct Text<'a> {
    pub lines: BTreeMap<u32, &'a str>,
    pub fingerprint: Option<Fingerprint>,
}

/// The code of one side.
#[derive(Debug)]
pub(crate) struct Code<'a> {
    pub functions: Vec<Function<'a>>,
    pub files: FxHashMap<&'a str, Text<'a>>,
    numbers: FxHashMap<(&'a str, &'a str), u32>,
    /// By run and frame, the function.
    by_frame: Vec<Vec<u32>>,
    profiles: Vec<&'a Profile>,
}

impl<'a> Code<'a> {
    pub(super) fn new(profiles: &[&'a Profile]) -> Self {
        let mut code = Self {
            functions: Vec::new(),
            files: FxHashMap::default(),
            numbers: FxHashMap::default(),
            by_frame: Vec::new(),
            profiles: profiles.to_vec(),
        };
        for profile in profiles {
            code.add_functions(profile);
            code.add_texts(profile);
        }
        code
    }

    fn add_functions(&mut self, profile: &'a Profile) {
        let mut known: FxHashMap<(StringId, FileId), u32> = FxHashMap::default();
        let mut by_frame = Vec::with_capacity(profile.frames.len());
        for frame in profile.frames.iter() {
            let number = *known
                .entry((frame.function, frame.file))
                .or_insert_with(|| {
                    // Python's name of a C function is known in some recordings only.
                    let name = c_name(profile.strings.get(frame.function));
                    let path = profile.strings.get(profile.files.get(frame.file).path);
                    self.number(name, path, frame.language)
                });
            if frame.line > 0 {
                self.functions[number as usize].lines.insert(frame.line);
            }
            by_frame.push(number);
        }
        self.by_frame.push(by_frame);
    }

    fn number(&mut self, name: &'a str, path: &'a str, language: Language) -> u32 {
        *self.numbers.entry((name, path)).or_insert_with(|| {
            self.functions.push(Function {
                name,
                path,
                language,
                lines: BTreeSet::new(),
            });
            u32::try_from(self.functions.len() - 1).expect("fewer than 2^32 functions")
        })
    }

    fn add_texts(&mut self, profile: &'a Profile) {
        for (file, line, text) in profile.sources.iter() {
            let path = profile.strings.get(profile.files.get(file).path);
            let text = profile.strings.get(text);
            let lines = &mut self.files.entry(path).or_default().lines;
            lines.insert(line, text);
        }
        for (&file, state) in &profile.source_files {
            if let SourceFile::Ran(fingerprint) = state {
                let path = profile.strings.get(profile.files.get(file).path);
                self.files.entry(path).or_default().fingerprint = Some(*fingerprint);
            }
        }
    }

    /// The function of this name and file, if there is one.
    pub(super) fn find(&self, name: &str, path: &str) -> Option<u32> {
        self.numbers.get(&(name, path)).copied()
    }

    /// The path of a file that has functions or text.
    pub(super) fn path(&self, path: &str) -> Option<&'a str> {
        let known = self.functions.iter().map(|function| function.path);
        known
            .chain(self.files.keys().copied())
            .find(|known| *known == path)
    }

    /// The function at a place of a run. Reasons and unnamed code are functions of their names.
    pub(super) fn of(&mut self, run: usize, place: Place) -> u32 {
        match place {
            Place::Frame(frame) => self.by_frame[run][frame.index()],
            Place::Reason(reason) => self.number(reason.name(), "", Language::Synthetic),
            Place::Unknown => self.number("", "", Language::Native),
        }
    }

    /// The pairs of caller and callee among these functions and all others, without the plumbing
    /// of interpreters between them.
    pub(super) fn neighbours(&self, of: &FxHashSet<u32>) -> FxHashMap<u32, [FxHashSet<u32>; 2]> {
        const NONE: u32 = u32::MAX;
        let mut found: FxHashMap<u32, [FxHashSet<u32>; 2]> = FxHashMap::default();
        for (profile, by_frame) in self.profiles.iter().zip(&self.by_frame) {
            // By stack, the innermost function that is no plumbing.
            let mut innermost: Vec<u32> = Vec::with_capacity(profile.stacks.len());
            for stack in profile.stacks.iter() {
                let mut caller = stack
                    .parent
                    .map_or(NONE, |parent| innermost[parent.index()]);
                for &frame in profile.locations.get(stack.location).frames.iter().rev() {
                    let function = by_frame[frame.index()];
                    if profile.frames.get(frame).language == Language::Runtime {
                        continue;
                    }
                    if caller != NONE && caller != function {
                        if of.contains(&function) {
                            found.entry(function).or_default()[0].insert(caller);
                        }
                        if of.contains(&caller) {
                            found.entry(caller).or_default()[1].insert(function);
                        }
                    }
                    caller = function;
                }
                innermost.push(caller);
            }
        }
        found
    }
}
