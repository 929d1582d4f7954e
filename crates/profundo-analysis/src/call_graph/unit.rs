//! The node that a place belongs to, and its name.

use profundo_model::{
    FileId, Frame, FrameId, Language, LocationId, ModuleId, Profile, Reason, SampleKind, StringId,
};
use rustc_hash::FxHashMap;

use super::GraphBy;
use crate::Place;
use crate::package::{library, module_file, package, python_module, rust_module};
use crate::palette::Hue;
use crate::tally::Slots;

/// A node before anything is added up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    pub name: String,
    /// The file's path in its short form, or empty.
    pub file: String,
    /// The whole path of the file, or empty.
    pub path: String,
    pub line: u32,
    /// The kind of its code; `None` where it has code of several kinds.
    pub hue: Option<Hue>,
}

/// The identity of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    /// A function, and its first line where frames have that one: methods of one name are several.
    Function(StringId, FileId, u32),
    Reason(Reason),
    /// The unnamed code of a module.
    Unnamed(Option<ModuleId>),
}

/// The nodes that were met, and the node of each place.
#[derive(Debug)]
pub(super) struct Units<'a> {
    profile: &'a Profile,
    by: GraphBy,
    /// Whether the line of a frame is the first one of its function, as where calls were counted.
    has_first_lines: bool,
    pub list: Vec<Unit>,
    by_key: FxHashMap<(Key, Option<ModuleId>), u32>,
    by_name: FxHashMap<String, u32>,
}

impl Slots for Units<'_> {
    fn slot(&mut self, place: Place, location: LocationId, _: u32) -> u32 {
        self.of(place, location)
    }
}

impl<'a> Units<'a> {
    pub(super) fn new(profile: &'a Profile, by: GraphBy) -> Self {
        Self {
            profile,
            by,
            has_first_lines: profile.meta.kind == SampleKind::Traced,
            list: Vec::new(),
            by_key: FxHashMap::default(),
            by_name: FxHashMap::default(),
        }
    }

    /// The node of a place in a location.
    fn of(&mut self, place: Place, location: LocationId) -> u32 {
        let module = self.profile.locations.get(location).module;
        let key = match place {
            Place::Frame(frame) => {
                let frame = self.profile.frames.get(frame);
                let line = if self.has_first_lines { frame.line } else { 0 };
                Key::Function(frame.function, frame.file, line)
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
                path: String::new(),
                line: 0,
                hue: Some(hue_of_reason(reason.name())),
            }),
            (Place::Unknown, by) => {
                let module = self.profile.locations.get(location).module;
                let name = match (module_file(self.profile, module), by) {
                    ("", _) => "[unknown]".into(),
                    (name, GraphBy::Function) => format!("[unknown in {name}]"),
                    (_, GraphBy::Package) => one_line(library(self.profile, module)),
                    (name, _) => one_line(name),
                };
                self.add_group(Unit {
                    name,
                    file: String::new(),
                    path: String::new(),
                    line: 0,
                    hue: Some(Hue::Native),
                })
            }
        };
        self.by_key.insert((key, module), unit);
        unit
    }

    /// A node, which was first met at this place: a function is named after its first line there.
    pub(super) fn first_met(&self, unit: u32, place: Place) -> Unit {
        match (place, self.by) {
            (Place::Frame(frame), GraphBy::Function) => function(self.profile, frame),
            _ => self.list[unit as usize].clone(),
        }
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
            path: String::new(),
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
        path: profile.file_path(id).to_owned(),
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
        (GraphBy::Module, Language::Python) => python_module(path),
        (GraphBy::Module, Language::Rust) => rust_module(function),
        (GraphBy::Package, _) => package(profile, frame, module),
        _ => String::new(),
    };
    let name = match (name.as_str(), module_file(profile, module)) {
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
        path: String::new(),
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

/// The name without characters that would end a line.
fn one_line(name: &str) -> String {
    name.replace(char::is_control, " ")
}
