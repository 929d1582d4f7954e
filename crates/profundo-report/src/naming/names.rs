//! Short names for places: the function, and its file and line without what all files share.

use std::borrow::Cow;

use profundo_analysis::{Place, Rules};
use profundo_model::{FileId, Frame, Language, Profile};

use crate::naming::label::{Label, NO_FUNCTION, separator};

/// Names in one report.
#[derive(Debug)]
pub struct Names<'a> {
    profile: &'a Profile,
    /// The folder that the reader's own files are in, with its slash.
    common: String,
}

impl<'a> Names<'a> {
    /// Names for these files, the most important one first: the folder that is left out is its.
    pub fn new(profile: &'a Profile, files: impl IntoIterator<Item = FileId>) -> Self {
        let rules = Rules::new(&profile.meta.mine);
        let mut common: Option<&str> = None;
        for file in files {
            let row = profile.files.get(file);
            let path = profile.strings.get(row.path);
            let prefix = profile.strings.get(row.prefix);
            if !prefix.is_empty() || !path.starts_with('/') || rules.is_library_file(path) {
                continue;
            }
            let folder = &path[..=path.rfind('/').unwrap_or(0)];
            common = Some(match common {
                None => folder,
                // Files that share next to nothing with it keep their whole path.
                Some(common) => Some(shared_folder(common, folder))
                    .filter(|shared| shared.matches('/').count() > 2)
                    .unwrap_or(common),
            });
        }
        Self {
            profile,
            common: common.unwrap_or("").to_owned(),
        }
    }

    /// Names for whatever is in the profile, the folder of its Python being the one that is left
    /// out.
    pub(crate) fn of_all(profile: &'a Profile) -> Self {
        let is_python = |frame: &&Frame| frame.language == Language::Python;
        let (python, others): (Vec<&Frame>, Vec<&Frame>) =
            profile.frames.iter().partition(is_python);
        Self::new(
            profile,
            python.into_iter().chain(others).map(|frame| frame.file),
        )
    }

    /// Names for the files of these places.
    pub(crate) fn of_places(profile: &'a Profile, places: impl IntoIterator<Item = Place>) -> Self {
        let files = places.into_iter().filter_map(|place| match place {
            Place::Frame(frame) => Some(profile.frames.get(frame).file),
            _ => None,
        });
        Self::new(profile, files)
    }

    /// The bare name of a place's function, or the reason why there is none.
    pub fn function(&self, place: Place) -> &'a str {
        match Label::of(self.profile, place) {
            Label::Frame(frame) => match self.profile.strings.get(frame.function) {
                "" => NO_FUNCTION,
                name => name,
            },
            Label::Reason(reason) => reason,
            Label::Unknown => NO_FUNCTION,
        }
    }

    /// The name where no place follows: code without a name gets its module's.
    pub fn alone(&self, place: Place) -> Cow<'a, str> {
        let (name, at) = (self.function(place), self.at(place));
        match name {
            NO_FUNCTION if !at.is_empty() => {
                format!("[unknown in {}]", at.trim_matches(['[', ']'])).into()
            }
            name => name.into(),
        }
    }

    /// The short form of a file's path.
    pub fn file(&self, file: FileId) -> String {
        let (prefix, rest) = self.parts(file);
        format!("{prefix}{}{rest}", separator(prefix, rest))
    }

    /// The abbreviation of the folder, and the rest.
    pub(crate) fn parts(&self, file: FileId) -> (&'a str, &'a str) {
        let row = self.profile.files.get(file);
        let prefix = self.profile.strings.get(row.prefix);
        let rest = self.profile.strings.get(row.rest);
        if !prefix.is_empty() {
            return (prefix, rest);
        }
        let inside = rest.strip_prefix(&self.common);
        match inside.filter(|_| !self.common.is_empty()) {
            Some(inside) => ("", inside),
            None => ("", inside_library(rest)),
        }
    }

    /// `file:line` of a place; empty where the file is not known. Without a line, the file is the
    /// module that the code is in, whose name is enough.
    pub fn at(&self, place: Place) -> String {
        let line = match Label::of(self.profile, place) {
            Label::Frame(frame) => frame.line,
            Label::Reason(_) | Label::Unknown => 0,
        };
        self.at_line(place, line)
    }

    /// The same of a place that counts for a line of its file.
    pub(crate) fn at_line(&self, place: Place, line: u32) -> String {
        match Label::of(self.profile, place) {
            Label::Frame(frame) if frame.file != FileId(0) => match line {
                0 => {
                    let file = self.file(frame.file);
                    let file = file.rsplit('/').next().unwrap_or(&file);
                    let function = self.profile.strings.get(frame.function);
                    // A function that is named by its place in the file shows its place.
                    match function.strip_prefix(file) {
                        Some(rest) if rest.starts_with("+0x") => String::new(),
                        _ => file.to_owned(),
                    }
                }
                line => format!("{}:{line}", self.file(frame.file)),
            },
            _ => String::new(),
        }
    }
}

/// The longest folder that two folders are in, with its slash.
fn shared_folder<'a>(a: &'a str, b: &str) -> &'a str {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let slash = a.as_bytes()[..same].iter().rposition(|&byte| byte == b'/');
    &a[..slash.map_or(0, |slash| slash + 1)]
}

/// The path of a Python library's file from where its packages lie.
fn inside_library(path: &str) -> &str {
    for folder in ["/site-packages/", "/dist-packages/"] {
        if let Some((_, inside)) = path.rsplit_once(folder) {
            return inside;
        }
    }
    for lib in ["/lib/python", "/lib64/python"] {
        if let Some((_, after)) = path.split_once(lib)
            && after.starts_with(|character: char| character.is_ascii_digit())
            && let Some((_, inside)) = after.split_once('/')
        {
            return inside;
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_own_files_share_is_left_out() {
        let mut profile = Profile::default();
        let mut file = |path: &str| profile.file(path, "", "");
        let files = [
            file("/home/me/work/app.py"),
            file("/home/me/work/lib/x.py"),
            file("/usr/lib/python3.12/random.py"),
            file("/venv/lib/python3.12/site-packages/numpy/core/numeric.py"),
            file("relative.py"),
        ];
        let names = Names::new(&profile, files);
        let short: Vec<String> = files.iter().map(|&file| names.file(file)).collect();
        assert_eq!(
            short,
            [
                "app.py",
                "lib/x.py",
                "random.py",
                "numpy/core/numeric.py",
                "relative.py"
            ]
        );
        // Folders are shared by whole names; what lies elsewhere keeps its path.
        let mut profile = Profile::default();
        let a = profile.file("/home/me/a.py", "", "");
        let b = profile.file("/hom/b.py", "", "");
        let names = Names::new(&profile, [a, b]);
        assert_eq!(
            (names.file(a), names.file(b)),
            ("a.py".into(), "/hom/b.py".into())
        );
    }
}
