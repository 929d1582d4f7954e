//! The tables of the dictionary as modules, locations and stacks. Each row is made once, when a
//! sample asks for it.

use profundo_model::{
    Avma, CodeAddress, Language, LocationId, LocationKind, Module, ModuleId, Reason, Role, StackId,
    State,
};

use super::attributes::text_of;
use super::message::{Dictionary, Int, Mapping};
use crate::{Builder, Named, language_of};

/// The rows so far.
pub(super) struct Tables<'d, 'a> {
    dictionary: &'d Dictionary<'a>,
    modules: Vec<Option<ModuleId>>,
    locations: Vec<Option<Place>>,
    stacks: Vec<Option<(StackId, State)>>,
}

/// A location, and the state of a thread that runs it.
#[derive(Debug, Clone, Copy)]
struct Place {
    location: LocationId,
    state: State,
}

/// The most locations of a stack.
const DEEPEST: usize = 4096;

impl<'d, 'a> Tables<'d, 'a> {
    pub(super) fn new(dictionary: &'d Dictionary<'a>) -> Self {
        Self {
            dictionary,
            modules: vec![None; dictionary.mapping_table.len()],
            locations: vec![None; dictionary.location_table.len()],
            stacks: vec![None; dictionary.stack_table.len()],
        }
    }

    pub(super) fn text(&self, index: Int) -> &'d str {
        let row = self.dictionary.string_table.get(index.index());
        row.map_or("", |text| text)
    }

    /// The stack of this number, and the state of a thread in its innermost function.
    pub(super) fn stack(&mut self, builder: &mut Builder, index: Int) -> (StackId, State) {
        if let Some(&Some(known)) = self.stacks.get(index.index()) {
            return known;
        }
        let row = self.dictionary.stack_table.get(index.index());
        let locations = row.map(|row| row.get().into_owned().location_indices);
        let locations = locations.unwrap_or_default();
        let mut stack = None;
        let mut state = State::Running;
        let kept = &locations[..locations.len().min(DEEPEST)];
        for &location in kept.iter().rev() {
            if let Some(place) = self.place(builder, location) {
                stack = Some(builder.stack(stack, place.location));
                state = place.state;
            }
        }
        let found = match stack {
            Some(stack) => (stack, state),
            None => {
                let kind = LocationKind::Reason(Reason::Broken);
                let location = builder.profile.locations.intern(kind, None);
                (builder.stack(None, location), State::Running)
            }
        };
        if let Some(row) = self.stacks.get_mut(index.index()) {
            *row = Some(found);
        }
        found
    }

    fn place(&mut self, builder: &mut Builder, index: Int) -> Option<Place> {
        // The first row stands for nothing.
        let at = index.index();
        if at == 0 {
            return None;
        }
        if let Some(&Some(known)) = self.locations.get(at) {
            return Some(known);
        }
        let row = self.dictionary.location_table.get(at)?.get();
        let kind = self.attribute(&row.attribute_indices, "profile.frame.type");
        let is_kernel = kind == "kernel" || row.address.0 >> 63 == 1;
        let module = match is_kernel {
            true => Some(builder.module("[kernel]")),
            false => self.module(builder, row.mapping_index),
        };
        let mut frames = Vec::with_capacity(row.lines.len());
        for (number, line) in row.lines.iter().enumerate() {
            let functions = &self.dictionary.function_table;
            let function = functions
                .get(line.function_index.index())
                .map(|row| row.get());
            let function = function.map_or_else(Default::default, |function| *function);
            let name = self.text(function.name_strindex);
            let system_name = self.text(function.system_name_strindex);
            let file = self.text(function.filename_strindex);
            let is_inlined = number + 1 < row.lines.len();
            frames.push(builder.frame(Named {
                function: if name.is_empty() { system_name } else { name },
                signature: if system_name == name { "" } else { system_name },
                file,
                line: u32::try_from(line.line.0).unwrap_or(0),
                language: Some(language(name, file, &kind)),
                is_inlined,
            }));
        }
        let location = match (&frames[..], row.address.0) {
            ([], 0) => builder.location(Named::default()),
            ([], address) => builder.address(CodeAddress::Instruction(Avma(address)), module),
            (frames, 0) => builder.inlined(frames, module),
            // An address is distinct only with its names: other tools give one to several
            // functions.
            (frames, address) => {
                let kind = LocationKind::Code(CodeAddress::Instruction(Avma(address)));
                let id = builder.profile.locations.intern(kind, module);
                let known = &builder.profile.locations.get(id).frames;
                if known.is_empty() {
                    builder.profile.locations.set_frames(id, frames);
                    id
                } else if **known == *frames {
                    id
                } else {
                    builder.inlined(frames, module)
                }
            }
        };
        let state = if is_kernel {
            State::System
        } else {
            State::Running
        };
        let place = Place { location, state };
        self.locations[at] = Some(place);
        Some(place)
    }

    fn module(&mut self, builder: &mut Builder, index: Int) -> Option<ModuleId> {
        let at = index.index();
        if at == 0 {
            return None;
        }
        if let Some(&Some(known)) = self.modules.get(at) {
            return Some(known);
        }
        let row = self.dictionary.mapping_table.get(at)?.get();
        let path = self.text(row.filename_strindex);
        let build_id = self.attribute(&row.attribute_indices, "process.executable.build_id.gnu");
        let module = match path.is_empty() {
            true => None,
            false => Some(module(builder, &row, path, &build_id)),
        };
        self.modules[at] = module;
        module
    }

    /// The text of an attribute; empty where there is none.
    fn attribute(&self, indices: &[Int], key: &str) -> String {
        let rows = indices.iter().filter_map(|index| {
            let row = self.dictionary.attribute_table.get(index.index())?;
            Some(row.get())
        });
        let mut rows = rows.filter(|row| self.text(row.key_strindex) == key);
        let row = rows.next();
        row.map_or_else(String::new, |row| {
            text_of(&row.value, self.dictionary).into_owned()
        })
    }
}

/// The language of a function, by the kind of its frame where that is known.
fn language(name: &str, file: &str, kind: &str) -> Language {
    match kind {
        "cpython" => Language::Python,
        "v8js" => Language::JavaScript,
        "rust" => Language::Rust,
        "jvm" | "dotnet" | "beam" | "luajit" | "php" | "phpjit" | "ruby" | "perl" => {
            Language::Generated
        }
        _ => language_of(name, file),
    }
}

fn module(builder: &mut Builder, row: &Mapping, path: &str, build_id: &str) -> ModuleId {
    let (start, end) = (row.memory_start.0, row.memory_limit.0);
    let path = builder.profile.strings.intern(path);
    let role = Role::of_path(builder.profile.strings.get(path));
    builder.add_module(Module {
        path,
        start: Avma(start),
        end: Avma(end),
        bias: start.wrapping_sub(row.file_offset.0),
        build_id: bytes_of(build_id),
        role,
    })
}

/// The bytes of hexadecimal digits.
fn bytes_of(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().as_chunks::<2>().0.iter();
    let pair = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(pair).collect::<Option<_>>().unwrap_or_default()
}
