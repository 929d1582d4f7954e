//! The code objects of one process: the function and the line of an instruction.

use std::path::{Path, PathBuf};

use profundo_cpython::lines;
use profundo_model::{
    CodeObject, Frame, Language, LocationId, LocationKind, ProcessId, Profile, StringId,
};
use profundo_wire::Code;
use rustc_hash::FxHashMap;

use crate::qualified::Qualified;

/// The parts of a code object that stacks need.
#[derive(Debug)]
struct Object {
    code: CodeObject,
    /// The instructions that were looked up already.
    known: FxHashMap<(i32, bool), LocationId>,
}

/// The code objects, by the numbers that frames refer to.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    objects: FxHashMap<u32, Object>,
    /// The initial working directory of the process; empty where unknown.
    directory: String,
    command: String,
}

impl Codes {
    /// Takes in the initial working directory of the process and its command line.
    pub(crate) fn began(&mut self, directory: String, command: &str) {
        self.directory = directory;
        self.command = command.to_owned();
    }

    /// The initial working directory of the process; empty where unknown.
    pub(crate) fn directory(&self) -> &str {
        &self.directory
    }

    /// The file of a code object. Up to Python 3.8, the main program has the name from the command
    /// line, and modules of a relative folder in `sys.path` have a name that begins there: both are
    /// relative to the initial working directory. Other relative names (`<string>`, `fast.pyx`) are
    /// no files of that directory.
    fn path(&self, name: String) -> String {
        let is_special = name.is_empty() || name.starts_with(['/', '<']);
        if is_special || !self.directory.starts_with('/') {
            return name;
        }
        let is_given = || {
            self.command
                .split_ascii_whitespace()
                .any(|word| word == name)
        };
        if !name.ends_with(".py") && !is_given() {
            return name;
        }
        // Without the dots of `./app.py`.
        let path: PathBuf = Path::new(&self.directory)
            .join(&name)
            .components()
            .collect();
        path.into_os_string().into_string().unwrap_or(name)
    }

    /// Takes in a code object; returns whether its number had another one until now.
    pub(crate) fn add(
        &mut self,
        profile: &mut Profile,
        process: ProcessId,
        code: &Code<'_>,
        names: &mut Qualified,
    ) -> bool {
        let path = self.path(code.file.characters().collect());
        let name: String = code.name.characters().collect();
        let (minor, first_line) = (code.head.minor, code.head.first_line);
        let file = profile.file(&path, "", "");
        let code = CodeObject {
            process,
            number: code.head.number,
            minor,
            first_line,
            file,
            name: names.name(profile, minor, file, &name, first_line),
            lines: code.lines.bytes().collect(),
        };
        let is_new = self.restore(&code);
        profile.growing.codes.push(code);
        !is_new
    }

    /// Takes in a code object of the profile; returns whether its number was free until now.
    pub(crate) fn restore(&mut self, code: &CodeObject) -> bool {
        let object = Object {
            code: code.clone(),
            known: FxHashMap::default(),
        };
        self.objects.insert(code.number, object).is_none()
    }

    /// The qualified name of a code object.
    pub(crate) fn name(&self, number: u32) -> Option<StringId> {
        self.objects.get(&number).map(|object| object.code.name)
    }

    /// The location of an instruction; `None` for unknown code.
    pub(crate) fn location(
        &mut self,
        profile: &mut Profile,
        number: u32,
        offset: i32,
        is_call: bool,
    ) -> Option<LocationId> {
        let object = self.objects.get_mut(&number)?;
        if let Some(&location) = object.known.get(&(offset, is_call)) {
            return Some(location);
        }
        let (line, column) = object.position(offset);
        let frame = profile.frames.intern(Frame {
            function: object.code.name,
            file: object.code.file,
            line,
            language: Language::Python,
            ..Frame::default()
        });
        let kind = LocationKind::Python {
            frame,
            column,
            is_call,
        };
        let location = profile.locations.intern(kind, None);
        profile.locations.set_frames(location, &[frame]);
        object.known.insert((offset, is_call), location);
        Some(location)
    }
}

impl Object {
    /// The line and the column of an instruction: the function's line and no column beyond its
    /// table.
    fn position(&self, offset: i32) -> (u32, u16) {
        let CodeObject {
            minor, first_line, ..
        } = self.code;
        let found = lines::position(minor, &self.code.lines, first_line, offset);
        let position = found.unwrap_or_default();
        let line = position.line.unwrap_or(first_line);
        // Columns count from 0 there and from 1 here.
        let column = position
            .column
            .and_then(|column| u16::try_from(column + 1).ok());
        (u32::try_from(line).unwrap_or(0), column.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_files_begin_where_the_process_began() {
        let mut codes = Codes::default();
        let path = |codes: &Codes, name: &str| codes.path(name.to_owned());
        assert_eq!(path(&codes, "app.py"), "app.py");
        codes.began("/srv/site".into(), "python3.8 ./tool a.pyx");
        for (name, expected) in [
            ("app.py", "/srv/site/app.py"),
            ("./app.py", "/srv/site/app.py"),
            ("lib/./a.py", "/srv/site/lib/a.py"),
            ("../a.py", "/srv/site/../a.py"),
            ("./tool", "/srv/site/tool"),
            ("/x/app.py", "/x/app.py"),
            ("<string>", "<string>"),
            (
                "<frozen importlib._bootstrap>",
                "<frozen importlib._bootstrap>",
            ),
            ("fast.pyx", "fast.pyx"),
            ("", ""),
        ] {
            assert_eq!(path(&codes, name), expected);
        }
    }
}
