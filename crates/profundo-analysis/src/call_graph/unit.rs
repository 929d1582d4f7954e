//! The node that a place belongs to, and its name.

use profundo_model::{
    FileId, Frame, FrameId, Language, LocationId, ModuleId, Profile, Reason, StringId,
};
use rustc_hash::FxHashMap;

use super::GraphBy;
use crate::Place;
use crate::palette::Hue;

/// A node before anything is added up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    pub name: String,
    /// The file's path in its short form, or empty.
    pub file: String,
    pub line: u32,
    /// The kind of its code; `None` where it has code of several kinds.
    pub hue: Option<Hue>,
}

/// The identity of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Function(StringId, FileId),
    Reason(Reason),
    /// The unnamed code of a module.
    Unnamed(Option<ModuleId>),
}

/// The nodes that were met, and the node of each place.
#[derive(Debug)]
pub(super) struct Units<'a> {
    profile: &'a Profile,
    by: GraphBy,
    pub list: Vec<Unit>,
    by_key: FxHashMap<(Key, Option<ModuleId>), u32>,
    by_name: FxHashMap<String, u32>,
}

impl<'a> Units<'a> {
    pub(super) fn new(profile: &'a Profile, by: GraphBy) -> Self {
        Self {
            profile,
            by,
            list: Vec::new(),
            by_key: FxHashMap::default(),
            by_name: FxHashMap::default(),
        }
    }

    /// The node of a place in a location.
    pub(super) fn of(&mut self, place: Place, location: LocationId) -> u32 {
        let module = self.profile.locations.get(location).module;
        let key = match place {
            Place::Frame(frame) => {
                let frame = self.profile.frames.get(frame);
                Key::Function(frame.function, frame.file)
            }
            Place::Reason(reason) => Key::Reason(reason),
            Place::Unknown => Key::Unnamed(module),
        };
        // A function is the same in whatever module; a group may be named after its module.
        let module = module.filter(|_| self.by != GraphBy::Function);
        if let Some(&unit) = self.by_key.get(&(key, module)) {
            return unit;
        }
        let unit = match (place, self.by) {
            (Place::Frame(frame), GraphBy::Function) => self.add(function(self.profile, frame)),
            (Place::Frame(frame), by) => {
                let group = group(self.profile, frame, module, by);
                self.add_group(group)
            }
            (Place::Reason(reason), _) => self.add_group(Unit {
                name: reason.name().into(),
                file: String::new(),
                line: 0,
                hue: Some(hue_of_reason(reason.name())),
            }),
            (Place::Unknown, by) => {
                let module = self.profile.locations.get(location).module;
                let name = match (module_name(self.profile, module), by) {
                    ("", _) => "[unknown]".into(),
                    (name, GraphBy::Function) => format!("[unknown in {name}]"),
                    (name, _) => one_line(name),
                };
                self.add_group(Unit {
                    name,
                    file: String::new(),
                    line: 0,
                    hue: Some(Hue::Native),
                })
            }
        };
        self.by_key.insert((key, module), unit);
        unit
    }

    /// The node for stacks without any frame that is shown.
    pub(super) fn hidden(&mut self, is_only_mine: bool) -> u32 {
        self.add_group(Unit {
            name: if is_only_mine {
                "[libraries]"
            } else {
                "[runtime]"
            }
            .into(),
            file: String::new(),
            line: 0,
            hue: None,
        })
    }

    fn add(&mut self, unit: Unit) -> u32 {
        self.list.push(unit);
        u32::try_from(self.list.len() - 1).expect("fewer than 2^32 functions")
    }

    /// The node of this name, which may have code of several kinds.
    fn add_group(&mut self, unit: Unit) -> u32 {
        if let Some(&known) = self.by_name.get(&unit.name) {
            let known_unit = &mut self.list[known as usize];
            if known_unit.hue != unit.hue {
                known_unit.hue = None;
            }
            return known;
        }
        let name = unit.name.clone();
        let number = self.add(unit);
        self.by_name.insert(name, number);
        number
    }
}

fn function(profile: &Profile, id: FrameId) -> Unit {
    let frame = profile.frames.get(id);
    let name = profile.function_name(id);
    Unit {
        name: match name {
            "" => "[unknown]".into(),
            name => one_line(name),
        },
        file: short_path(profile, frame.file),
        line: frame.line,
        hue: hue(name, frame),
    }
}

/// The file, the module or the package of a frame.
fn group(profile: &Profile, id: FrameId, module: Option<ModuleId>, by: GraphBy) -> Unit {
    let frame = profile.frames.get(id);
    let function = profile.function_name(id);
    let path = profile.strings.get(profile.files.get(frame.file).path);
    let name = match (by, frame.language) {
        // What a thread waits for is no code.
        (_, Language::Synthetic) => function.to_owned(),
        (GraphBy::File, _) => short_path(profile, frame.file),
        (GraphBy::Module, Language::Python) => python_module(profile, frame.file),
        (_, Language::Python) => {
            let module = python_module(profile, frame.file);
            let package = module.split('.').next().unwrap_or_default();
            package.to_owned()
        }
        (GraphBy::Module, Language::Rust) => rust_module(function),
        (_, Language::Rust) => {
            let module = rust_module(function);
            let package = module.split("::").next().unwrap_or_default();
            package.to_owned()
        }
        _ => String::new(),
    };
    let name = match (name.as_str(), module_name(profile, module)) {
        ("", "") => match path.rsplit('/').next().unwrap_or_default() {
            "" => "[unknown]".to_owned(),
            file => file.to_owned(),
        },
        ("", library) => library.to_owned(),
        _ => name,
    };
    Unit {
        name: one_line(&name),
        file: String::new(),
        line: 0,
        hue: hue(function, frame),
    }
}

fn hue(name: &str, frame: &Frame) -> Option<Hue> {
    match frame.language {
        Language::Python => Some(Hue::Python),
        Language::Synthetic => Some(hue_of_reason(name)),
        Language::Runtime => None,
        _ => Some(Hue::Native),
    }
}

/// The kind of what stands in place of code. A wait is no reason.
fn hue_of_reason(name: &str) -> Hue {
    let mut reasons = Reason::ALL.iter();
    match reasons.find(|reason| reason.name() == name) {
        None | Some(Reason::Unread) => Hue::Waiting,
        Some(Reason::Collecting) => Hue::Garbage,
        Some(_) => Hue::Unreadable,
    }
}

/// The file's path as in reports.
fn short_path(profile: &Profile, id: FileId) -> String {
    let file = profile.files.get(id);
    let (prefix, rest) = (
        profile.strings.get(file.prefix),
        profile.strings.get(file.rest),
    );
    let separator = match prefix.is_empty() || rest.starts_with('/') {
        true => "",
        false => "/",
    };
    format!("{prefix}{separator}{rest}")
}

/// The dotted name of a Python file: `json.decoder`, `numpy.linalg`, or `app` for a script.
fn python_module(profile: &Profile, id: FileId) -> String {
    let file = profile.files.get(id);
    let path = profile.strings.get(file.path);
    // Modules that are a part of the interpreter.
    let frozen = path.strip_prefix("<frozen ");
    if let Some(module) = frozen.and_then(|rest| rest.strip_suffix('>')) {
        return module.to_owned();
    }
    let inside = ["/site-packages/", "/dist-packages/"]
        .iter()
        .find_map(|folder| path.split_once(folder).map(|(_, inside)| inside))
        .or_else(|| after_library(path))
        .unwrap_or_else(|| path.rsplit('/').next().unwrap_or(path));
    let bare = inside.strip_suffix(".py").unwrap_or(inside);
    let bare = bare.strip_suffix("/__init__").unwrap_or(bare);
    if bare == "__init__" || bare == "__main__" {
        // Of a package whose root is unknown, its folder has the name.
        let mut folders = path.rsplit('/').skip(1);
        return folders.next().unwrap_or(bare).to_owned();
    }
    bare.replace('/', ".")
}

/// The path inside of Python's own library.
fn after_library(path: &str) -> Option<&str> {
    let (_, after) = path.split_once("/lib/python")?;
    after.split_once('/').map(|(_, inside)| inside)
}

/// The path of a Rust function without its own name: `app::parser` for `app::parser::parse`, and
/// for a method the module of its type.
fn rust_module(function: &str) -> String {
    let bare = crate::function_names::without_instance(function);
    let bare = bare.trim_start_matches('<').trim_start_matches(['&', '*']);
    let end = bare.find([' ', '>', '(', '[']).unwrap_or(bare.len());
    let mut parts: Vec<&str> = bare[..end].split("::").collect();
    // Types have capitals; the closures and methods of a type are in its module.
    let first_type = (parts.iter()).position(|part| {
        let first = part.chars().next();
        first.is_none_or(|letter| letter.is_uppercase() || letter == '{')
    });
    parts.truncate(first_type.unwrap_or(parts.len() - 1).max(1));
    match bare.contains("::") {
        true => parts.join("::"),
        false => String::new(),
    }
}

/// The name of a module's file; empty where unknown.
fn module_name(profile: &Profile, module: Option<ModuleId>) -> &str {
    let path = module.map_or("", |id| profile.strings.get(profile.modules.get(id).path));
    let file = path.rsplit('/').next().unwrap_or_default();
    file.trim_matches(['[', ']'])
}

/// The name without characters that would end a line.
fn one_line(name: &str) -> String {
    name.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_functions_have_modules() {
        for (function, module) in [
            ("app::parser::parse", "app::parser"),
            ("app::main", "app"),
            ("app::main::{closure#0}", "app::main"),
            ("<app::lexer::Token as core::fmt::Debug>::fmt", "app::lexer"),
            ("alloc::vec::Vec<T>::push", "alloc::vec"),
            ("main", ""),
        ] {
            assert_eq!(rust_module(function), module, "{function}");
        }
    }

    #[test]
    fn python_files_have_modules() {
        for (path, module) in [
            ("/v/lib/python3.12/json/decoder.py", "json.decoder"),
            ("/v/lib/python3.12/json/__init__.py", "json"),
            (
                "/v/lib/python3.12/site-packages/numpy/linalg/x.py",
                "numpy.linalg.x",
            ),
            ("<frozen importlib._bootstrap>", "importlib._bootstrap"),
            ("/home/me/app.py", "app"),
            ("/home/me/tool/__main__.py", "tool"),
        ] {
            let mut profile = Profile::default();
            let file = profile.file(path, "", path);
            assert_eq!(python_module(&profile, file), module, "{path}");
        }
    }
}
